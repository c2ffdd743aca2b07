"""An engine restored from a snapshot is equal to one that never stopped."""

from __future__ import annotations

import os
import random
from copy import deepcopy
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from learners.specs import helpers_of, parse_spec, resolved
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.ranking_events import ranking_events
from pipeline.log.block import make_block
from pipeline.snapshots.folder import KIND, VERSION, SnapshotFolder, read_snapshot
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import MismatchError, take_snapshot
from pipeline.storage.container import DamagedError, pack, unpack
from pipeline.text.feature_settings import FeatureSettings
from tests.pipeline.engine.test_engine import LANES, TOKENIZER, random_events


def new_engine(settings: EngineSettings | None = None, lanes: tuple[str, ...] = LANES) -> Engine:
    every = resolved([parse_spec(lane) for lane in LANES])
    specs = [{spec.name: spec for spec in every}.get(lane, parse_spec(lane)) for lane in lanes]
    return Engine(specs, ("t9",), settings, helpers=helpers_of(specs, every))


def feed(engine: Engine, events: list[object], block: int) -> list[bytes]:
    rankings: list[bytes] = []
    for start in range(0, len(events), block):
        made = make_block(events[start : start + block], TOKENIZER)  # type: ignore[arg-type]
        for ranked in engine.process(made):
            rankings += ranking_events(ranked, LANES, engine.topics.names, 0)
    return rankings


