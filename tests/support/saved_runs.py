"""Runs that save models: their events, their lanes, and what they leave behind."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from pipeline.events.event import Event
from tests.pipeline.engine.test_engine import random_events
from tests.support.command_line import wirerank

# Every learner of the registry, and every way to score: weights, indices, instances, other lanes.
LANES = (
    "mmp:loss=1",
    "mmp:average=true,margin=0.1,norm=l2,name=mean",
    "mmp:kernel=poly2,budget=20,name=instances",
    "perceptron",
    "perceptron:assign=macro,risk=0.3,order=probability,name=assigning",
    "arow",
    "soft-arow",
    "committee:size=2",
    "rocchio:refresh=20",
    "frequency",
    "independent",
    "feature-focus:d_max=4",
    "svm-map:of=[mmp:loss=1,arow],refit=15,window=20,depth=3,name=stacked",
    "prank:ranks=4",
    "prank:ranks=4,kernel=poly2,budget=10,average=true,name=rank instances",
    "widrow-hoff:ranks=4",
    "multiclass-perceptron:ranks=4",
)
CEILINGS = ("--max-terms", "70", "--max-topics", "9", "--max-pending", "12")
TIMES = ("seconds", "learner_seconds", "documents_per_second")


def as_json(event: Event) -> bytes:
    """Write an event as a line of a file has it."""
    fields: dict[str, Any] = {"id": event.id}
    if event.content is not None:
        fields["text" if isinstance(event.content, str) else "features"] = event.content
    for key in ("topics", "rank", "time"):
        if getattr(event, key) is not None:
            fields[key] = getattr(event, key)
    return orjson.dumps(fields)


def event_lines(seed: int, length: int) -> list[bytes]:
    """Make lines of all kinds: documents, late labels, events that cannot be used, blank lines."""
    rng = random.Random(seed)
    lines = [as_json(event) for event in random_events(seed, length)]
    for _ in range(length // 20):
        lines.insert(rng.randrange(len(lines)), rng.choice((b"{", b"", b"  ", b'{"id":[]}')))
    return lines


def write_lines(name: str, lines: list[bytes]) -> str:
    """Write lines to a file; returns its name."""
    Path(name).write_bytes(b"".join(line + b"\n" for line in lines))
    return name


def lane_options(*lanes: str) -> list[str]:
    """Return the options that give a run these lanes."""
    return [part for lane in lanes for part in ("--lane", lane)]


class Outcome(NamedTuple):
    """What a run leaves behind, without the times that it took."""

    rankings: bytes
    curves: bytes
    report: dict[str, Any]
    model: bytes


def outputs(name: str) -> list[str]:
    """Return the options that make a run write everything to files of this name."""
    options = ["--rankings", f"{name}.jsonl", "--top", "0", "--curves", f"{name}.csv"]
    return [*options, "--report", f"{name}.json", "--save", f"{name}.model", "--quiet"]


def outcome(name: str) -> Outcome:
    """Read what a run has written with `outputs`."""
    report = orjson.loads(Path(f"{name}.json").read_bytes())
    for lane in report.values():
        for key in TIMES:
            del lane[key]
        del lane["settings"]["limit"]
        del lane["settings"]["interrupted"]
    files = [Path(f"{name}.{kind}").read_bytes() for kind in ("jsonl", "csv", "model")]
    return Outcome(files[0], files[1], report, files[2])


def run(*arguments: str) -> str:
    """Run the command line in this process; returns what it printed, after a success."""
    result = wirerank("replay", *arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: str, code: int = 2) -> str:
    """Run the command line, which must refuse; returns the message in one line."""
    result = wirerank("replay", *arguments)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return " ".join(result.output.split())
