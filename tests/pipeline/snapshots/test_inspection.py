"""Inspections show the state of the engine, and no file can do harm."""

from __future__ import annotations

import copy
import os
import random
import struct
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from itertools import filterfalse, product
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from learners.specs import parse_spec, resolved
from learners.svm_map.stacker import Stacker
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.events.event import Event
from pipeline.follower import Follower
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.snapshots.folder import KIND, SUFFIX, VERSION, SnapshotFolder, read_snapshot
from pipeline.snapshots.inspection import inspect
from pipeline.snapshots.inspection_tables import as_json, description, listing
from pipeline.storage.container import CHUNK_BYTES, LENGTH, MAX_HEADER_BYTES, PREFIX, pack
from pipeline.text.features import FeatureSettings
from tests.pipeline.engine.test_engine import TOKENIZER, random_events
from tests.support.command_line import wirerank

LANES = ("mmp:loss=1", "perceptron:margin=0.5,name=champion", "frequency", "prank:ranks=3")
STACKED = "svm-map:of=[mmp:loss=1,frequency],refit=10,window=30,name=stacked"
STACKED_ALL = "svm-map:refit=10"
SETTINGS = EngineSettings(FeatureSettings(max_terms=60), max_topics=6, max_pending=5)


def follower_of(lanes: tuple[str, ...] = LANES, count: int = 200) -> Follower:
    """Return a follower that has read a log with documents, late labels and early labels."""
    engine = Engine([parse_spec(lane) for lane in lanes], ("t9",), SETTINGS)
    return followed(Follower(engine), count)


def followed(follower: Follower, count: int = 200) -> Follower:
    """Return the follower after it has read a log of made-up events."""
    events = random_events(1, count)[: count - 8]
    events += [Event(f"to come {n}", None, ("t1",), None, None) for n in range(8)]
    for number, start in enumerate(range(0, count, 40)):
        offsets = list(range(start, start + 40))
        span = Span("wire.documents", 3, start, start + 40, "identity")
        batch = EventBatch(span, offsets, events[start : start + 40])
        for record in encode_batches([batch], TOKENIZER, 1 << 20):
            for _ in follower.follow(record, number, "a record"):
                pass
    return follower


@pytest.fixture(scope="module")
def follower() -> Follower:
    return follower_of()


@pytest.fixture
def path(follower: Follower, tmp_path: Path) -> Path:
    """The path of a snapshot as a worker writes it."""
    folder = SnapshotFolder(tmp_path / "snapshots" / "wire")
    return folder.write(follower.snapshot(log="the log", published=["champion"]))


def test_what_is_said_is_what_the_engine_was(path: Path, follower: Follower) -> None:
    engine = follower.engine
    facts = orjson.loads(wirerank("inspect", str(path), "--json").stdout)
    assert facts["good"]
    assert facts["path"] == str(path)
    assert facts["size_bytes"] == path.stat().st_size
    assert facts["position"] == follower.position == 5
    assert facts["log"] == "the log"
    assert (facts["documents"], facts["rounds"]) == (engine.documents, engine.rounds)
    assert facts["vocabulary_terms"] == len(engine.vocabulary)
    assert (facts["topics"], facts["topics_refused"]) == (len(engine.topics), engine.topics.refused)
    assert facts["pending_documents"] == len(engine.pending.documents) > 0
    assert facts["early_labels"] == len(engine.pending.early) > 0
    assert facts["expired_documents"] == engine.pending.expired_documents > 0
    assert facts["unmatched_labels"] == engine.pending.unmatched_labels > 0
    ranks = engine.rank_group
    assert facts["ranks"]["rounds"] == ranks.rounds > 0
    assert facts["ranks"]["pending_documents"] == len(ranks.pending.documents) > 0
    assert facts["ranks"]["expired_documents"] == ranks.pending.expired_documents > 0
    (source,) = facts["coverage"]
    assert source["topic"] == "wire.documents"
    assert (source["partition"], source["offset"]) == (3, 200)
    assert facts["settings"]["max_terms"] == 60
    assert facts["settings"]["declared_topics"] == 1
    for lane in engine.lanes:
        lane_facts = facts["lanes"][lane.name]
        assert lane_facts["rounds"] == lane.curve.rounds > 0
        losses = ("ranking_loss",) if lane.is_ordinal else ("loss1", "loss2", "loss3")
        assert {loss: lane_facts[loss] for loss in losses} == {
            loss: value for loss, value in lane.curve.last().values.items() if loss in lane_facts
        }
        assert lane_facts["published"] is (lane.name == "champion")
    assert facts["lanes"]["champion"]["learner"] == "perceptron"
    assert facts["lanes"]["champion"]["options"]["margin"] == 0.5
    assert facts["lanes"]["champion"]["model_bytes"] == sum(
        array.nbytes for array in engine.lanes[1].learner.state().values()
    )


