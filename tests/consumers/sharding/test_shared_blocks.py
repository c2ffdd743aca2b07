"""Shards take the same records as one block, whatever each of them has read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client import CollectorRegistry

from consumers.kafka.client_types import Message
from consumers.learner.snapshot_schedule import SnapshotSchedule
from consumers.sharding.score_records import MAX_BACKLOG
from consumers.sharding.shared_blocks import MAX_BLOCK_BYTES, SharedBlocks
from pipeline.metrics.collectors import LearnerMetrics
from pipeline.planning.cluster import JOINED_BYTES, JOINED_RECORDS
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.storage.container import DamagedError

PERIOD = 1000


@dataclass
class LogMessage:
    """A record of the log."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    damage: str


class SlowReader:
    """A reader of a log that sees a few more records at each look."""

    def __init__(self, log: Sequence[Message], seed: int, position: int = 0) -> None:
        self._log, self._rng = log, random.Random(seed)
        self.position = self.seen = position

    def fetch(self, max_records: int, timeout_ms: int) -> Sequence[Message]:
        self.seen = min(len(self._log), self.seen + self._rng.choice((0, 0, 1, 2, 30)))
        return self._log[self.position : min(self.seen, self.position + max_records)]

    def take(self, count: int) -> list[Message]:
        taken = list(self._log[self.position : self.position + count])
        self.position += count
        return taken


def schedule(tmp_path: Path) -> SnapshotSchedule:
    metrics = LearnerMetrics(CollectorRegistry(), "stream")
    return SnapshotSchedule(SnapshotFolder(tmp_path), PERIOD / 1000, True, metrics)


def log_of(seed: int) -> list[Message]:
    """Records of all sizes, at times that mostly grow."""
    rng = random.Random(seed)
    times = accumulate(rng.choice((0, 10, 50, 400, 900, -30)) for _ in range(400))
    sizes = (*[100] * 20, 0, 10_000, MAX_BLOCK_BYTES // 2, 2 * MAX_BLOCK_BYTES)
    return [
        LogMessage("blocks", 0, n, time, None, bytes(rng.choice(sizes)), (), "")
        for n, time in enumerate(times)
    ]


class TakenBlock(NamedTuple):
    """The offsets of a block, and whether a snapshot was due before it."""

    offsets: list[int]
    was_due: bool


def next_block(blocks: SharedBlocks, times: SnapshotSchedule) -> TakenBlock:
    while not (messages := blocks.take(0, times.is_due_between)):
        pass
    was_due = times.is_due_before(messages[0].timestamp)
    return TakenBlock([message.offset for message in messages], was_due)


@pytest.mark.parametrize("seed", range(5))
def test_shards_take_the_same_blocks(seed: int, tmp_path: Path) -> None:
    """What each shard has read differs. One of them is killed in every block, and starts again.

    It starts from a snapshot that was taken before the block: by the clock, or because it was due.
    """
    log, rng = log_of(seed), random.Random(seed)
    readers = [SlowReader(log, shard) for shard in range(3)]
    shards, times = (
        [SharedBlocks(reader) for reader in readers],
        [schedule(tmp_path) for _ in "012"],
    )
    taken: list[TakenBlock] = []
    while readers[0].position < len(log):
        killed, position, period = rng.randrange(3), readers[0].position, times[0].period
        blocks = [next_block(*one) for one in zip(shards, times, strict=True)]
        assert blocks[1:] == blocks[:-1]
        taken.append(blocks[0])
        for kept, is_due in ((period, blocks[0].was_due), (times[0].period, False)):
            readers[killed] = SlowReader(log, rng.randrange(99), position)
            shards[killed] = SharedBlocks(readers[killed], shards[killed].size)
            times[killed] = schedule(tmp_path)
            times[killed].resume(kept)
            assert next_block(shards[killed], times[killed]) == (blocks[0].offsets, is_due)
        backlog = shards[0].backlog() if rng.random() < 0.9 else 0  # 0: there was no exchange
        for shard in shards:
            shard.took(backlog)
    assert [offset for block in taken for offset in block.offsets] == list(range(len(log)))
    assert any(len(block.offsets) > 10 for block in taken)
    reached = -1
    for offsets, was_due in taken:
        assert (
            len(offsets) == 1 or sum(len(log[n].value or b"") for n in offsets) <= MAX_BLOCK_BYTES
        )
        periods = [log[n].timestamp // PERIOD for n in offsets]
        assert was_due == (offsets[0] > 0 and periods[0] > reached)
        reached = max(reached, periods[0])
        assert max(periods) <= reached


@pytest.mark.parametrize("size", [0, MAX_BACKLOG + 1])
def test_a_size_that_cannot_be_is_refused(size: int) -> None:
    with pytest.raises(DamagedError, match="it must be of 1 to 64"):
        SharedBlocks(SlowReader([], 0), size)


def test_plans_count_with_the_same_limits() -> None:
    assert (JOINED_RECORDS, JOINED_BYTES) == (MAX_BACKLOG, MAX_BLOCK_BYTES)