@pytest.mark.parametrize("seed", range(6))
def test_a_restored_engine_equals_one_that_never_stopped(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    settings = EngineSettings(FeatureSettings(max_terms=60), max_topics=6, max_pending=20)
    events: list[object] = [*random_events(seed, 300)]
    straight = new_engine(settings)
    expected = feed(straight, events, 50)
    folder = SnapshotFolder(tmp_path)
    engine, rankings, at = new_engine(settings), list[bytes](), 0
    while at < len(events):
        step = rng.randrange(1, 120)
        rankings += feed(engine, events[at : at + step], rng.randrange(1, 60))
        at += step
        folder.write(take_snapshot(engine, at))
        engine = new_engine(settings)  # a crash, so to speak
        snapshot = folder.newest([])
        assert snapshot is not None
        assert snapshot.position == at
        restore_engine(engine, snapshot)
    assert rankings == expected
    last, other = take_snapshot(engine, 1), take_snapshot(straight, 1)
    assert last.content == other.content
    assert last.arrays.keys() == other.arrays.keys()
    for name, array in last.arrays.items():
        assert np.array_equal(array, other.arrays[name], equal_nan=array.dtype.kind == "f"), name


def test_pending_scores_of_an_older_version_are_read() -> None:
    """That version stored the scores of all topics, for every lane."""
    events: list[object] = [*random_events(2, 200)]
    engine = new_engine()
    feed(engine, events[:120], 20)
    snapshot = take_snapshot(engine, 120)
    waiting = list(engine.pending.documents.values())
    assert waiting
    for number in range(len(engine.topic_group.lanes)):  # these come first; there were no others
        scores = list[float]()
        for document in waiting:
            kept, every = document.scores[number], np.zeros(document.known)
            every[slice(None) if kept.topics is None else kept.topics] = kept.values
            scores += every.tolist()
        for name in ("scores", "topics", "counts"):
            snapshot.arrays.pop(f"lane{number}/pending/{name}", None)
        snapshot.arrays[f"lane{number}/pending"] = np.array(scores)
    other = new_engine()
    restore_engine(other, snapshot)
    assert feed(other, events[120:], 20) == feed(engine, events[120:], 20)
    for lane, other_lane in zip(engine.lanes, other.lanes, strict=True):
        assert np.array_equal(lane.curve.tally(), other_lane.curve.tally(), equal_nan=True)


def test_a_snapshot_is_for_owner_and_group_and_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = SnapshotFolder(tmp_path / "snapshots")
    snapshot = take_snapshot(new_engine(), 7)
    path = folder.write(snapshot)
    assert path.stat().st_mode & 0o777 & ~0o640 == 0
    path.unlink()
    # The name that a temporary file had, which everybody could know before.
    path.with_suffix(f".partial-{os.getpid()}").symlink_to(victim)
    assert folder.write(snapshot) == path
    assert not path.is_symlink()
    assert victim.read_text() == "mine"


def test_taking_a_snapshot_changes_nothing() -> None:
    events: list[object] = [*random_events(1, 100)]
    engine, other = new_engine(), new_engine()
    feed(engine, events[:50], 10)
    feed(other, events[:50], 10)
    for array in take_snapshot(engine, 50).arrays.values():
        array[...] = 1
    assert feed(engine, events[50:], 10) == feed(other, events[50:], 10)


def test_a_snapshot_stays_as_it_was_taken() -> None:
    """It is written while the engine goes on."""
    events: list[object] = [*random_events(1, 200)]
    engine = new_engine()
    feed(engine, events[:50], 10)
    snapshot = take_snapshot(engine, 50)
    before = deepcopy(snapshot)
    feed(engine, events[50:], 10)
    assert snapshot.content == before.content
    for name, array in snapshot.arrays.items():
        assert array.tobytes() == before.arrays[name].tobytes(), name


def test_only_the_newest_snapshots_are_kept(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path, keep=2)
    for position in (5, 80, 1000):
        folder.write(take_snapshot(new_engine(), position))
    assert [int(path.stem[:20]) for path in folder.files()] == [1000, 80]
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other", "version"])
def test_a_damaged_snapshot_is_skipped(damage: str, tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path)
    folder.write(take_snapshot(new_engine(), 1))
    newest = folder.write(take_snapshot(new_engine(), 2))
    data = bytearray(newest.read_bytes())
    if damage == "cut":
        data = data[:-9]
    elif damage == "flipped":
        data[len(data) // 2] ^= 4
    elif damage == "empty":
        data = bytearray()
    elif damage == "other":
        data[:4] = b"%PDF"
    else:
        data[4] = 99
    newest.write_bytes(data)
    with pytest.raises(DamagedError, match=newest.name):
        read_snapshot(newest)
    problems: list[str] = []
    snapshot = folder.newest(problems)
    assert snapshot is not None
    assert snapshot.position == 1
    assert len(problems) == 1


def test_without_a_valid_snapshot_there_is_none(tmp_path: Path) -> None:
    assert SnapshotFolder(tmp_path).newest([]) is None
    (tmp_path / "00000000000000000007.wirerank").write_bytes(b"rubbish")
    problems: list[str] = []
    assert SnapshotFolder(tmp_path).newest(problems) is None
    assert "cut off" in problems[0]


def test_another_configuration_is_refused() -> None:
    snapshot = take_snapshot(new_engine(), 0)
    with pytest.raises(MismatchError, match="max_terms = 131072, but the configuration says 64"):
        restore_engine(new_engine(EngineSettings(FeatureSettings(max_terms=64))), snapshot)
    other = Engine([parse_spec(lane) for lane in LANES], ("another",))
    with pytest.raises(MismatchError, match="declared topics"):
        restore_engine(other, snapshot)
    with pytest.raises(MismatchError, match="lane mmp:loss=2 = None"):
        restore_engine(new_engine(lanes=("mmp:loss=2", *LANES[1:])), snapshot)
    message = "lane mmp:loss=1: loss = 1, but the configuration says 2: restore .* another name"
    with pytest.raises(MismatchError, match=message):
        restore_engine(
            new_engine(lanes=(f"mmp:loss=2,name={parse_spec(LANES[0]).name}",)), snapshot
        )


@pytest.mark.parametrize("seed", range(6))
def test_engines_can_be_split_and_merged_without_a_difference(seed: int, tmp_path: Path) -> None:
    """Lanes follow the log together, then in separate engines, then together again."""
    rng = random.Random(seed)
    settings = EngineSettings(FeatureSettings(max_terms=60), max_topics=6, max_pending=20)
    events: list[object] = [*random_events(seed, 200)]
    straight = new_engine(settings)
    expected = feed(straight, events, 30)
    whole = new_engine(settings)
    feed(whole, events[:80], 30)
    snapshot = take_snapshot(whole, 80)
    names = list(LANES)
    rng.shuffle(names)
    cut = rng.randrange(1, len(names))
    parted = [new_engine(settings, tuple(part)) for part in (names[:cut], names[cut:])]
    for engine in parted:
        restore_engine(engine, snapshot)
        for start in range(80, 140, 20):
            for _ in engine.process(make_block(events[start : start + 20], TOKENIZER)):  # type: ignore[arg-type]
                pass
    with pytest.raises(ValueError, match="two engines at different offsets of the log"):
        parted[0].merge(whole, LANES)
    had = [{lane.name for lane in engine.all_lanes} for engine in parted]
    parted[0].merge(parted[1], LANES)
    assert feed(parted[0], events[140:], 30) == expected[-sum_of_documents(events[140:]) :]
    last, other = take_snapshot(parted[0], 1), take_snapshot(straight, 1)
    assert last.content == other.content
    tallies = [last.arrays.pop(name) for name in ("differences", "ranks/differences")]
    for name, array in last.arrays.items():
        assert np.array_equal(array, other.arrays[name], equal_nan=array.dtype.kind == "f"), name
    # Lanes that were together all the time are compared over all of it, the others since they met.
    before = engine_after(events[:140], settings)
    for lane_tallies, group, then in zip(
        tallies, straight.lane_groups, before.lane_groups, strict=True
    ):
        for later, earlier in combinations(reversed(range(len(group.lanes))), 2):
            two = {group.lanes[later].name, group.lanes[earlier].name}
            together = two <= had[0] or two <= had[1]
            assert lane_tallies[later, earlier, 0, 0] == group.rounds - (
                0 if together else then.rounds
            )
            if together:
                expected_tally = group.differences.tallies[later, earlier]
                assert np.array_equal(lane_tallies[later, earlier], expected_tally)


def test_engines_without_topic_lanes_do_not_restore_topics() -> None:
    events: list[object] = [*random_events(4, 200)]
    both = new_engine()
    feed(both, events[:100], 20)
    assert len(both.topics) > 1
    name = both.rank_group.lanes[0].name
    alone, straight = new_engine(lanes=(name,)), new_engine(lanes=(name,))
    restore_engine(alone, take_snapshot(both, 100))
    for engine, start in ((alone, 100), (straight, 0)):
        for _ in engine.process(make_block(events[start:], TOKENIZER)):  # type: ignore[arg-type]
            pass
    assert alone.rank_labels.refused > 0
    assert take_snapshot(alone, 200).content == take_snapshot(straight, 200).content


def engine_after(events: list[object], settings: EngineSettings) -> Engine:
    engine = new_engine(settings)
    feed(engine, events, 30)
    return engine


def sum_of_documents(events: list[object]) -> int:
    return len(LANES) * sum(event.content is not None for event in events)  # type: ignore[attr-defined]


def test_the_newest_snapshots_of_each_lane_are_kept(tmp_path: Path) -> None:
    """Engines with different lanes of a stream write their snapshots to one folder."""
    folder = SnapshotFolder(tmp_path, keep=2)
    both, one = LANES[:2], LANES[:1]
    for position, lanes in ((1, both), (2, one), (3, both), (4, one), (5, one), (6, one)):
        folder.write(take_snapshot(new_engine(lanes=lanes), position))
    assert [int(path.stem[:20]) for path in folder.files()] == [6, 5, 3, 1]
    folder.write(take_snapshot(new_engine(lanes=both), 7))
    assert [int(path.stem[:20]) for path in folder.files()] == [7, 6, 3]


def test_any_flipped_bit_is_noticed() -> None:
    rng = random.Random(0)
    arrays = {"a": np.arange(5), "b": np.zeros((2, 3)), "c": np.array(True), "d": np.zeros((0, 4))}
    data = pack(KIND, VERSION, {"x": [1, None, "y"]}, arrays)
    content, arrays_read = unpack(data, KIND, VERSION, "container")
    assert content == {"x": [1, None, "y"]}
    assert {name: array.tolist() for name, array in arrays_read.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    assert arrays_read["d"].shape == (0, 4)
    for _ in range(300):
        broken = bytearray(data)
        broken[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        with pytest.raises(DamagedError):
            unpack(bytes(broken), KIND, VERSION, "box")


def test_a_container_takes_no_objects() -> None:
    with pytest.raises(TypeError, match="has type object"):
        pack(KIND, VERSION, {}, {"a": np.array([object()])})
