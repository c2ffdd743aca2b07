"""Which snapshot a shard continues from when the number of shards changes; needs no broker."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from consumers.assignment import ShardAssignment
from consumers.sharding.resharding import reshard_snapshots, shard_snapshot
from consumers.sharding.snapshot_folders import shard_folder
from learners.specs import parse_spec, resolved
from pipeline.corpora import open_source
from pipeline.engine.engine import Engine
from pipeline.events.event import parse_event
from pipeline.follower import Follower
from pipeline.log.block import make_block
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot
from pipeline.text.tokenizer import Tokenizer

LANE = "mmp:average=true"
SPEC = parse_spec(LANE)


@pytest.fixture(scope="module")
def learned() -> Follower:
    engine = Engine([parse_spec("prank"), SPEC, parse_spec("rocchio")])
    raw = open_source("synthetic:200,topics=9")
    events = [parse_event(event)._replace(rank=1 + n % 6) for n, event in enumerate(raw)]
    list(engine.process(make_block(events, Tokenizer())))
    return Follower(engine)


def whole_at(learned: Follower, position: int, log: str = "log") -> Snapshot:
    learned.position = position
    return learned.snapshot(log=log, published=[LANE])


def write(
    folder: Path, learned: Follower, share: ShardAssignment, position: int, begun: int
) -> None:
    """Write a snapshot of a shard."""
    made = shard_snapshot([whole_at(learned, position)], share)
    made.content["exchange"] = {"begun": begun, "scores": 1}
    SnapshotFolder(shard_folder(folder, share)).write(made)


def after(folder: Path, share: ShardAssignment, log: str = "log") -> tuple[int, int] | None:
    """The offset where a shard continues, and the offset from which exchanges are counted."""
    reshard_snapshots(folder, 3, share, log, SPEC.settings)
    newest = SnapshotFolder(shard_folder(folder, share)).newest([])
    if newest is None:
        return None
    return newest.position, newest.content.get("exchange", {}).get("begun")


def shares(count: int) -> list[ShardAssignment]:
    return [ShardAssignment(LANE, shard, count) for shard in range(count)]


def test_a_shard_gets_nothing_of_ordinal_lanes(learned: Follower) -> None:
    whole = whole_at(learned, 7)
    assert whole.content["ranks"]["rounds"] > 0
    made = shard_snapshot([whole], shares(2)[0])
    assert list(made.lanes) == [LANE]
    assert "ranks" not in made.content
    assert not [name for name in made.arrays if name.startswith("ranks/")]


def test_the_copy_that_a_stacker_has_is_no_snapshot_of_the_lane(
    tmp_path: Path, learned: Follower
) -> None:
    """It is written while the shards work: some would find it, and others would not."""
    lane, stacker = resolved([SPEC, parse_spec("svm-map:name=stacked")])
    made = Follower(Engine([stacker], helpers=[lane]))
    made.position = 150
    SnapshotFolder(tmp_path).write(made.snapshot(log="log", published=["stacked"]))
    assert [after(tmp_path, share) for share in shares(2)] == [None] * 2
    SnapshotFolder(tmp_path).write(whole_at(learned, 100))
    assert [after(tmp_path, share) for share in shares(2)] == [(100, 100)] * 2


def test_a_whole_lane_is_divided_and_made_whole(tmp_path: Path, learned: Follower) -> None:
    SnapshotFolder(tmp_path).write(whole_at(learned, 100))
    assert [after(tmp_path, share) for share in shares(3)] == [(100, 100)] * 3
    for share in shares(3):
        write(tmp_path, learned, share, 150, begun=100)
    assert after(tmp_path, ShardAssignment(LANE, 0, 1)) == (150, 150)
    assert [after(tmp_path, share) for share in shares(2)] == [(150, 150)] * 2
    snapshot = SnapshotFolder(shard_folder(tmp_path, shares(2)[1])).newest([])
    assert snapshot is not None
    assert snapshot.lanes == [LANE]
    assert snapshot.content["published"] == []


def test_shards_go_on_alone_if_all_are_as_new(tmp_path: Path, learned: Follower) -> None:
    SnapshotFolder(tmp_path).write(whole_at(learned, 100))
    for share, position in zip(shares(2), (160, 130), strict=True):
        write(tmp_path, learned, share, position, begun=100)
    assert [after(tmp_path, share) for share in shares(2)] == [(160, 100), (130, 100)]


def test_all_shards_decide_alike(tmp_path: Path, learned: Follower) -> None:
    """One shard has a snapshot as new as that of the whole lane, the other does not."""
    for share, position in zip(shares(2), (200, 100), strict=True):
        write(tmp_path, learned, share, position, begun=0)
    SnapshotFolder(tmp_path).write(whole_at(learned, 200))
    assert [after(tmp_path, share) for share in shares(2)] == [(200, 200)] * 2
    assert [after(tmp_path, share) for share in shares(2)] == [(200, 200)] * 2


def test_shards_that_have_no_common_place_give_nothing(
    tmp_path: Path, learned: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    for share, position in zip(shares(2), (200, 100), strict=True):
        write(tmp_path, learned, share, position, begun=0)
    with caplog.at_level(logging.WARNING):
        assert after(tmp_path, ShardAssignment(LANE, 0, 3)) is None
    assert "all former shards have a usable snapshot" in caplog.text


def test_snapshots_of_another_log_are_passed_over(tmp_path: Path, learned: Follower) -> None:
    SnapshotFolder(tmp_path).write(whole_at(learned, 100, log="another"))
    assert after(tmp_path, shares(2)[0]) is None


def test_snapshots_in_passing_push_nothing_out(tmp_path: Path, learned: Follower) -> None:
    folder = SnapshotFolder(tmp_path, keep=2)
    for position in (100, 200):
        folder.write(whole_at(learned, position))
    for position in (201, 202, 203):
        passing = whole_at(learned, position)
        passing.content["passing"] = True
        folder.write(passing)
    kept = [snapshot.position for _, snapshot in folder.descriptions([])]
    assert kept[-2:] == [200, 100]
    folder.write(whole_at(learned, 300))
    assert [snapshot.position for _, snapshot in folder.descriptions([])] == [300, 200]
