"""A run that is saved and resumed leaves the same behind as a run without a break."""

from __future__ import annotations

import gzip
import random
import subprocess
from pathlib import Path

import orjson
import pytest

from learners.specs import LEARNERS, parse_spec
from pipeline.models.model_file import write_model
from pipeline.replay import saving
from pipeline.snapshots.snapshot import Snapshot
from tests.support.command_line import WIRERANK, wirerank
from tests.support.saved_runs import (
    CEILINGS,
    LANES,
    event_lines,
    lane_options,
    outcome,
    outputs,
    refused,
    run,
    write_lines,
)


def test_all_learners_are_tried() -> None:
    assert {parse_spec(lane).learner for lane in LANES} == set(LEARNERS)


@pytest.mark.parametrize("seed", range(3))
def test_breaks_anywhere_change_nothing(seed: int) -> None:
    """All lanes, any block size, any places; labels wait for their documents across the breaks."""
    rng = random.Random(seed)
    lines = event_lines(seed, 260)
    source = write_lines("events.jsonl", lines)
    run(source, *lane_options(*LANES), *CEILINGS, *outputs("straight"), "--block", "64")
    events = sum(bool(line.strip()) for line in lines)
    stops = sorted(rng.sample(range(1, events), 3))
    begin = [*lane_options(*LANES), *CEILINGS]
    for stop in (*stops, 0):
        block = str(rng.choice((1, 7, 100)))
        run(source, *begin, *outputs("parts"), "--limit", str(stop), "--block", block)
        begin = ["--resume", "parts.model"]
    assert outcome("parts") == outcome("straight")


def test_the_shards_of_a_lane_go_on() -> None:
    """The last bits of their scores depend on where blocks end, so the break is between blocks."""
    source = write_lines("events.jsonl", event_lines(4, 200))
    lanes = lane_options("mmp:shards=2,name=sharded", "mmp")
    run(source, *lanes, *outputs("straight"), "--block", "20")
    run(source, *lanes, *outputs("parts"), "--block", "20", "--limit", "100")
    run(source, "--resume", "parts.model", *outputs("parts"), "--block", "20")
    assert outcome("parts") == outcome("straight")


def test_late_labels_wait_across_the_break() -> None:
    documents = [b'{"id":%d,"text":"wheat %d"}' % (i, i) for i in range(5)]
    labels = [b'{"id":%d,"topics":["t%d"]}' % (i, i % 2) for i in range(5)]
    early = [b'{"id":"late","topics":["t1"]}', b'{"id":"late","text":"corn"}']
    source = write_lines("e.jsonl", [*documents, early[0], *labels, early[1]])
    run(source, "--lane", "mmp", *outputs("straight"))
    run(source, "--lane", "mmp", *outputs("parts"), "--limit", "6")
    report = orjson.loads(Path("parts.json").read_bytes())["mmp"]
    assert (report["pending_documents"], report["unmatched_labels"]) == (5, 1)
    run(source, "--resume", "parts.model", *outputs("parts"))
    assert outcome("parts") == outcome("straight")
    assert outcome("parts").report["mmp"]["rounds"] == 6


def test_a_new_source_is_learned_from_its_first_event() -> None:
    """As if the two files were one; the model of a day goes on with the next day."""
    lines = event_lines(5, 120)
    first, second = write_lines("1.jsonl", lines[:70]), write_lines("2.jsonl", lines[70:])
    whole = write_lines("1-and-2.jsonl", lines)
    run(whole, "--lane", "mmp", "--lane", "arow", *outputs("both"))
    run(first, "--lane", "mmp", "--lane", "arow", *outputs("first"))
    result = wirerank("replay", second, "--resume", "first.model", "--rankings", "second.jsonl",
                      "--top", "0", "--curves", "second.csv")  # fmt: skip
    assert "2.jsonl is a new source and is learned from its first event" in result.output
    written = Path("first.jsonl").read_bytes() + Path("second.jsonl").read_bytes()
    assert written == Path("both.jsonl").read_bytes()
    assert Path("second.csv").read_bytes() == Path("both.csv").read_bytes()


def test_a_source_that_has_grown_goes_on_behind_the_known_events() -> None:
    lines = event_lines(6, 80)
    source = write_lines("log.jsonl", lines[:50])
    run(source, "--lane", "mmp", *outputs("parts"))
    write_lines("log.jsonl", lines)
    output = wirerank("replay", source, "--resume", "parts.model", *outputs("parts")[:-1]).output
    assert "is the source of the model; skipped the" in output
    run(source, "--lane", "mmp", *outputs("straight"))
    assert outcome("parts") == outcome("straight")


def test_nothing_new_is_a_success() -> None:
    source = write_lines("e.jsonl", event_lines(7, 40))
    run(source, "--lane", "mmp", *outputs("one"))
    before = outcome("one")
    run(source, "--resume", "one.model", *outputs("one"))
    assert outcome("one") == before


def test_a_second_pass_learns_the_source_again() -> None:
    lines = event_lines(8, 60)
    source = write_lines("e.jsonl", lines)
    run(source, "--lane", "mmp", "--save", "one.model")
    run(source, "--resume", "one.model", "--from-start", "--curves", "two.csv")
    run(write_lines("twice.jsonl", lines * 2), "--lane", "mmp", "--curves", "twice.csv")
    assert Path("two.csv").read_bytes() == Path("twice.csv").read_bytes()