def test_a_person_can_read_it(path: Path, follower: Follower) -> None:
    os.utime(path, (0, time.time() - 400))
    done = wirerank("inspect", str(path))
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "position 5 of the log the log" in lines
    assert f"documents {follower.engine.documents}" in lines
    assert f"vocabulary terms {len(follower.engine.vocabulary)} of 60" in lines
    assert "wire.documents 3 200" in lines
    of_topics, of_ranks = follower.engine.topic_group, follower.engine.rank_group
    assert f"rounds {of_topics.rounds} and {of_ranks.rounds}" in lines
    waiting = [len(group.pending.documents) for group in (of_topics, of_ranks)]
    ceiling = follower.engine.settings.max_pending
    assert f"waiting documents {waiting[0]} and {waiting[1]} of {ceiling}" in lines
    assert not [line for line in lines if line.startswith("ignored labels")]  # either is learned
    assert "champion = perceptron:norm=none,margin=0.5,average=false" in lines
    loss = follower.engine.lanes[1].curve.last().values["loss1"]
    (champion,) = [line for line in lines if line.startswith("champion published")]
    assert loss is not None
    assert f" {100 * loss:.2f} " in champion
    assert "6 min ago" in done.stdout
    deep = path.parent / ("folder" * 30)
    deep.mkdir()
    assert str(path.rename(deep / path.name)) in wirerank("inspect", str(deep)).stdout


def test_a_snapshot_before_the_first_round_has_no_losses(tmp_path: Path) -> None:
    empty = Follower(Engine([parse_spec(LANES[0])], (), SETTINGS))
    path = SnapshotFolder(tmp_path).write(empty.snapshot(log="", published=[]))
    assert (
        orjson.loads(wirerank("inspect", str(path), "--json").stdout)["lanes"][LANES[0]]["loss1"]
        is None
    )
    assert "n.a." in wirerank("inspect", str(path)).stdout


def stacker_of(helped: bool) -> Follower:
    """Return a follower with a stacker; `helped`: the lanes that it combines are helpers."""
    every = resolved([parse_spec(lane) for lane in (LANES[0], LANES[2], STACKED)])
    lanes, helpers = (every[2:], every[:2]) if helped else (every, [])
    return followed(Follower(Engine(lanes, ("t9",), SETTINGS, helpers=helpers)))


