"""A follower of the log: some lanes of a stream, and how far they have come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.engine.engine import Engine
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.log.block import Block
from pipeline.log.coverage import Coverage
from pipeline.log.record import decode_record
from pipeline.snapshots.snapshot import Snapshot, restore_engine, take_snapshot


class Follower:
    """An engine, the next offset of the log that it reads, and what of the sources it has seen."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.position = 0
        self.coverage = Coverage()
        self.arrived = 0  # when the first event of the last record was written; 0 if unknown
        self.block: Block | None = None  # what of the last record was new, if anything was
        self.snapshot_content: dict[str, Any] = {}  # what the snapshot says that it went on from

    @property
    def names(self) -> list[str]:
        """Its lanes, in order."""
        return [lane.name for lane in self.engine.lanes]

    def follow(
        self, data: bytes, offset: int, name: str, to_explain: int = 0
    ) -> Iterator[RankedSegment]:
        """Rank and learn a record of the log; what an earlier record covered is left out."""
        record = decode_record(data, name)
        self.arrived = record.arrived
        self.block = self.coverage.admit(record, name)
        if self.block is not None:
            yield from self.engine.process(self.block, to_explain)
        self.position = offset + 1

    def merge(self, other: Follower, order: Sequence[str]) -> None:
        """Take over the lanes of a follower that has come as far."""
        if self.position != other.position:
            raise ValueError(f"one follower is at {self.position}, the other at {other.position}")
        self.engine.merge(other.engine, order)

    def snapshot(self, **extra: Any) -> Snapshot:  # noqa: ANN401 - whatever JSON can say
        """The state as it is now, and what else is to be remembered with it."""
        snapshot = take_snapshot(self.engine, self.position)
        snapshot.content.update(coverage=self.coverage.state(), **extra)
        return snapshot

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot that has these lanes, and perhaps others."""
        restore_engine(self.engine, snapshot)
        self.coverage = Coverage.from_state(snapshot.content["coverage"])
        self.position = snapshot.position
        self.snapshot_content = snapshot.content
