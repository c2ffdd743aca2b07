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
from learners.segment import Segment
from learners.sharding.content_checksum import CHECKSUM_BYTES, content_checksum
from learners.sharding.exchange import DisagreementError, Exchange
from learners.sharding.rankings_exchange import (
    Before,
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
    pack_before,
    pack_found,
    unpack_before,
    unpack_found,
)
from learners.sharding.shard_part import ShardPart
from learners.sharding.shard_scores import ShardScores
from learners.sharding.topic_slice import TopicSlice, owned

T = TypeVar("T")


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
        self.part.learn(segment, table.own)
        if len(segment.steps):
            self._rank(segment, table)

    def _rank(self, segment: Segment, scores: ShardScores) -> None:
        steps, started, waited = segment.steps, time.perf_counter(), self._seconds["wait"]
        checksum = content_checksum(segment, self.part.exchanges)
        ranked = ranked_steps(steps, self._own.shards)
        payload = pack_found(find(scores.own, ranked, self.top, self._own))
        found = self._swap(payload, checksum, unpack_found, ranked, adopt=True)
        order, values = best_of_shards(found, ranked)
        width = min(order.shape[1], scores.order.shape[1])
        scores.order[ranked.rows, :width] = order[:, :width]
        scores.values[ranked.rows, :width] = values[:, :width]
        relevant = label_scores(found, ranked)
        places = no_places(steps)
        if len(relevant):
            before = Before(*np.zeros((2, len(relevant)), np.int32))
            count_before(steps, scores.own, relevant, self._own, before)
            counted = self._swap(pack_before(before), checksum, unpack_before, ranked)
            place_labels(steps, relevant, total(counted), places)
        scores.set_places(places)
        taken = time.perf_counter() - started
        self._seconds["rank"] += taken - (self._seconds["wait"] - waited)

    def _swap(
        self, payload: bytes, checksum: bytes,
        unpack: Callable[[memoryview, RankedSteps, TopicSlice], T], ranked: RankedSteps, *,
        adopt: bool = False,
    ) -> list[T]:  # fmt: skip
        """Exchange payloads with all shards; return what each of them sent, after checks."""
        self.part.sent_bytes += len(checksum) + len(payload)
        started = time.perf_counter()
        parts = self.exchange.swap(self.part.exchanges, checksum + payload, adopt=adopt)
        self._seconds["wait"] += time.perf_counter() - started
        received = []
        for shard, part in enumerate(parts):
            self._check(shard, part, checksum)
            try:
                own = TopicSlice(shard, self._own.shards)
                received.append(unpack(memoryview(part)[CHECKSUM_BYTES:], ranked, own))
            except ValueError as error:
                raise DisagreementError(
                    f"shard {shard} of {self._own.shards} sent {error}, in exchange "
                    f"{self.part.exchanges}. Start all shards over: empty their snapshot folders, "
                    "and delete the scores topic."
                ) from None
        self.part.exchanges += 1
        return received

    def _check(self, shard: int, part: bytes, checksum: bytes) -> None:
        """Raise DisagreementError if another shard's checksum differs."""
        if part[:CHECKSUM_BYTES] != checksum:
            raise DisagreementError(
                f"shards {self._own.shard} and {shard} of {self._own.shards} do not compute the "
                f"same, as exchange {self.part.exchanges} shows. All shards need the same version, "
                "the same configuration, and machines of one kind (logarithms may differ in their "
                "last bit between processors)."
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
