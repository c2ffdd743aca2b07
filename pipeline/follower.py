"""A follower of the log: an engine with some lanes of a stream, and its position in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.engine.engine import Engine
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.log.block import Block
from pipeline.log.coverage import Coverage
from pipeline.log.record import decode_record
from pipeline.snapshots.content import damage_of, describe, part, text, whole
from pipeline.snapshots.new_deciders import new_deciders
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import Snapshot, take_snapshot

log = logging.getLogger(__name__)


class Follower:
    """An engine, the offset of the next record of the log, and the source offsets covered."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.position = 0
        self.began = 0  # the position at which it knew nothing of the log: 0, if it has seen all
        self.coverage = Coverage()
        # Of the last records: when their first event was written to the source, in ms since 1970
        # (0: unknown), their entries that were new, and the offset of each document's record.
        self.arrived = 0
        self.blocks: list[Block] = []
        self.document_offsets: list[int] = []
        self.snapshot_content: dict[str, Any] = {}  # of the snapshot it was restored from

    @property
    def names(self) -> list[str]:
        """The names of the lanes, in order."""
        return [lane.name for lane in self.engine.lanes]

    @property
    def place(self) -> tuple[int, int]:
        """Position and beginning: followers for which both are equal share all but their lanes."""
        return self.position, self.began

    def begin_at(self, position: int, coverage: Coverage) -> None:
        """Begin at a position of the log whose earlier records are gone.

        `coverage` has the source offsets of those records. Otherwise a record that repeats some of
        them would count as new, and the record behind it as one behind a gap.
        """
        self.position = self.began = position
        self.coverage = coverage

    def follow(
        self, data: bytes, offset: int, name: str, to_explain: int = 0
    ) -> Iterator[RankedSegment]:
        """Rank and learn a record of the log. Events of earlier records are skipped."""
        yield from self.follow_together([(data, offset, name)], to_explain)

    def follow_together(
        self, records: Sequence[tuple[bytes, int, str]], to_explain: int = 0
    ) -> Iterator[RankedSegment]:
        """Rank and learn records that follow one another: their data, offsets and names."""
        self.arrived, self.blocks, self.document_offsets = 0, [], []
        for data, offset, name in records:
            record = decode_record(data, name)
            self.arrived = self.arrived or record.arrived
            block = self.coverage.admit(record, name)
            entries = [] if block is None else block.entries
            if skipped := len(record.offsets) - len(entries):
                # Usual after a tokenizer died; a record with false spans causes it, too.
                log.info(
                    "%s: skipped %s of %s events, because earlier records cover their offsets",
                    name, skipped, len(record.offsets),
                )  # fmt: skip
            if block is not None:
                self.blocks.append(block)
                self.document_offsets += [offset] * len(block.ready)
        if self.blocks:
            yield from self.engine.process_together(self.blocks, to_explain)
        self.position = records[-1][1] + 1

    def merge(self, other: Follower, order: Sequence[str]) -> None:
        """Take over the lanes of a follower at the same position; `order` names all lanes."""
        if self.place != other.place:
            raise ValueError(
                f"cannot merge a follower that began at offset {self.began} and is at "
                f"{self.position} with one that began at {other.began} and is at {other.position}"
            )
        self.engine.merge(other.engine, order)

    def snapshot(self, **extra: Any) -> Snapshot:  # noqa: ANN401 - any JSON value
        """Take a snapshot; `extra` values are stored in its content."""
        snapshot = take_snapshot(self.engine, self.position)
        began = {"began": self.began} if self.began else {}
        snapshot.content.update(coverage=self.coverage.state(), **began, **extra)
        return snapshot

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state of a snapshot that has these lanes, and perhaps others."""
        restore_engine(self.engine, snapshot)
        for warning in new_deciders(self.engine):
            log.warning("%s", warning)
        with damage_of(snapshot.name), part("coverage"):
            self.coverage = Coverage.from_state(checked_coverage(snapshot.content["coverage"]))
        described = describe(snapshot.content, snapshot.name)
        self.position, self.began = described.position, described.began
        self.snapshot_content = snapshot.content


def checked_coverage(entries: list[list[Any]]) -> list[list[Any]]:
    """Return the covered offsets of a snapshot: Kafka topic, its identity, partition, offset."""
    return [
        [text(topic), text(identity), whole(partition), whole(offset)]
        for topic, identity, partition, offset in entries
    ]
