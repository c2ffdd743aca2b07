"""Where lanes resume: each from the newest snapshot that suits it, never from another lane's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from consumers.kafka.log_reader import LogDescription, LogError
from consumers.learner.recovery import Recovery
from learners.specs import helpers_of, parse_spec, resolved
from pipeline.engine.engine import Engine
from pipeline.follower import Follower
from pipeline.log.coverage import Coverage
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import MismatchError

A, B = "mmp:loss=1", "perceptron"


def follower(lanes: Sequence[str]) -> Follower:
    return Follower(Engine([parse_spec(lane) for lane in lanes]))


def kept(folder: Path, position: int, lanes: Sequence[str], published: Sequence[str]) -> Path:
    made = follower(lanes)
    made.position = position
    return SnapshotFolder(folder, 9).write(made.snapshot(log="id", published=list(published)))


def recovered(
    folder: Path,
    published: dict[str, int],
    lanes: Sequence[str] = (A, B),
    first: int = 0,
    without_offset: Sequence[str] = (),
    begin: Callable[[Follower], None] | None = None,
) -> tuple[dict[str, int], dict[str, int]]:
    """The offset where each lane resumes, and the offset from which it publishes."""
    recovery = Recovery(
        SnapshotFolder(folder, 9), LogDescription("blocks", "id", first, 100), published, follower,
        without_offset, begin=begin,
    )  # fmt: skip
    made = recovery.followers(list(lanes))
    return {name: f.position for f in made for name in f.names}, recovery.published


def test_a_snapshot_proves_nothing_of_lanes_that_are_not_in_it(tmp_path: Path) -> None:
    """A lane that catches up has published less than the foremost lane."""
    kept(tmp_path, 19, [A], [A, B])
    kept(tmp_path, 8, [B], [B])
    assert recovered(tmp_path, {A: 19, B: 8}) == ({A: 19, B: 8}, {A: 19, B: 8})


def test_an_offset_that_is_gone_is_known_from_the_snapshot(tmp_path: Path) -> None:
    kept(tmp_path, 19, [A, B], [A])
    assert recovered(tmp_path, {A: 0}, without_offset=[A]) == ({A: 19, B: 19}, {A: 19})


def test_an_offset_that_is_there_is_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Rankings and offsets are committed together, so no snapshot knows better."""
    kept(tmp_path, 19, [A, B], [A])
    kept(tmp_path, 10, [A, B], [A])
    assert recovered(tmp_path, {A: 12}) == ({A: 10, B: 19}, {A: 12})
    assert "the committed offset is 12, but a snapshot shows" in caplog.text


def test_nothing_follows_from_a_snapshot_that_turns_out_to_be_damaged(tmp_path: Path) -> None:
    """Its file has a correct checksum, but it cannot be restored."""
    snapshot = follower([A]).snapshot(log="id", published=[A])
    snapshot.content["position"] = 30
    snapshot.arrays["vocabulary/df"] = np.zeros(5, np.int64)
    SnapshotFolder(tmp_path, 9).write(snapshot)
    kept(tmp_path, 20, [A], [A])
    assert recovered(tmp_path, {A: 0}, [A], without_offset=[A]) == ({A: 20}, {A: 20})


def test_an_offset_behind_the_end_of_the_log_is_said(tmp_path: Path) -> None:
    """The lane would publish nothing of the next records."""
    with pytest.raises(LogError, match=r"published up to offset 101 of blocks, which ends at 100"):
        recovered(tmp_path, {A: 101})


def test_a_published_lane_takes_up_at_or_before_its_offset(tmp_path: Path) -> None:
    kept(tmp_path, 30, [A, B], [A])  # B was only watched there
    kept(tmp_path, 12, [A, B], [A, B])
    assert recovered(tmp_path, {A: 30, B: 15}) == ({A: 30, B: 12}, {A: 30, B: 15})
    assert recovered(tmp_path, {A: 30}) == ({A: 30, B: 30}, {A: 30})


def test_a_damaged_snapshot_is_passed_over_by_its_lanes(tmp_path: Path) -> None:
    path = kept(tmp_path, 30, [A], [A])
    kept(tmp_path, 20, [A, B], [A, B])
    path.write_bytes(path.read_bytes()[:-1])
    assert recovered(tmp_path, {A: 30, B: 25}) == ({A: 20, B: 20}, {A: 30, B: 25})


def test_no_lane_takes_up_from_the_copy_of_a_stacker(tmp_path: Path) -> None:
    """Only the stacker itself resumes there, with its copies."""
    stacked = "svm-map:name=stacked"
    every = resolved([parse_spec(lane) for lane in (A, B, stacked)])
    made = Follower(Engine(every[2:], helpers=every[:2]))
    made.position = 30
    SnapshotFolder(tmp_path).write(made.snapshot(log="id", published=["stacked"]))
    kept(tmp_path, 20, [A, B], [A])

    def new_follower(lanes: Sequence[str]) -> Follower:
        specs = [lane for lane in every if lane.name in lanes]
        return Follower(Engine(specs, helpers=helpers_of(specs, every)))

    facts, published = LogDescription("blocks", "id", 0, 100), {A: 40, "stacked": 30}
    recovery = Recovery(SnapshotFolder(tmp_path), facts, published, new_follower)
    places = [(f.names, f.position) for f in recovery.followers([A, B, "stacked"])]
    assert places == [(["stacked"], 30), ([A, B], 20)]