@pytest.mark.parametrize("helped", [True, False])
def test_a_stacker_says_what_it_makes_of_the_others(helped: bool, tmp_path: Path) -> None:
    follower = stacker_of(helped)
    path = SnapshotFolder(tmp_path).write(follower.snapshot(log="the log", published=["stacked"]))
    facts = orjson.loads(wirerank("inspect", str(path), "--json").stdout)["lanes"]
    learner = follower.engine.lanes[-1].learner
    assert isinstance(learner, Stacker)
    lane_facts = facts["stacked"]
    assert list(lane_facts["combines"]) == [LANES[0], LANES[2]]
    weights = [w for lane in lane_facts["combines"].values() for w in lane.values()]
    assert weights == learner.weights.tolist()
    assert len(set(weights)) > 2  # it was trained
    assert lane_facts["documents_kept"] == len(learner.lessons) == 30
    names = list(lane_facts["combines"])
    assert lane_facts["follows"] == (None if learner.followed < 0 else names[learner.followed])
    assert [facts[lane]["helper"] for lane in names] == [helped] * 2
    assert not lane_facts["helper"]
    assert "combines" not in facts[LANES[0]]
    lines = [" ".join(line.split()) for line in wirerank("inspect", str(path)).stdout.splitlines()]
    assert "weights of stacked score place lead" in lines
    shown = " ".join(f"{w:.4g}" for w in lane_facts["combines"][LANES[0]].values())
    assert f"{LANES[0]} {shown}" in lines
    (note,) = [line for line in lines if line.startswith("it ranks")]
    assert note.endswith("training documents kept: 30")
    assert bool([line for line in lines if line.startswith(f"{LANES[0]} helper")]) is helped
    listed = wirerank("inspect", str(tmp_path)).stdout
    assert ("good     stacked" in listed) is helped


def test_a_stacker_that_follows_a_lane_says_which(tmp_path: Path) -> None:
    follower = stacker_of(helped=False)
    learner = follower.engine.lanes[-1].learner
    assert isinstance(learner, Stacker)
    for followed_lane, sentence in ((1, f"as {LANES[2]}, which has done better"), (-1, "by these")):
        learner.followed = followed_lane
        path = SnapshotFolder(tmp_path).write(follower.snapshot(log="", published=[]))
        assert f"it ranks {sentence}" in wirerank("inspect", str(path)).stdout


def test_a_stacker_before_its_first_document_has_no_weights(tmp_path: Path) -> None:
    empty = Follower(Engine([parse_spec(lane) for lane in (LANES[0], STACKED_ALL)], (), SETTINGS))
    path = SnapshotFolder(tmp_path).write(empty.snapshot(log="", published=[]))
    facts = orjson.loads(wirerank("inspect", str(path), "--json").stdout)["lanes"][STACKED_ALL]
    assert facts["combines"] == {LANES[0]: {"score": None, "place": None, "lead": None}}
    assert (facts["follows"], facts["documents_kept"]) == (None, 0)
    assert f"{LANES[0]} n.a. n.a. n.a." in " ".join(wirerank("inspect", str(path)).stdout.split())


def test_no_stacker_does_harm(tmp_path: Path) -> None:
    follower = stacker_of(helped=True)
    path = SnapshotFolder(tmp_path).write(follower.snapshot(log="", published=[]))
    snapshot = read_snapshot(path)
    for key in ("helpers", "combines"):
        for odd in ODD:
            content = {**snapshot.content, key: odd}
            path.write_bytes(pack(KIND, VERSION, content, snapshot.arrays))
            check_no_harm(path)
    for odd in ODD:
        content = {**snapshot.content, "combines": {"stacked": odd}}
        path.write_bytes(pack(KIND, VERSION, content, snapshot.arrays))
        check_no_harm(path)
    arrays: list[tuple[str, Any]] = [
        *product(["weights"], [np.full(6, np.nan), np.zeros(5), np.zeros((6, 1)), np.arange(6)]),
        *product(["weights"], [np.zeros(300_000)]),
        *product(["followed"], [np.array([2, 9]), np.array([-2, 9]), np.zeros(2), np.arange(3)]),
        *product(["starts"], [np.zeros(0, np.int64), np.zeros((), np.int64)]),
    ]
    for name, array in arrays:
        changed = {**snapshot.arrays, f"lane0/learner/{name}": array}
        path.write_bytes(pack(KIND, VERSION, snapshot.content, changed))
        check_no_harm(path)
        (inspection,) = inspect(path)
        assert not inspection.good, (name, array)


