"""Replays of the same documents in several formats, as ratios to JSON lines in the same run.

Processor time counts, since it depends less on what else the machine does. The formats take turns.
"""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path
from typing import Any

import orjson

from pipeline.corpora import open_source
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from tests.support.newsml_g2 import item, message
from tests.support.packing import STREAMS

TURNS = 5
LANE = ("mmp:loss=1",)


def write_files(folder: Path, documents: int) -> dict[str, tuple[str, str]]:
    """Write the files; return source and format by the name of a way to write documents."""
    raw = list(SyntheticNewswire(documents=documents))
    events: list[dict[str, Any]] = [orjson.loads(one) for one in raw]
    for event in events:
        event.setdefault("title", "")
    lines = b"\n".join(raw)
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(("id", "title", "text", "topics"))
    for event in events:
        topics = ";".join(event["topics"])
        writer.writerow((event["id"], event["title"], event["text"], topics))
    labelled = "\n".join(
        " ".join((*(f"__label__{topic}" for topic in event["topics"]), event["text"]))
        for event in events
    )
    contents = {
        "JSON lines": ("a.jsonl", lines, "", "wirerank"),
        "JSON array": ("a.json", b"[" + b",".join(raw) + b"]", "", "wirerank"),
        "CSV": ("a.csv", table.getvalue().encode(), "csv:", "wirerank"),
        "fastText": ("a.txt", labelled.encode(), "fasttext:", "wirerank"),
        "NewsML-G2": (
            "a.xml",
            message([item(event, declared=False) for event in events]).encode(),
            "",
            "newsml-g2",
        ),
        **{
            f"JSON lines, {name}": (f"a.jsonl.{name}", pack(lines), "", "wirerank")
            for name, pack in STREAMS.items()
        },
    }
    for name, content, _, _ in contents.values():
        (folder / name).write_bytes(content)
    return {
        way: (f"{kind}{folder / name}", format_)
        for way, (name, _, kind, format_) in contents.items()
    }


def seconds_to_read(source: str, format_: str) -> float:
    """The processor time of reading and decoding all events."""
    decode = new_decoder(format_)
    started = time.process_time()
    for raw in open_source(source, format_=format_):
        if raw.strip():
            decode(Record(raw), 1 << 20)
    return time.process_time() - started


def seconds_to_replay(source: str, format_: str, folder: Path) -> float:
    """The processor time of a replay with one lane, in all threads."""
    settings = ReplaySettings(
        source=source, lanes=LANE, format=format_, dead_letters=folder / "dead.jsonl"
    )
    started = time.process_time()
    result = replay(settings, Progress())
    seconds = time.process_time() - started
    assert result.failure is None
    assert not result.dead_letters.counts
    return seconds


def run(documents: int, folder: Path) -> None:
    """Print the ratios."""
    ways = write_files(folder, documents)
    seconds_to_replay(*ways["JSON lines"], folder)  # compiles the kernels
    read = dict.fromkeys(ways, float("inf"))
    whole = dict.fromkeys(ways, float("inf"))
    for _ in range(TURNS):
        for way, (source, format_) in ways.items():
            read[way] = min(read[way], seconds_to_read(source, format_))
            whole[way] = min(whole[way], seconds_to_replay(source, format_, folder))
    print(f"{documents:,} documents, processor time, best of {TURNS} turns; ratios to JSON lines")
    for way in ways:
        print(
            f"  {way:<18} read and decode {read[way] / documents * 1e6:6.1f} us/document "
            f"{read[way] / read['JSON lines']:6.2f} x   "
            f"replay, one lane {whole[way] / documents * 1e6:6.1f} us/document "
            f"{whole[way] / whole['JSON lines']:6.2f} x"
        )
