"""When a learner's snapshot is due, and what is logged about it; no broker is needed."""

from __future__ import annotations

import logging
import re
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

from consumers.learner.snapshot_schedule import SnapshotSchedule
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.follower import Follower
from pipeline.metrics.collectors import LearnerMetrics
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot

LANE = "mmp:loss=1"


def schedule(folder: Path, sharded: bool = False, every_seconds: float = 60.0) -> SnapshotSchedule:
    metrics = LearnerMetrics(CollectorRegistry(), "wire")
    return SnapshotSchedule(SnapshotFolder(folder), every_seconds, sharded, metrics)


def snapshot(position: int) -> Snapshot:
    follower = Follower(Engine([parse_spec(LANE)]))
    follower.position = position
    return follower.snapshot(log="id", published=[LANE])


def pass_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.monotonic() + seconds
    monkeypatch.setattr(
        "consumers.learner.snapshot_schedule.time",
        SimpleNamespace(monotonic=lambda: now, perf_counter=time.perf_counter, time=time.time),
    )


def test_due_when_the_time_has_passed_and_a_lane_has_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = schedule(tmp_path)
    assert not whole.is_due({LANE: 5}, records_arrived=True)
    pass_time(monkeypatch, 61)
    assert whole.is_due({LANE: 5}, records_arrived=True)
    assert whole.can_begin()
    whole.write([snapshot(5)], {LANE: 5})
    whole.finish()
    pass_time(monkeypatch, 122)
    assert not whole.is_due({LANE: 5}, records_arrived=False)
    assert whole.is_due({LANE: 6}, records_arrived=False)
    assert not whole.is_due_before(10**12)  # the times of the log are for shards


def test_a_shard_goes_by_the_times_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = schedule(tmp_path, sharded=True, every_seconds=10)
    times = [3_000, 9_999, 10_000, 9_000, 10_001, 35_000]
    assert [shard.is_due_before(at) for at in times] == [False, False, True, False, False, True]
    pass_time(monkeypatch, 11)
    assert not shard.is_due({LANE: 5}, records_arrived=True)
    assert shard.is_due({LANE: 5}, records_arrived=False)


def test_a_shard_that_restarts_takes_snapshots_where_the_others_do(tmp_path: Path) -> None:
    """Also if times went backwards, as those of two tokenizers whose clocks do not agree."""
    times = [3_000, 95_000, 11_000, 21_000, 31_000, 96_000, 101_000, 102_000]
    steady = schedule(tmp_path, sharded=True, every_seconds=10)
    due = [steady.is_due_before(at) for at in times]
    assert due == [False, True, False, False, False, False, True, False]
    for restart in range(1, len(times)):
        before = schedule(tmp_path, sharded=True, every_seconds=10)
        for at in times[:restart]:
            before.is_due_before(at)
        after = schedule(tmp_path, sharded=True, every_seconds=10)
        after.resume(before.period)
        assert [after.is_due_before(at) for at in times[restart:]] == due[restart:]


def test_a_written_snapshot_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    whole = schedule(tmp_path)
    whole.write([snapshot(1234)], {LANE: 1234})
    whole.finish()
    (size,) = [f"{path.stat().st_size:,}" for path in tmp_path.iterdir()]
    wanted = rf"snapshot written: offset 1234, {size} bytes, \d+\.\d\d s, lanes {LANE}"
    assert [text for text in caplog.messages if re.fullmatch(wanted, text)]


def test_whole_lanes_postpone_a_snapshot_and_shards_wait_for_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = SnapshotFolder.write

    def write_slowly(self: SnapshotFolder, snapshot: Snapshot) -> Path:
        time.sleep(0.5)
        return write(self, snapshot)

    monkeypatch.setattr(SnapshotFolder, "write", write_slowly)
    for sharded in (False, True):
        this = schedule(tmp_path / str(sharded), sharded)
        this.write([snapshot(7)], {LANE: 7})
        assert this.can_begin() is sharded
        this.finish()
        assert this.can_begin()
    assert sum("the next one is postponed" in text for text in caplog.messages) == 1