def test_a_pipe_is_recognised_as_well() -> None:
    lines = event_lines(9, 60)
    source = write_lines("e.jsonl", lines)
    run(source, "--lane", "mmp", *outputs("straight"))
    run(source, "--lane", "mmp", *outputs("parts"), "--limit", "30")
    arguments = ["replay", "-", "--resume", "parts.model", *outputs("parts")]
    with Path(source).open("rb") as file:
        subprocess.run([*WIRERANK, *arguments], stdin=file, check=True, capture_output=True)
    assert outcome("parts").rankings == outcome("straight").rankings
    assert outcome("parts").model == outcome("straight").model


@pytest.mark.parametrize("where", [1, 40, 110])
def test_a_source_that_changed_or_shrank_is_refused(where: int) -> None:
    lines = [line for line in event_lines(10, 130) if line.strip()]
    source = write_lines("e.jsonl", lines)
    run(source, "--lane", "frequency", *outputs("one"))
    write_lines("e.jsonl", [*lines[:where], b'{"id":1,"text":"other"}', *lines[where + 1 :]])
    message = refused(source, "--resume", "one.model", *outputs("one"))
    assert "begins like the source of the model, but differs from it" in message
    write_lines("e.jsonl", lines[:where])
    message = refused(source, "--resume", "one.model", *outputs("one"))
    assert f"ends after {where} events, and the model has read {len(lines):,}" in message
    assert "--from-start" in message
    write_lines("e.jsonl", lines)
    run(source, "--resume", "one.model", *outputs("one"))


def test_rankings_written_after_the_last_save_come_again() -> None:
    """As after `kill -9`: the file has more than the model knows of."""
    source = write_lines("e.jsonl", event_lines(11, 90))
    run(source, "--lane", "mmp", *outputs("straight"))
    run(source, "--lane", "mmp", *outputs("parts"), "--limit", "40")
    with Path("parts.jsonl").open("ab") as file:
        file.write(b'{"id":"written after the save"}\n{"id":"cut')
    run(source, "--resume", "parts.model", *outputs("parts"))
    assert outcome("parts") == outcome("straight")


def test_a_file_of_other_rankings_is_not_continued() -> None:
    source = write_lines("e.jsonl", event_lines(12, 90))
    run(source, "--lane", "mmp", *outputs("parts"), "--limit", "40")
    Path("other.jsonl").write_bytes(b"keep me\n" * 1000)
    options = ("--resume", "parts.model", "--rankings", "other.jsonl")
    assert "cannot be continued" in refused(source, *options)
    Path("parts.jsonl").write_bytes(Path("parts.jsonl").read_bytes()[:-1])
    assert "cannot be continued" in refused(source, "--resume", "parts.model", *outputs("parts"))
    assert Path("other.jsonl").read_bytes() == b"keep me\n" * 1000
    run(source, "--resume", "parts.model", "--rankings", "rest.jsonl", "--top", "0")
    run(source, "--lane", "mmp", *outputs("straight"))
    assert outcome("straight").rankings.endswith(Path("rest.jsonl").read_bytes())


def test_models_are_saved_every_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = list[int]()
    write = write_model

    def counting(path: Path, snapshot: Snapshot) -> None:
        write(path, snapshot)
        sizes.append(snapshot.content["documents"])

    monkeypatch.setattr(saving, "write_model", counting)
    run("synthetic:100", "--lane", "mmp", "--block", "10", "--save", "m", "--save-every", "25")
    assert sizes == [30, 60, 90, 100]
    run("synthetic:100", "--lane", "mmp", "--block", "10", "--save", "m", "--save-every", "50")
    assert sizes[4:] == [50, 100]


def test_options_that_need_others() -> None:
    source = write_lines("e.jsonl", event_lines(13, 10))
    assert "--save-every needs --save" in refused(source, "--save-every", "5")
    assert "--from-start needs --resume" in refused(source, "--from-start")
    assert "name of a file" in refused(source, "--save", "-")
    Path("folder").mkdir()
    assert "folder is not a file" in refused(source, "--save", "folder")
    assert "is already read" in refused(source, "--save", source)
    assert "cannot be combined with --kafka" in refused(source, "--kafka", "h:1", "--save", "m")


def test_a_resumed_run_can_be_watched() -> None:
    """Metrics and the loss table begin with the rounds of the model, and do not repeat them."""
    source = write_lines("e.jsonl", event_lines(14, 120))
    run(source, "--lane", "mmp", "--save", "m", "--limit", "90")
    output = run(source, "--resume", "m", "--metrics", "0", "--report", "r.json")
    assert "topics = discovered" in output
    rounds = orjson.loads(Path("r.json").read_bytes())["mmp"]["rounds"]
    shown = [line.split()[2] for line in output.splitlines() if line.endswith("  mmp")]
    assert shown[-1] == str(rounds)
    assert "1" not in shown


def test_what_was_read_of_a_damaged_source_is_saved() -> None:
    """The run fails, but the repaired source is continued where the damage was."""
    lines = [b'{"id":%d,"text":"a%d b","topics":["t"]}' % (n, n) for n in range(5000)]
    whole = gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0)
    Path("s.jsonl.gz").write_bytes(whole[:-500])
    refused("s.jsonl.gz", "--lane", "mmp", *outputs("parts"), code=1)
    assert 0 < orjson.loads(Path("parts.json").read_bytes())["mmp"]["documents"] < 5000
    Path("s.jsonl.gz").write_bytes(whole)
    run("s.jsonl.gz", "--resume", "parts.model", *outputs("parts"))
    run("s.jsonl.gz", "--lane", "mmp", *outputs("straight"))
    assert outcome("parts") == outcome("straight")