@pytest.mark.parametrize("lane", ["mmp:loss=1", "prank:ranks=3"])
def test_lanes_of_one_kind_have_its_numbers_alone(lane: str, tmp_path: Path) -> None:
    follower = follower_of((lane,))
    path = SnapshotFolder(tmp_path).write(follower.snapshot(log="the log", published=[]))
    lines = [" ".join(line.split()) for line in wirerank("inspect", str(path)).stdout.splitlines()]
    assert f"rounds {follower.engine.rounds}" in lines
    ignored = follower.engine.ignored_labels
    assert ignored > 0
    assert f"ignored labels {ignored}" in lines


def test_a_folder_is_listed_newest_first(path: Path, follower: Follower, tmp_path: Path) -> None:
    snapshot = follower.snapshot(log="the log", published=[])
    snapshot.content["position"] = 70
    newer = SnapshotFolder(path.parent).write(snapshot)
    other = SnapshotFolder(tmp_path / "snapshots" / "another").write(snapshot)
    (tmp_path / "snapshots" / "notes.txt").write_text("not looked at")
    done = wirerank("inspect", str(tmp_path / "snapshots"))
    assert done.exit_code == 0
    header, *lines = done.stdout.splitlines()
    assert header.split() == ["snapshot", "position", "size", "age", "state", "lanes"]
    assert [line.split()[0] for line in lines] == [str(other), str(newer), str(path)]
    assert [line.split()[1] for line in lines] == ["70", "70", "5"]
    assert all("good     mmp:loss=1, champion, frequency" in line for line in lines)
    inspection = orjson.loads(wirerank("inspect", str(path.parent), "--json").stdout)
    assert [one["position"] for one in inspection] == [70, 5]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-9], "checksum"),
        (lambda data: data[: len(data) // 2] + b"\x07" + data[len(data) // 2 + 1 :], "checksum"),
        (lambda data: b"", "cut off: 0 bytes"),
        (lambda data: b"%PDF" + data[4:], "wrong file type"),
        (lambda data: data[:4] + b"\x63" + data[5:], "version 99, but this program reads"),
    ],
)
def test_damage_is_named(damage: Any, reason: str, path: Path, follower: Follower) -> None:  # noqa: ANN401
    snapshot = follower.snapshot(log="the log", published=[])
    snapshot.content["position"] = 2
    SnapshotFolder(path.parent).write(snapshot)
    path.write_bytes(damage(path.read_bytes()))
    one = wirerank("inspect", str(path))
    assert one.exit_code == 1
    assert path.name in one.stderr
    assert reason in one.stderr
    assert not one.stdout
    every = wirerank("inspect", str(path.parent))
    assert every.exit_code == 1
    first, second, problem = every.stdout.splitlines()[1:]
    assert first.split()[-1] == "damaged"
    assert "good" in second
    assert reason in problem
    machine = wirerank("inspect", str(path), "--json")
    assert machine.exit_code == 1
    assert orjson.loads(machine.stdout)["good"] is False
    assert reason in orjson.loads(machine.stdout)["problem"]


def test_what_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    text, pipe, loop = tmp_path / "notes.txt", tmp_path / "pipe", tmp_path / "loop"
    text.write_text("WRITE")
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for given, message in (
        (text, "is not a snapshot"),
        (pipe, "neither a file nor a folder"),
        (loop, "cannot be read: Too many levels of symbolic links"),
        (tmp_path / "absent", "cannot be read: No such file"),
        (tmp_path, "holds no snapshots"),
    ):
        done = wirerank("inspect", str(given))
        assert done.exit_code == 2, done.stdout
        assert str(given) in done.stderr
        assert message in done.stderr


def test_one_that_cannot_be_read_does_not_hide_the_others(path: Path) -> None:
    (path.parent / f"loop{SUFFIX}").symlink_to(path.parent / f"loop{SUFFIX}")
    os.mkfifo(path.parent / f"pipe{SUFFIX}")
    done = wirerank("inspect", str(path.parent))
    assert done.exit_code == 1
    assert done.stdout.count("damaged") == 2
    assert "Too many levels of symbolic links" in done.stdout
    assert "neither a file nor a folder" in done.stdout
    assert "good     mmp" in done.stdout