def test_snapshots_of_other_workers_are_not_looked_at(tmp_path: Path) -> None:
    """Another worker that shares the folder may follow a log that grows meanwhile."""
    kept(tmp_path, 101, [A], [A])  # behind the end of the log, when this worker asked for it
    assert recovered(tmp_path, {B: 0}, [B]) == ({B: 0}, {B: 0})


def test_what_is_gone_is_said(tmp_path: Path) -> None:
    kept(tmp_path, 20, [A], [A])
    with pytest.raises(LogError, match="no usable snapshot of perceptron"):
        recovered(tmp_path, {A: 20, B: 0}, first=5)
    assert recovered(tmp_path, {A: 20}, [A], first=5) == ({A: 20}, {A: 20})


def test_a_lane_that_had_a_position_does_not_begin_as_a_new_one(tmp_path: Path) -> None:
    """Its rankings up to the committed offset would come again, from another model."""
    kept(tmp_path, 20, [A], [A])
    begun: list[list[str]] = []

    def begin(made: Follower) -> None:
        begun.append(made.names)
        made.begin_at(7, Coverage())

    with pytest.raises(LogError, match="no usable snapshot of perceptron"):
        recovered(tmp_path, {A: 20, B: 12}, first=5, begin=begin)
    assert begun == []
    found = recovered(tmp_path, {A: 20, B: 0}, first=5, without_offset=[B], begin=begin)
    assert found == ({A: 20, B: 7}, {A: 20, B: 0})
    assert begun == [[B]]


def test_a_beginning_that_was_trimmed_too_is_no_position(tmp_path: Path) -> None:
    """A lane was killed before it had learned anything, and the log begins later now."""
    made = follower([B])
    made.begin_at(5, Coverage())
    SnapshotFolder(tmp_path, 9).write(made.snapshot(log="id", published=[B]))

    def begin(new: Follower) -> None:
        new.begin_at(8, Coverage())

    assert recovered(tmp_path, {B: 0}, [B], 5, [B], begin) == ({B: 5}, {B: 5})
    assert recovered(tmp_path, {B: 0}, [B], 8, [B], begin) == ({B: 8}, {B: 0})
    assert recovered(tmp_path, {B: 7}, [B], 8, [], begin) == ({B: 5}, {B: 7})  # reading refuses


def test_a_watched_lane_is_published_from_its_oldest_snapshot_of_a_trimmed_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for position in (4, 12, 20):
        kept(tmp_path, position, [A, B], [A])
    found = recovered(tmp_path, {A: 20, B: 0}, first=5, without_offset=[B])
    assert found == ({A: 20, B: 12}, {A: 20, B: 12})
    assert "perceptron: published from offset 12 of the log on" in caplog.text
    assert recovered(tmp_path, {A: 20, B: 0}, without_offset=[B]) == ({A: 20, B: 0}, {A: 20, B: 0})


def test_followers_that_began_at_other_offsets_are_not_merged() -> None:
    """They have other terms and topics."""
    early, late = follower([A]), follower([B])
    late.begin_at(5, Coverage())
    early.position = 5
    with pytest.raises(ValueError, match="began at offset 0 and is at 5 with one that began at 5"):
        early.merge(late, [A, B])


def test_a_snapshot_of_another_log_stops_a_lane_that_has_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = kept(tmp_path, 101, [A], [A])
    with pytest.raises(LogError, match="of another log than blocks"):
        recovered(tmp_path, {A: 20})
    kept(tmp_path, 20, [A], [A])
    assert recovered(tmp_path, {A: 20}, [A]) == ({A: 20}, {A: 20})
    assert f"skipped a snapshot: {other} was taken at offset 101 of another log" in caplog.text


def test_a_snapshot_of_another_profile_is_refused(tmp_path: Path) -> None:
    """Its terms are not those that the tokenizers count now."""
    snapshot = follower([A]).snapshot(log="id", published=[], profile="news:stem=german")
    SnapshotFolder(tmp_path).write(snapshot)
    kept(tmp_path, 0, [B], [])  # of an older release: it does not say its profile
    facts = LogDescription("blocks", "id", 0, 100)

    def recovery(profile: str) -> Recovery:
        return Recovery(SnapshotFolder(tmp_path, 9), facts, {}, follower, profile=profile)

    assert [f.names for f in recovery("news:stem=german").followers([A])] == [[A]]
    assert [f.names for f in recovery("news").followers([B])] == [[B]]
    with pytest.raises(MismatchError, match="with profile = news:stem=german, but the"):
        recovery("news").followers([A])
