"""One shard of a prototype learner: it keeps the prototypes of every N-th topic.

How far topics move depends on the scores of all topics. So the shards take the steps of a segment
in stretches:

1. Each shard scores the rows of the stretch with its own prototypes as they are at its beginning.
2. All shards exchange these scores.
3. Every shard takes all steps alone. An update at row i by tau changes the scores of a later row j
   by `(x_i . x_j) tau`, which needs no prototypes of other shards.

Such a score equals the score of an undivided learner except for rounding, and rounding must not
change a decision. Every shard knows a bound of the difference. Where two topics are closer than the
bound allows, the stretch ends before that step (unless both scores are exact, or both topics have
the same history). The step becomes the first of the next stretch, whose scores are exact to the
bit. All shards see the same numbers, so all end the stretch at the same step without asking.

It follows that tau, and so the prototypes, equal those of an undivided learner to the bit, and that
every ranking has the same order.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import check_extent
from learners.growing_array import GrowingArray
from learners.learner import Learner, State
from learners.scores import DenseScores, RowScores
from learners.segment import Rows, Segment
from learners.sharding.exchange import DisagreementError, Exchange
from learners.sharding.rounding_bounds import Words
from learners.sharding.shard_kernels import (
    ENOUGH,
    InitialScores,
    TopicRecords,
    apply_updates,
    column_lengths,
    resolve,
    row_lengths,
    score_rows,
)
from learners.sharding.shard_state import (
    FIRST_STRETCH,
    LONGEST_STRETCH,
    SHORTEST_STRETCH,
    check_shard,
    owned,
)
from learners.update_rule import UpdateRule

Number = TypeVar("Number", np.float64, np.uint64)

MAX_BYTES = 64 << 20  # of the scores of all shards in one exchange
# The bounds of lengths are sums that grow with every update, so they are measured now and then.
MEASURE_EVERY = 256  # exchanges
DIGEST_BYTES = 16


class Shard(Learner):
    """One shard of a prototype learner: takes all steps, keeps the prototypes of its own topics."""

    nonlinear = "it is one shard of a lane: the prototypes of most topics are in other shards."

    def __init__(self, rule: UpdateRule, exchange: Exchange) -> None:
        self.rule = rule  # of the learner that is divided
        self.exchange = exchange
        self.rounds = 0
        self.exchanges = 0  # so far, which is the number of the next one
        self.stretch = FIRST_STRETCH  # steps to try next
        self._weights = GrowingArray(2)
        self._lagging = GrowingArray(2)
        # For all topics: see `TopicRecords`.
        self._mass = GrowingArray(1)
        self._lag_mass = GrowingArray(1)
        self._history: Words = np.zeros(0, np.uint64)
        self._work: Floats = np.zeros(0)
        self._vectors = b""  # digest of the current segment
        self._seconds = {"score": 0.0, "wait": 0.0, "resolve": 0.0, "update": 0.0}

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Take the steps stretch by stretch; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._grow(segment)
        rows = segment.rows
        lengths = row_lengths(rows)
        self._vectors = hashlib.blake2b(rows.terms.tobytes() + rows.values.tobytes()).digest()
        arrays = 2 if self.rule.average else 1
        most = max(1, MAX_BYTES // (8 * arrays * max(1, segment.topics)))
        done = 0
        while done < len(segment.steps):
            tried = min(self.stretch, most, len(segment.steps) - done)
            taken, effort = self._take(segment.between(done, done + tried), lengths, out)
            done += taken
            # The effort grows with the square of the length. Steps that were scored but not taken
            # are scored again. Uncertain steps come in groups, mostly while all topics are new.
            longer = int(0.9 * taken * np.sqrt(ENOUGH / max(effort, 1)))
            longer = min(longer, 2 * max(taken, self.stretch if taken == tried else 0))
            self.stretch = max(SHORTEST_STRETCH, min(longer, LONGEST_STRETCH))

    def _grow(self, segment: Segment) -> None:
        columns = owned(segment.topics, self.exchange.shard, self.exchange.shards)
        self._weights.grow(segment.terms, columns)
        if self.rule.average:
            self._lagging.grow(segment.terms, columns)
        self._mass.grow(segment.topics)
        self._lag_mass.grow(segment.topics)
        self._history = lengthened(self._history, segment.topics)
        self._work = lengthened(self._work, segment.terms)

    def _take(self, stretch: Segment, lengths: Floats, out: Floats) -> tuple[int, int]:
        """Take the steps that are certain, at least one; return how many, and the effort."""
        rows, steps = stretch.rows, stretch.steps
        wanted = np.unique(steps.row).astype(np.int64)
        initial = self._initial_scores(rows, wanted, stretch.topics)
        started = time.perf_counter()
        records = TopicRecords(self._mass.room, self._lag_mass.room, self._history)
        resolved = resolve(
            rows, lengths, steps, initial, self.rule, self.rounds, records, self._work, out
        )
        self.rounds = resolved.rounds
        resolved_at = time.perf_counter()
        apply_updates(
            rows, resolved.updates, self.exchange.shard, self.exchange.shards, self.rule.average,
            self._weights.room, self._lagging.room,
        )  # fmt: skip
        self._seconds["resolve"] += resolved_at - started
        self._seconds["update"] += time.perf_counter() - resolved_at
        return resolved.steps, resolved.effort

    def _initial_scores(self, rows: Rows, wanted: Longs, topics: int) -> InitialScores:
        """Exchange scores; return those of the wanted rows by the prototypes of all shards."""
        started = time.perf_counter()
        arrays = [self._weights, self._lagging] if self.rule.average else [self._weights]
        shards = self.exchange.shards
        columns = owned(topics, self.exchange.shard, shards)
        own_scores = np.zeros((len(arrays), len(wanted), columns))
        for array, table in zip(arrays, own_scores, strict=True):
            score_rows(rows, wanted, array.room, table)
        measured = self.exchanges % MEASURE_EVERY == MEASURE_EVERY - 1
        lengths = [column_lengths(a.room, a.shape[0], columns) for a in arrays] if measured else []
        digest = self._digest(wanted, topics)
        scored = time.perf_counter()
        part = b"".join((digest, own_scores.tobytes(), *(a.tobytes() for a in lengths)))
        parts = self.exchange.swap(self.exchanges, part)
        self._seconds["score"] += scored - started
        self._seconds["wait"] += time.perf_counter() - scored
        scores = np.zeros((2, len(wanted), topics))
        bounds = [self._mass, self._lag_mass][: len(arrays)]
        for shard, part in enumerate(parts):
            self._check(shard, part, digest)
            shape = (len(arrays), len(wanted), owned(topics, shard, shards))
            lengths_of = len(arrays) * shape[-1] if measured else 0
            numbers = self._numbers(shard, part, math.prod(shape) + lengths_of)
            part_scores, part_lengths = np.split(numbers, [math.prod(shape)])
            scores[: len(arrays), :, shard::shards] = part_scores.reshape(shape)
            if measured:
                for bound, length in zip(bounds, np.split(part_lengths, len(arrays)), strict=True):
                    bound.view[shard:topics:shards] = length
        self.exchanges += 1
        place = np.zeros(len(rows), np.int64)
        place[wanted] = np.arange(len(wanted))
        return InitialScores(place, scores[0], scores[1])

    def _digest(self, wanted: Longs, topics: int) -> bytes:
        """Return a digest of everything that must be equal in all shards at this point."""
        digest = hashlib.blake2b(self._vectors, digest_size=DIGEST_BYTES)
        digest.update(np.array([self.rounds, self.exchanges, topics, len(wanted)]).tobytes())
        for array in (wanted, self._mass.view, self._history):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def _check(self, shard: int, part: bytes, digest: bytes) -> None:
        """Raise DisagreementError if another shard's digest differs."""
        if part[:DIGEST_BYTES] != digest:
            this, shards = self.exchange.shard, self.exchange.shards
            raise DisagreementError(
                f"shards {this} and {shard} of {shards} do not compute the same, as exchange "
                f"{self.exchanges} shows, in round {self.rounds}. All shards need the same "
                "version, the same configuration, and machines of one kind (logarithms may differ "
                "in their last bit between processors)."
            )

    def _numbers(self, shard: int, part: bytes, count: int) -> Floats:
        """Return the numbers of a part; raise DisagreementError if they cannot be what was asked.

        A shard believes the scores of others without computing them again.
        """
        size = len(part) - DIGEST_BYTES
        numbers = np.frombuffer(part, offset=DIGEST_BYTES) if size == 8 * count else np.empty(0)
        if size != 8 * count or not np.isfinite(numbers).all():
            found = f"{size} bytes" if size != 8 * count else "numbers that are not finite"
            raise DisagreementError(
                f"shard {shard} of {self.exchange.shards} sent {found} in exchange "
                f"{self.exchanges}, expected {count} finite numbers of 8 bytes. Start all shards "
                "over: empty their snapshot folders, and delete the scores topic."
            )
        return numbers

    def forget(self, keep: Longs) -> None:
        """Drop the prototypes' rows of terms that left the vocabulary."""
        self._weights.keep(keep)
        self._lagging.keep(keep)

    def state(self) -> State:
        """Return the prototypes of its own topics, and what all shards know."""
        state: State = {
            "rounds": np.array(self.rounds),
            "exchanges": np.array(self.exchanges),
            "stretch": np.array(self.stretch),
            "weights": self._weights.copy(),
            "mass": self._mass.copy(),
            "lag_mass": self._lag_mass.copy(),
            "history": self._history.view(np.int64).copy(),
        }
        if self.rule.average:
            state["lagging"] = self._lagging.copy()
        return state

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a state that `state` returned."""
        check_shard(state, self.exchange.shard, self.exchange.shards, self.rule.average)
        self.rounds, self.exchanges = int(state["rounds"]), int(state["exchanges"])
        self.stretch = int(state["stretch"])
        self._weights.load(state["weights"])
        if self.rule.average:
            self._lagging.load(state["lagging"])
        self._mass.load(state["mass"])
        self._lag_mass.load(state["lag_mass"])
        self._history = np.array(state["history"], np.int64).view(np.uint64)
        self._work = np.zeros(0)

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The prototypes have no more terms and topics than the stream."""
        check_extent("weights", self._weights.shape[0], terms, "terms")
        check_extent("mass", self._mass.shape[0], topics, "topics")

    def timings(self) -> dict[str, float]:
        """Return the seconds spent on scoring, waiting, taking the steps, and updating."""
        return dict(self._seconds)

    def weights_of(self, terms: Ints, topics: Longs) -> None:
        """Return None: the prototypes of most topics belong to other shards."""

    def column(self, terms: Ints, column: int) -> Floats:
        """Return the weights of these terms for one of its own topics, as rankings use them."""
        weights: Floats = self._weights.room[terms, column]
        if self.rule.average and self.rounds > 0:
            weights = (self.rounds * weights - self._lagging.room[terms, column]) / self.rounds
        return weights

    def size_bytes(self) -> int:
        """Return the memory of its own prototypes, and of what it knows about all topics."""
        prototypes = self._weights.nbytes + self._lagging.nbytes
        return prototypes + self._mass.nbytes + self._lag_mass.nbytes + self._history.nbytes

    def max_bytes(self, terms: int, topics: int) -> int:
        """The prototypes of its own topics, and three numbers for each of all topics."""
        columns = owned(topics, self.exchange.shard, self.exchange.shards)
        return (2 if self.rule.average else 1) * 8 * terms * columns + 3 * 8 * topics


def lengthened(array: npt.NDArray[Number], length: int) -> npt.NDArray[Number]:
    """Return the array, filled up with zeros to at least this length."""
    more = length - len(array)
    return np.concatenate((array, np.zeros(more, array.dtype))) if more > 0 else array