def test_a_snapshot_by_another_name_is_one(path: Path, tmp_path: Path) -> None:
    moved = path.rename(tmp_path / "kept")
    assert wirerank("inspect", str(moved)).exit_code == 0
    moved.write_bytes(moved.read_bytes()[:-1])
    assert wirerank("inspect", str(moved)).exit_code == 1


def places(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - whatever JSON can say
    """Yield every value in nested JSON content as its container and key."""
    keys = value.keys() if isinstance(value, dict) else range(min(3, len(value)))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


ODD: list[Any] = [
    None, True, -1, 2**63, 1e308, "", "\x1b[2J\u202eevil", [], [[]], [[1, 2]], {}, {"a": 1}, [{}],
    [None] * 5, "x" * 100_000, [["a", "b", "c", "d"]], [["a", "b", 1, 2, 3]],
]  # fmt: skip


def test_no_content_with_a_right_checksum_does_harm(path: Path) -> None:
    """Every value of the content is removed and replaced by odd values, one at a time."""
    snapshot = read_snapshot(path)
    for n in range(len(list(places(snapshot.content)))):
        for odd in [KeyError, *ODD]:
            content = copy.deepcopy(snapshot.content)
            where, key = list(places(content))[n]
            if odd is KeyError:
                del where[key]
            else:
                where[key] = odd
            path.write_bytes(pack(KIND, VERSION, content, snapshot.arrays))
            check_no_harm(path)


def check_no_harm(path: Path) -> None:
    """Do what the command does, without its process, which takes longer."""
    (inspection,) = inspect(path)
    orjson.loads(as_json([inspection], several=False))
    for text in (listing([inspection]), description(inspection) if inspection.good else ""):
        assert text.isprintable() or set(filterfalse(str.isprintable, text)) == {"\n"}
        assert len(text) < 10_000


def container(header: bytes, arrays: bytes, length: int | None = None) -> bytes:
    """Return a container with a correct checksum."""
    body = LENGTH.pack(len(header) if length is None else length) + header + arrays
    return PREFIX.pack(KIND, VERSION, 0, zlib.crc32(body)) + body


def header_of(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()[PREFIX.size :]
    (length,) = LENGTH.unpack_from(data)
    return orjson.loads(data[LENGTH.size : LENGTH.size + length]), data[LENGTH.size + length :]


@pytest.mark.parametrize("name", ["lane0/curve/tally", "vocabulary/df", "lane1/learner/weights"])
def test_no_index_of_arrays_does_harm(name: str, path: Path) -> None:
    header, arrays = header_of(path)
    good = header["arrays"][name]
    changes: list[tuple[str, Any]] = [
        *product(["type"], ["object", "O8", "V1", None, 3, ["int64"], "<f8"]),
        *product(["start"], [-8, 2**62, len(arrays), None, 1.5, "0", True]),
        *product(["shape"], [[-1], [2**62, 2**62], [1] * 100, None, "ab", [0, 2**62], {}, []]),
        *product(["shape"], [[[11]], [10], [11, 1], [1.5], [len(arrays)]]),
    ]
    for key, odd in changes:
        header["arrays"][name] = {**good, key: odd}
        path.write_bytes(container(orjson.dumps(header), arrays))
        check_no_harm(path)
    entries: list[Any] = [None, [], {}, "x"]
    for entry in entries:
        header["arrays"][name] = entry
        path.write_bytes(container(orjson.dumps(header), arrays))
        (inspection,) = inspect(path)
        assert not inspection.good


def test_no_sums_do_harm(path: Path) -> None:
    header, arrays = header_of(path)
    start = header["arrays"]["lane0/curve/tally"]["start"]
    for odd in (float("nan"), float("inf"), -5.0, 1e300):
        for column in range(11):
            at = start + 8 * column
            changed = arrays[:at] + struct.pack("<d", odd) + arrays[at + 8 :]
            path.write_bytes(container(orjson.dumps(header), changed))
            check_no_harm(path)


@pytest.mark.parametrize(
    "header",
    [b"", b"[]", b"null", b"{}", b"[" * 100_000, b'{"content": 3, "arrays": {}}', b'{"content":{}}',
     b'{"content": {}, "arrays": []}', b"\xff\xfe", b'{"content": {"position": ' + b"9" * 5000],
)  # fmt: skip
def test_no_header_does_harm(header: bytes, path: Path) -> None:
    path.write_bytes(container(header, b"12345678"))
    check_no_harm(path)
    (inspection,) = inspect(path)
    assert not inspection.good


def test_a_header_that_says_it_is_longer_than_the_file(path: Path) -> None:
    for length in (10, 2**31, 2**32 - 1):
        path.write_bytes(container(b"{}", b"", length))
        (inspection,) = inspect(path)
        assert "its header cannot be read" in str(inspection.problem)


def test_random_rubbish(path: Path) -> None:
    rng = random.Random(5)
    whole = path.read_bytes()
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(PREFIX.size, len(data))
            data[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
        path.write_bytes(container(bytes(data[PREFIX.size + LENGTH.size :]), b""))
        check_no_harm(path)
        path.write_bytes(bytes(data))
        check_no_harm(path)


def test_large_arrays_take_no_memory(path: Path) -> None:
    """The model has 200 MB, in a sparse file that takes no space on the disk."""
    header, arrays = header_of(path)
    room = 200 << 20
    header["arrays"]["lane2/learner/more"] = {
        "type": "float64", "shape": [room // 8], "start": len(arrays)
    }  # fmt: skip
    data = container(orjson.dumps(header), arrays)
    checksum = zlib.crc32(data[PREFIX.size :])
    for _ in range(room // CHUNK_BYTES):
        checksum = zlib.crc32(bytes(CHUNK_BYTES), checksum)
    path.write_bytes(PREFIX.pack(KIND, VERSION, 0, checksum) + data[PREFIX.size :])
    os.truncate(path, len(data) + room)
    tracemalloc.start()
    try:
        (inspection,) = inspect(path)
        assert inspection.facts["lanes"]["frequency"]["model_bytes"] > room
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_a_header_beyond_the_limit_is_not_read(path: Path) -> None:
    room = MAX_HEADER_BYTES + 1
    checksum = zlib.crc32(LENGTH.pack(room))
    left = room
    while left > 0:
        checksum = zlib.crc32(bytes(min(left, CHUNK_BYTES)), checksum)
        left -= CHUNK_BYTES
    path.write_bytes(PREFIX.pack(KIND, VERSION, 0, checksum) + LENGTH.pack(room))
    os.truncate(path, PREFIX.size + LENGTH.size + room)
    (inspection,) = inspect(path)
    assert "at most 67,108,864 are read" in str(inspection.problem)


def test_very_many_partitions_and_lanes_are_cut_short(path: Path) -> None:
    snapshot = read_snapshot(path)
    snapshot.content["coverage"] = [["wire.documents", "i", n, n] for n in range(10_000)]
    path.write_bytes(pack(KIND, VERSION, snapshot.content, snapshot.arrays))
    done = wirerank("inspect", str(path))
    assert "and 9,960 more partitions; --json shows all of them" in done.stdout
    assert len(done.stdout) < 10_000
    machine = orjson.loads(wirerank("inspect", str(path), "--json").stdout)
    assert len(machine["coverage"]) == 10_000


def test_names_cannot_play_tricks_on_a_terminal(path: Path) -> None:
    snapshot = read_snapshot(path)
    lanes = snapshot.content["settings"]["lanes"]
    lanes["two\nlines\x1b[2J\u202e"] = lanes.pop("frequency")
    path.write_bytes(pack(KIND, VERSION, snapshot.content, snapshot.arrays))
    for given in (path, path.parent):
        done = wirerank("inspect", str(given))
        assert done.exit_code == 0
        assert "two\\nlines\\x1b[2J\\u202e" in done.stdout
        assert not set("\x1b\u202e") & set(done.stdout)
