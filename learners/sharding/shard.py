"""One shard of a lane: it keeps the model of every N-th topic, and ranks with the other shards.

A shard takes all steps of a segment with its own topics: alone, if what a topic learns does not
depend on other topics (`IndependentPart`), or together with the other shards (`MMPShard`). In both
cases its scores equal those of an undivided learner to the bit. Then all shards find the rankings
and the places of the labels together (`rankings_exchange`). So rankings, measures and models are
those of an undivided learner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from learners.arrays import Ints, Longs
from learners.learner import Learner, State
from learners.scores import RowScores, no_places
from learners.segment import Segment, Steps
from learners.sharding.content_checksum import CHECKSUM_BYTES, content_checksum
from learners.sharding.exchange import (
    TOGETHER,
    DisagreementError,
    Exchange,
    NoLongerTogetherError,
    OutvotedError,
)
from learners.sharding.gathering import MAX_EXCHANGES, MAX_STEPS, Gathering
from learners.sharding.joint_record import Joint, pack_joint, unpack_joint
from learners.sharding.meeting_place import MAX_FOUND_BYTES, MAX_LABELS
from learners.sharding.rankings_exchange import (
    Before,
    Found,
    RankedSteps,
    best_of_shards,
    count_before,
    find,
    label_scores,
    place_labels,
    ranked_steps,
    total,
)
from learners.sharding.rankings_payload import (
    WIDTH_BYTES,
    pack_before,
    pack_found,
    unpack_before,
    unpack_found,
)
from learners.sharding.shard_part import ShardPart
from learners.sharding.shard_scores import ShardScores
from learners.sharding.topic_slice import TopicSlice, owned

T = TypeVar("T")
# Exchanges payload 0 or 1 of the exchange of rankings; returns those of all shards.
Swap = Callable[[bytes, int], list[memoryview]]


class Shard(Learner):
    """One shard of a lane: takes all steps, keeps the model of its own topics.

    `top` is the number of topics that rankings need; 0 stands for all topics.
    """

    nonlinear = "it is one shard of a lane: the weights of most topics are in other shards."
    scores_class = ShardScores

    def __init__(self, part: ShardPart, exchange: Exchange, top: int) -> None:
        self.part = part
        self.exchange = exchange
        self.top = top
        self._own = TopicSlice(exchange.shard, exchange.shards)
        self._seconds = {"rank": 0.0, "wait": 0.0}
        self._read = 0  # the number of the exchange whose payloads are read

    def new_scores(self, rows: int, topics: int) -> RowScores:
        """Room for the scores of its own topics, and for rankings."""
        top = min(self.top, topics) if self.top else topics
        return ShardScores(rows, topics, self._own, top)

    def stored_scores(self, known: Longs) -> Longs:
        """A document that waits for its label has the scores of the shard's own topics."""
        counts: Longs = (known - self._own.shard + self._own.shards - 1) // self._own.shards
        return counts

    def scored_topics(self, topics: int) -> int:
        """A shard has no more scores at a time than the first shard, which has most topics."""
        return owned(topics, 0, self._own.shards)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Take the steps with its own topics, then find the rankings; see `Learner.follow`."""
        table = ShardScores.expect(scores, segment)
        self.part.threads = self.threads
        self.part.begin(segment, table.own)
        if len(segment.steps):
            checksum = content_checksum(segment, self.part.exchanges)
            while not self._try(segment, table, checksum):
                pass  # another shard was first to say how the segment is taken

    def _try(self, segment: Segment, table: ShardScores, checksum: bytes) -> bool:
        """Take the segment as the first payload says, or else together if that is possible."""
        number = self.part.exchanges
        sent = self.exchange.sent(number)
        try:
            if sent is not None and sent.mark == TOGETHER:
                self._recall(segment, table, checksum, sent.payload)
                return True
            if sent is None and self._take_together(segment, table, checksum):
                return True
            self.part.take_apart(segment, table.own)
            self._rank(segment, table, self._swap_apart(segment))
        except OutvotedError:
            return False
        return True

    def _take_together(self, segment: Segment, table: ShardScores, checksum: bytes) -> bool:
        """Take the segment in memory that all shards share; return False if they do not."""
        place, number = self.exchange.place, self.part.exchanges
        if place is None or not self._fits(segment.steps) or not place.everyone_is_here():
            return False
        gathering = Gathering(self.exchange, number, len(segment.steps), place.arrays)
        credentials = checksum + self.top.to_bytes(8, "little")
        if not gathering.begin(credentials, place.everyone_is_here):
            return False
        try:
            minutes = self.part.take_together(segment, table.own, gathering)
            joint = self._rank(segment, table, self._swap_together(gathering))
            gathering.end()
            self._record(checksum + minutes + pack_joint(joint))
        except OutvotedError:
            if self.part.learns_alone:
                raise
            raise NoLongerTogetherError(
                f"exchange {number}, which this shard has begun in shared memory, is decided "
                "without it: another shard is on another machine now, or has the record of it"
            ) from None
        self._seconds["wait"] += gathering.waited
        return True

    def _fits(self, steps: Steps) -> bool:
        """Whether the memory is large enough for these steps; all shards find the same."""
        labels, rankings = steps.label_count(), int((~steps.learn).sum())
        width = owned(int(steps.known.max()), 0, self._own.shards)
        width = min(width, self.top) if self.top else width
        return (
            len(steps) <= MAX_STEPS
            and self.part.exchanges < MAX_EXCHANGES
            and labels <= MAX_LABELS
            and WIDTH_BYTES + 12 * rankings * width + 8 * labels <= MAX_FOUND_BYTES
        )

    def _recall(self, segment: Segment, table: ShardScores, checksum: bytes, record: bytes) -> None:
        """Take a segment that the shards have taken together, by their record of it."""
        self._read = self.part.exchanges
        self._check(checksum, record, "another")
        end = CHECKSUM_BYTES + self.part.minutes_bytes(segment)
        view = memoryview(record)
        try:
            self.part.recall(segment, table.own, view[CHECKSUM_BYTES:end])
            joint = unpack_joint(view[end:], segment.steps)
        except ValueError as error:
            raise self._impossible("another shard", error) from None
        rows = ranked_steps(segment.steps, 1).rows
        self._write(segment.steps, rows, joint, table)
        self._record(record)

    def _record(self, record: bytes) -> None:
        """Exchange the record of a segment, which must be the same of all shards."""
        self.part.sent_bytes += len(record)
        started = time.perf_counter()
        records = self.exchange.swap(self.part.exchanges, record, mark=TOGETHER)
        self._seconds["wait"] += time.perf_counter() - started
        for shard, other in enumerate(records):
            if other != record:
                raise self._disagreement(f"shard {shard}")
        self.part.exchanges += 1

    def _rank(self, segment: Segment, table: ShardScores, swap: Swap) -> Joint:
        """Find the rankings and the places of the labels, with the other shards."""
        started, waited = time.perf_counter(), self._seconds["wait"]
        steps = segment.steps
        ranked = ranked_steps(steps, self._own.shards)
        payload = pack_found(find(table.own, ranked, self.top, self._own))
        found = [
            self._unpack(shard, part, unpack_found, ranked)
            for shard, part in enumerate(swap(payload, 0))
        ]
        relevant = label_scores(found, ranked)
        before = Before(*np.zeros((2, len(relevant)), np.int32))
        if len(relevant):
            count_before(steps, table.own, relevant, self._own, before)
            counted = [
                self._unpack(shard, part, unpack_before, ranked)
                for shard, part in enumerate(swap(pack_before(before), 1))
            ]
            before = total(counted)
        joint = Joint(Found(*best_of_shards(found, ranked), relevant), before)
        self._write(steps, ranked.rows, joint, table)
        taken = time.perf_counter() - started
        self._seconds["rank"] += taken - (self._seconds["wait"] - waited)
        return joint

    def _write(self, steps: Steps, rows: slice | Ints, joint: Joint, table: ShardScores) -> None:
        """Write rankings and places of labels into the table of scores."""
        order, values, relevant = joint.found
        width = min(order.shape[1], table.order.shape[1])
        table.order[rows, :width] = order[:, :width]
        table.values[rows, :width] = values[:, :width]
        places = no_places(steps)
        if len(relevant) and not place_labels(steps, relevant, joint.before, places):
            wrong = ValueError("counts of more topics than are irrelevant, or of fewer than none")
            raise self._impossible("another shard", wrong)
        table.set_places(places)

    def _swap_apart(self, segment: Segment) -> Swap:
        """Exchange a payload of a segment with all shards."""
        checksum = content_checksum(segment, self.part.exchanges)

        def swap(payload: bytes, index: int) -> list[memoryview]:
            self.part.sent_bytes += len(checksum) + len(payload)
            started = time.perf_counter()
            # The first payload depends on `top`, which may have been changed.
            self._read, adopt = self.part.exchanges, index == 0
            parts = self.exchange.swap(self._read, checksum + payload, adopt=adopt)
            self._seconds["wait"] += time.perf_counter() - started
            for shard, part in enumerate(parts):
                self._check(checksum, part, f"shard {shard}")
            self.part.exchanges += 1
            return [memoryview(part)[CHECKSUM_BYTES:] for part in parts]

        return swap

    def _swap_together(self, gathering: Gathering) -> Swap:
        """Exchange a payload of a segment in the memory that all shards share."""

        def swap(payload: bytes, index: int) -> list[memoryview]:
            self._read = self.part.exchanges
            return [memoryview(part) for part in gathering.swap(payload, index)]

        return swap

    def _unpack(
        self, shard: int, part: memoryview,
        unpack: Callable[[memoryview, RankedSteps, TopicSlice], T], ranked: RankedSteps,
    ) -> T:  # fmt: skip
        """Return what a shard sent, after checks."""
        try:
            return unpack(part, ranked, TopicSlice(shard, self._own.shards))
        except ValueError as error:
            raise self._impossible(f"shard {shard} of {self._own.shards}", error) from None

    def _impossible(self, sender: str, error: ValueError) -> DisagreementError:
        return DisagreementError(
            f"{sender} sent {error}, in exchange {self._read}. Start all shards over: "
            "empty their snapshot folders, and delete the scores topic."
        )

    def _check(self, checksum: bytes, part: bytes, sender: str) -> None:
        """Raise DisagreementError if another shard's checksum differs."""
        if part[:CHECKSUM_BYTES] != checksum:
            raise self._disagreement(sender)

    def _disagreement(self, sender: str) -> DisagreementError:
        return DisagreementError(
            f"shard {self._own.shard} of {self._own.shards} and {sender} do not compute the same, "
            f"as exchange {self.part.exchanges} shows. All shards need the same version, the same "
            "configuration, and machines of one kind (logarithms may differ in their last bit "
            "between processors)."
        )

    def forget(self, keep: Longs) -> None:
        """Drop the terms that left the vocabulary."""
        self.part.forget(keep)

    def state(self) -> State:
        """Return the model of its own topics, and what all shards know."""
        return self.part.state()

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a state that `state` returned."""
        self.part.restore(state)

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The model has no more terms and topics than the stream."""
        self.part.check_references(terms, topics)

    def weights_of(self, terms: Ints, topics: Longs) -> None:
        """Return None: the weights of most topics belong to other shards."""

    def timings(self) -> dict[str, float]:
        """Return the seconds spent on learning, on rankings, and on waiting for other shards."""
        timings = self.part.timings()
        for name, seconds in self._seconds.items():
            timings[name] = timings.get(name, 0.0) + seconds
        return timings

    def size_bytes(self) -> int:
        """Return the memory of its own model."""
        return self.part.size_bytes()

    def max_bytes(self, terms: int, topics: int) -> int:
        """The most that `size_bytes` can be."""
        return self.part.max_bytes(terms, topics)
