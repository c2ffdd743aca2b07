"""`wirerank rank`: sources, outputs, processes, folders of workers, and what goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import orjson
import pytest

from learners import Perceptron
from learners.specs import parse_spec, resolved
from pipeline import save
from pipeline.curves.decision_curve import DecisionCurve
from pipeline.engine.engine import Engine
from pipeline.engine.lane import new_curve
from pipeline.events.event import Event, parse_event
from pipeline.follower import Follower
from pipeline.log.block import make_block
from pipeline.models.divided_snapshots import divided_snapshot
from pipeline.models.frozen_lanes import load_frozen_lanes
from pipeline.models.model_file import read_model
from pipeline.ranking.batches import Batch
from pipeline.ranking.block_ranker import BlockRanker
from pipeline.ranking.evaluation import Evaluation
from pipeline.ranking.processes import RankingPool, RankingProcessError
from pipeline.reports.decision_report import decision_tables
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.restoring import restore_engine
from tests.pipeline.engine.test_engine import TOKENIZER, random_events
from tests.support.command_line import WIRERANK, wirerank
from tests.support.saved_runs import (
    LANES,
    as_json,
    event_lines,
    lane_options,
    run,
    write_lines,
)


@pytest.fixture
def model() -> str:
    run(write_lines("e.jsonl", event_lines(1, 150)), *lane_options(*LANES), "--save", "m.model")
    return "m.model"


def rank(*arguments: str, code: int = 0) -> str:
    result = wirerank("rank", *arguments)
    assert result.exit_code == code, result.output
    return result.output


def refused(*arguments: str, code: int = 2) -> str:
    return " ".join(rank(*arguments, code=code).split())


def test_the_first_document_is_ranked_as_by_a_resumed_replay(model: str) -> None:
    for event in random_events(9, 8):
        source = write_lines("next.jsonl", [as_json(event)])
        if event.content is None:
            continue
        run(source, "--resume", model, "--rankings", "stream.jsonl", "--top", "4", "--quiet")
        rank(model, source, "--rankings", "ranked.jsonl", "--top", "4", "--quiet")
        assert Path("ranked.jsonl").read_bytes() == Path("stream.jsonl").read_bytes()


def test_any_number_of_processes_writes_the_same(model: str) -> None:
    lines = event_lines(2, 1500)
    source = write_lines("s.jsonl", lines)
    written = []
    for processes in ("1", "2", "5"):
        Path("dead.jsonl").unlink(missing_ok=True)
        options = ("--rankings", "r.jsonl", "--dead-letters", "dead.jsonl", "--evaluate")
        rank(model, source, *options, "--report", "r.json", "--processes", processes)
        files = [Path(name).read_bytes() for name in ("r.jsonl", "dead.jsonl", "r.json")]
        written.append(files)
    assert written[0] == written[1] == written[2]
    ids = [orjson.loads(line)["id"] for line in written[0][0].splitlines()[:: len(LANES)]]
    events = [
        parse_event(line) for line in lines if line.strip() and line not in (b"{", b'{"id":[]}')
    ]
    assert ids == [event.id for event in events if event.content is not None]
    assert Path("m.model").stat().st_size > 0


def test_rankings_go_to_standard_output_and_the_rest_does_not(model: str) -> None:
    with Path("e.jsonl").open("rb") as file:
        done = subprocess.run(
            [*WIRERANK, "rank", model, "--lane", "arow", "--evaluate"],
            stdin=file, capture_output=True, check=True,
        )  # fmt: skip
    lines = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert {line["lane"] for line in lines} == {"arow"}
    assert b"loss1 %" in done.stderr
    assert b"late labels, which are not used here" in done.stderr
    assert b"events that could not be used" in done.stderr


def test_documents_of_a_pipe_are_ranked_as_they_come(model: str) -> None:
    process = subprocess.Popen(
        [*WIRERANK, "rank", model, "-", "--lane", "mmp:loss=1", "--quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    for number in range(3):
        process.stdin.write(b'{"id":%d,"text":"w1 w2"}\n' % number)
        process.stdin.flush()
        assert orjson.loads(process.stdout.readline())["id"] == number
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert b"interrupted; the rankings so far are written" in errors


def test_no_process_outlives_its_parent(model: str) -> None:
    process = subprocess.Popen(
        [*WIRERANK, "rank", model, "-", "--processes", "3", "--quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"id":1,"text":"w1 w2"}\n')
    process.stdin.flush()
    process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 3
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(is_running(child) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: str) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


class DyingRanker:
    """Dies in the middle of its work."""

    def __init__(self, number: int) -> None:
        self._number = number

    def answer(self, request: bytes) -> bytes:
        os.kill(os.getpid(), self._number)
        return request


def test_a_process_that_dies_ends_the_run_with_a_message() -> None:
    with (
        pytest.raises(RankingProcessError, match="was killed; is there enough memory"),
        RankingPool(DyingRanker(signal.SIGKILL), 2) as pool,  # type: ignore[arg-type]
    ):
        for line in range(9):
            pool.put(Batch([line], [b"{}"], [], line))
        list(pool.ready(all_of_them=True))


def test_measures_are_those_of_the_stream(model: str) -> None:
    """Of one document: as if it came next. Topics that the model lacks count, with the score 0."""
    saved = read_model(Path(model))
    (part,) = load_frozen_lanes(Path(model), (), print)
    labels = [("t0",), (), ("t1", "t2"), ("unseen",), ("t3", "unseen", "more"), None]
    for number, topics in enumerate(labels):
        event = Event(number, "w1 w4 w9 new", topics, number, None)
        evaluation = Evaluation(part.engine)
        _, places = BlockRanker([part], 5, evaluate=True).rank(make_block([event], TOKENIZER))
        evaluation.add({name.removeprefix("0/"): array for name, array in places.items()})
        engine = Engine(saved.lanes, saved.declared_topics, saved.engine, threads=1)
        restore_engine(engine, saved.snapshot)
        for lane in engine.lanes:
            lane.curve = new_curve(lane.learner)
            if lane.decision_curve is not None:
                lane.decision_curve = DecisionCurve(lane.marks_documents)
        list(engine.process(make_block([event], TOKENIZER)))
        for lane, curve in zip(engine.lanes, evaluation.curves, strict=True):
            assert curve.last() == lane.curve.last()
            assert np.array_equal(curve.tally(), lane.curve.tally(), equal_nan=True)
        report = evaluation.report(1, {})
        for lane, decided in zip(engine.lanes, evaluation.decision_curves, strict=True):
            assert (decided is None) == (lane.decision_curve is None)
            if decided is None or lane.decision_curve is None or topics is None:
                continue
            assert decided.last() == lane.decision_curve.last()
            decisions = report[lane.name]["decisions"]
            assert decisions == decision_tables(lane.spec, lane.decision_curve)
            assert report[lane.name]["micro_f1"] == decided.last().values["micro_f1"]


def test_what_cannot_be_used_is_said(model: str) -> None:
    assert "has no lane 'other'. It has: mmp:loss=1" in refused(model, "e.jsonl", "--lane", "other")
    assert "is not a model: it begins with" in refused("e.jsonl", "e.jsonl")
    assert "cannot be read: No such file" in refused("none.model", "e.jsonl")
    assert "--report needs --evaluate" in refused(model, "e.jsonl", "--report", "r.json")
    assert "already read by this run" in refused(model, "e.jsonl", "--rankings", model)
    assert "cannot be read from standard input" in refused("-", "e.jsonl")
    Path("loop").symlink_to("loop")
    assert "its links lead in a circle" in refused("loop", "e.jsonl")
    save(Perceptron(), Path("learner.model"))
    assert "is a learner that was saved from Python" in refused("learner.model", "e.jsonl")
    assert "Leave --profile out" in refused(model, "e.jsonl", "--profile", "reuters21578")
    Path("damaged.model").write_bytes(Path(model).read_bytes()[:-1])
    assert "damaged.model is damaged" in refused("damaged.model", "e.jsonl", code=1)
    Path("empty.jsonl").touch()
    assert "the source has no documents" in refused(model, "empty.jsonl", code=1)
    Path("folder").mkdir()
    assert "folder has no good snapshots" in refused("folder", "e.jsonl")


def test_the_format_of_the_model_is_the_default() -> None:
    lines = [b'{"id":%d,"headline":"wheat","tags":["grain"]}' % i for i in range(3)]
    source = write_lines("e.jsonl", lines)
    fields = ("--fields", "title=headline", "--fields", "topics=tags")
    run(source, "--lane", "mmp", *fields, "--save", "m", "--quiet")
    assert rank("m", source, "--rankings", "r.jsonl", "--evaluate").count("mmp") >= 1
    assert len(Path("r.jsonl").read_bytes().splitlines()) == 3


SPECS = resolved([parse_spec(lane) for lane in ("mmp", "arow", "svm-map:of=[mmp,arow],name=both")])


def follower_of(*lanes: str, events: int) -> Follower:
    """Return the state of a worker with some lanes after some events of a stream."""
    specs = [spec for spec in SPECS if spec.name in lanes]
    helpers = [spec for spec in SPECS if "both" in lanes and spec.name not in lanes]
    follower = Follower(Engine(specs, (), threads=1, helpers=helpers))
    list(follower.engine.process(make_block(random_events(3, 300)[:events], TOKENIZER)))
    follower.position = events
    return follower


def snapshot_to(folder: Path, follower: Follower, keep: int = 3) -> Path:
    return SnapshotFolder(folder, keep).write(
        follower.snapshot(log="id", published=[], profile="reuters2000")
    )


def test_the_newest_snapshot_of_each_lane_in_a_folder_ranks() -> None:
    folder, source = Path("news"), write_lines("e.jsonl", event_lines(4, 40))
    snapshot_to(folder, follower_of("mmp", "arow", events=100))
    newest = snapshot_to(folder, follower_of("mmp", events=200))
    both = snapshot_to(folder, follower_of("both", events=150))
    output = rank("news", source, "--rankings", "all.jsonl")
    events = [orjson.loads(line) for line in Path("all.jsonl").read_bytes().splitlines()]
    assert [event["lane"] for event in events[:3]] == ["mmp", "both", "arow"]
    assert str(newest) in output
    for path, lane in ((newest, "mmp"), (both, "both")):
        rank(str(path), source, "--rankings", "one.jsonl", "--lane", lane)
        lines = Path("one.jsonl").read_bytes().splitlines()
        assert lines == [
            line for line in Path("all.jsonl").read_bytes().splitlines()
            if orjson.loads(line)["lane"] == lane
        ]  # fmt: skip


def test_a_damaged_snapshot_in_a_folder_is_skipped() -> None:
    folder, source = Path("news"), write_lines("e.jsonl", event_lines(4, 40))
    snapshot_to(folder, follower_of("mmp", events=100))
    newer = snapshot_to(folder, follower_of("mmp", events=200))
    newer.write_bytes(newer.read_bytes()[:-3])
    output = rank("news", source, "--rankings", "r.jsonl")
    assert "skipped a damaged snapshot" in output
    assert b'"round"' in Path("r.jsonl").read_bytes()
    (Path("all") / "inner").mkdir(parents=True)
    snapshot_to(Path("all") / "inner", follower_of("mmp", events=10))
    assert "name one of them: all/inner" in refused("all", source)


def test_the_shard_of_a_lane_is_refused() -> None:
    follower = follower_of("mmp", events=50)
    exchange = {"begun": 0, "scores": 5}
    snapshot = follower.snapshot(log="id", published=[], exchange=exchange)
    SnapshotFolder(Path("shard")).write(snapshot)
    source = write_lines("e.jsonl", event_lines(4, 10))
    assert "one shard of a lane, which cannot rank alone" in refused("shard", source)


def write_shards(folder: Path, follower: Follower, shards: int) -> None:
    """Write a snapshot of each shard of the lane `mmp`, as its workers do."""
    for number in range(shards):
        snapshot = follower.snapshot(
            log="id", published=[], profile="reuters2000", exchange={"begun": 0, "scores": 1}
        )
        path = folder / "shards" / "mmp-12345678" / f"{number}-of-{shards}"
        SnapshotFolder(path).write(divided_snapshot(snapshot, "mmp", number, shards))


def test_the_shards_of_a_lane_rank_together() -> None:
    """From the newest offset that all of them have, and together with lanes that are whole."""
    source = write_lines("e.jsonl", event_lines(4, 40))
    snapshot_to(Path("whole"), follower_of("mmp", events=200))
    rank("whole", source, "--rankings", "whole.jsonl", "--top", "0")
    for events in (100, 200):
        write_shards(Path("stream"), follower_of("mmp", events=events), 3)
    rank("stream", source, "--rankings", "shards.jsonl", "--top", "0")
    assert Path("shards.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    snapshot_to(Path("stream"), follower_of("mmp", "arow", events=150))
    rank("stream", source, "--rankings", "both.jsonl", "--top", "0")
    lines = Path("both.jsonl").read_bytes().splitlines()
    assert lines[::2] == Path("whole.jsonl").read_bytes().splitlines()
    assert {orjson.loads(line)["lane"] for line in lines[1::2]} == {"arow"}
    newest = max(Path("stream/shards/mmp-12345678/1-of-3").iterdir())
    newest.write_bytes(newest.read_bytes()[:-1])
    output = rank("stream", source, "--rankings", "older.jsonl", "--lane", "mmp", "--top", "0")
    assert "skipped a damaged snapshot" in output
    assert "documents = " in output


def test_a_worker_may_replace_its_snapshots_meanwhile() -> None:
    """Nothing is written to its folder, and every answer is from a whole snapshot."""
    folder = Path("news")
    followers = [follower_of("mmp", "arow", events=events) for events in (50, 51, 52, 53)]
    snapshot_to(folder, followers[0])
    done = threading.Event()

    def replace() -> None:
        number = 0
        while not done.is_set():
            number += 1
            follower = followers[number % 4]
            follower.position = 1000 + number
            snapshot_to(folder, follower, keep=1)

    worker = threading.Thread(target=replace)
    worker.start()
    try:
        for _ in range(40):
            (part,) = load_frozen_lanes(folder, ("arow",), print)
            assert part.documents in {follower.engine.documents for follower in followers}
    finally:
        done.set()
        worker.join()
    assert all(name.endswith(".wirerank") for name in os.listdir(folder))


def test_labels_that_the_model_does_not_know_are_counted(model: str) -> None:
    lines = [orjson.dumps({"id": n, "text": "w1", "topics": ["t1", f"new{n}"]}) for n in range(3)]
    Path("new.jsonl").write_bytes(b"\n".join(lines))
    result = wirerank("rank", model, "new.jsonl", "--evaluate", "--rankings", "r.jsonl")
    assert result.exit_code == 0, result.output
    assert "does not know, which count with the score 0: 3\n" in result.stderr
