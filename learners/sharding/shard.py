"""A prototype learner split over shards, each with the prototypes of its own topics.

How far topics move depends on the scores of all of them. So the shards take a stretch of steps
together: each scores the rows of the stretch with its own prototypes as they stand at its
beginning, all exchange these scores, and then everyone takes the steps alone. An update at row i
by tau moves the scores of a later row j by `(x_i . x_j) tau`, so nobody needs the prototypes of
the others for that.

Such a score is the score of an undivided learner but for rounding, and rounding must decide
nothing. Everybody knows a bound on the difference; where two topics are closer than that, and
neither of them is exact nor have they the same past, the stretch ends before that step. It becomes
the first step of the next one, and scores of a first step are exact to the bit. All shards see
the same numbers, so they end the stretch at the same step without a word.

What follows is that tau is that of an undivided learner to the bit, hence the prototypes too, and
that every ranking has the same order.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import BrokenBarrierError
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.growing_array import Growing
from learners.learner import Learner, State
from learners.scores import DenseScores, RowScores
from learners.segment import Rows, Segment
from learners.sharding.exchange import DisagreementError, Exchange, Meeting
from learners.sharding.rounding_bounds import Words
from learners.sharding.shard_kernels import (
    ENOUGH,
    apply_updates,
    column_lengths,
    lengths_of,
    resolve,
    score_rows,
)
from learners.update_rule import UpdateRule

Number = TypeVar("Number", np.float64, np.uint64)

SHORTEST_STRETCH, FIRST_STRETCH, LONGEST_STRETCH = 16, 256, 1024  # steps
MOST_BYTES = 64 << 20  # of the scores of all shards in one exchange
# Bounds on lengths are sums, and grow with every update; now and then they are made anew.
MEASURE_EVERY = 256  # exchanges
DIGEST_BYTES = 16
# What every shard knows alike; the others are arrays of terms x its own topics.
SHARED = ("rounds", "exchanges", "stretch", "mass", "lag_mass", "history")


def owned(topics: int, shard: int, shards: int) -> int:
    """How many of the first `topics` topics a shard has: topic r belongs to shard r modulo N."""
    return (topics - shard + shards - 1) // shards


class Shard(Learner):
    """A shard of a prototype learner: takes all steps, keeps the prototypes of its own topics."""

    def __init__(self, whole: UpdateRule, exchange: Exchange) -> None:
        self.whole = whole  # the update rule of the learner that is divided
        self.exchange = exchange
        self.rounds = 0
        self.exchanges = 0  # so far; the next one has this number
        self.stretch = FIRST_STRETCH  # steps to try next
        self._weights = Growing(2)
        self._lagging = Growing(2)
        # Of all topics: bounds on the lengths of their prototypes, and what happened to them.
        self._mass = Growing(1)
        self._lag_mass = Growing(1)
        self._history: Words = np.zeros(0, np.uint64)
        self._work: Floats = np.zeros(0)
        self._vectors = b""  # a digest of the segment in work
        self._seconds = {"score": 0.0, "wait": 0.0, "resolve": 0.0, "update": 0.0}

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Take the steps stretch by stretch; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._grow(segment)
        rows = segment.rows
        lengths = lengths_of(rows.starts, rows.values)
        self._vectors = hashlib.blake2b(rows.terms.tobytes() + rows.values.tobytes()).digest()
        kinds = 2 if self.whole.average else 1
        most = max(1, MOST_BYTES // (8 * kinds * max(1, segment.topics)))
        done = 0
        while done < len(segment.steps):
            tried = min(self.stretch, most, len(segment.steps) - done)
            taken, effort = self._take(segment.between(done, done + tried), lengths, out)
            done += taken
            # Work grows as the square of the length. What was scored and not taken is scored
            # again; and uncertain steps come in swarms, mostly when all topics are young.
            longer = int(0.9 * taken * np.sqrt(ENOUGH / max(effort, 1)))
            longer = min(longer, 2 * max(taken, self.stretch if taken == tried else 0))
            self.stretch = max(SHORTEST_STRETCH, min(longer, LONGEST_STRETCH))

    def _grow(self, segment: Segment) -> None:
        mine = owned(segment.topics, self.exchange.shard, self.exchange.shards)
        self._weights.grow(segment.terms, mine)
        if self.whole.average:
            self._lagging.grow(segment.terms, mine)
        self._mass.grow(segment.topics)
        self._lag_mass.grow(segment.topics)
        self._history = lengthened(self._history, segment.topics)
        self._work = lengthened(self._work, segment.terms)

    def _take(self, stretch: Segment, lengths: Floats, out: Floats) -> tuple[int, int]:
        """Take as many of the steps as are certain, at least one; how many, and how much work."""
        rows, steps, whole = stretch.rows, stretch.steps, self.whole
        wanted = np.unique(steps.row).astype(np.int64)
        begun, begun_lag = self._begun(rows, wanted, stretch.topics)
        started = time.perf_counter()
        place = np.zeros(len(rows), np.int64)
        place[wanted] = np.arange(len(wanted))
        taken, effort, self.rounds, row, round_, ends, topics, tau = resolve(
            rows.starts, rows.terms, rows.values, lengths,
            steps.row, steps.learn, steps.known, steps.label_starts, steps.labels,
            place, begun, begun_lag,
            whole.kind, whole.loss, whole.margin, whole.average, self.rounds,
            self._mass.room, self._lag_mass.room, self._history, self._work, out,
        )  # fmt: skip
        resolved = time.perf_counter()
        apply_updates(
            rows.starts, rows.terms, rows.values, row, round_, ends, topics, tau,
            self.exchange.shard, self.exchange.shards, whole.average,
            self._weights.room, self._lagging.room,
        )  # fmt: skip
        self._seconds["resolve"] += resolved - started
        self._seconds["update"] += time.perf_counter() - resolved
        return taken, effort

    def _begun(self, rows: Rows, wanted: Longs, topics: int) -> tuple[Floats, Floats]:
        """The scores of these rows by the prototypes of all shards as they stand."""
        started = time.perf_counter()
        kinds = [self._weights, self._lagging] if self.whole.average else [self._weights]
        shards = self.exchange.shards
        count = owned(topics, self.exchange.shard, shards)
        mine = np.zeros((len(kinds), len(wanted), count))
        for number, kind in enumerate(kinds):
            score_rows(rows.starts, rows.terms, rows.values, wanted, kind.room, mine[number])
        measured = self.exchanges % MEASURE_EVERY == MEASURE_EVERY - 1
        lengths = [column_lengths(k.room, k.shape[0], count) for k in kinds] if measured else []
        digest = self._digest(wanted, topics)
        scored = time.perf_counter()
        given = self.exchange.swap(
            self.exchanges, b"".join((digest, mine.tobytes(), *(a.tobytes() for a in lengths)))
        )
        self._seconds["score"] += scored - started
        self._seconds["wait"] += time.perf_counter() - scored
        scores = np.zeros((2, len(wanted), topics))
        bounds = [self._mass, self._lag_mass][: len(kinds)]
        for shard, part in enumerate(given):
            self._check(shard, part, digest)
            shape = (len(kinds), len(wanted), owned(topics, shard, shards))
            found, rest = np.split(np.frombuffer(part, offset=DIGEST_BYTES), [math.prod(shape)])
            scores[: len(kinds), :, shard::shards] = found.reshape(shape)
            if measured:
                for bound, those in zip(bounds, np.split(rest, len(kinds)), strict=True):
                    bound.view[shard:topics:shards] = those
        self.exchanges += 1
        return scores[0], scores[1]

    def _digest(self, wanted: Longs, topics: int) -> bytes:
        """Of everything that all shards must have alike at this point."""
        digest = hashlib.blake2b(self._vectors, digest_size=DIGEST_BYTES)
        digest.update(np.array([self.rounds, self.exchanges, topics, len(wanted)]).tobytes())
        for array in (wanted, self._mass.view, self._history):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def _check(self, shard: int, part: bytes, digest: bytes) -> None:
        if part[:DIGEST_BYTES] != digest:
            mine, shards = self.exchange.shard, self.exchange.shards
            raise DisagreementError(
                f"shards {mine} and {shard} of {shards} do not compute the same, as exchange "
                f"{self.exchanges} shows, in round {self.rounds}: they need the same version, the "
                "same configuration, and machines of one kind (logarithms may differ in their "
                "last bit between processors)."
            )

    def forget(self, keep: Longs) -> None:
        """Drop the prototypes' rows of terms that left the vocabulary."""
        self._weights.keep(keep)
        self._lagging.keep(keep)

    def state(self) -> State:
        """The prototypes of its topics, and what all shards know alike."""
        state: State = {
            "rounds": np.array(self.rounds),
            "exchanges": np.array(self.exchanges),
            "stretch": np.array(self.stretch),
            "weights": self._weights.copy(),
            "mass": self._mass.copy(),
            "lag_mass": self._lag_mass.copy(),
            "history": self._history.view(np.int64).copy(),
        }
        if self.whole.average:
            state["lagging"] = self._lagging.copy()
        return state

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self.rounds, self.exchanges = int(state["rounds"]), int(state["exchanges"])
        self.stretch = int(state["stretch"])
        self._weights.load(state["weights"])
        if self.whole.average:
            self._lagging.load(state["lagging"])
        self._mass.load(state["mass"])
        self._lag_mass.load(state["lag_mass"])
        self._history = np.array(state["history"], np.int64).view(np.uint64)
        self._work = np.zeros(0)

    def timings(self) -> dict[str, float]:
        """Scoring with its prototypes, waiting for the others, taking the steps, and updating."""
        return dict(self._seconds)

    def weights_of(self, terms: Ints, topics: Longs) -> None:
        """Nothing: the prototypes of most topics are elsewhere."""

    def column(self, terms: Ints, column: int) -> Floats:
        """What it multiplies these terms by when it scores one of its own topics."""
        weights: Floats = self._weights.room[terms, column]
        if self.whole.average and self.rounds > 0:
            weights = (self.rounds * weights - self._lagging.room[terms, column]) / self.rounds
        return weights

    def size_bytes(self) -> int:
        """Memory of the prototypes of its topics, and of what it knows of the others."""
        mine = self._weights.nbytes + self._lagging.nbytes
        return mine + self._mass.nbytes + self._lag_mass.nbytes + self._history.nbytes


def lengthened(array: npt.NDArray[Number], length: int) -> npt.NDArray[Number]:
    """The array with zeros behind it up to this length; itself if it is as long."""
    more = length - len(array)
    return np.concatenate((array, np.zeros(more, array.dtype))) if more > 0 else array


class Shards(Learner):
    """All shards of a prototype learner in one process, a thread each."""

    def __init__(self, whole: UpdateRule, shards: int) -> None:
        meeting = Meeting(shards)
        self._shards = [Shard(whole, meeting.end(shard)) for shard in range(shards)]
        self._pool = ThreadPoolExecutor(shards, "shard")
        self._meeting = meeting

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Have every shard take the steps; their scores are all the same."""
        table = DenseScores.expect(scores, segment).matrix
        own = [table, *(table.copy() for _ in self._shards[1:])]
        tasks = [
            self._pool.submit(self._meeting.attend, shard.follow, segment, DenseScores(mine))
            for shard, mine in zip(self._shards, own, strict=True)
        ]
        errors = [error for task in tasks if (error := task.exception()) is not None]
        # What made one shard fail comes before what that did to the others.
        for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):
            raise error

    def forget(self, keep: Longs) -> None:
        """Drop the prototypes' rows of terms that left the vocabulary."""
        for shard in self._shards:
            shard.forget(keep)

    def state(self) -> State:
        """The state of the whole, which any number of shards can go on from."""
        return whole_state([shard.state() for shard in self._shards])

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from the state of a whole, divided before or not."""
        for number, shard in enumerate(self._shards):
            shard.restore(shard_state(state, number, len(self._shards)))

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The prototypes that it ranks with now."""
        found = np.empty((len(terms), len(topics)))
        for place, topic in enumerate(topics):
            shard, column = self._shards[topic % len(self._shards)], topic // len(self._shards)
            found[:, place] = shard.column(terms, column)
        return found

    def timings(self) -> dict[str, float]:
        """The mean of its shards."""
        each = [shard.timings() for shard in self._shards]
        return {part: sum(mine[part] for mine in each) / len(each) for part in each[0]}

    def size_bytes(self) -> int:
        """Memory of all shards."""
        return sum(shard.size_bytes() for shard in self._shards)


def whole_state(states: Sequence[State]) -> State:
    """The state of a learner from those of all its shards, in order."""
    whole: State = {name: states[0][name] for name in SHARED}
    for state in states[1:]:
        for name in SHARED:
            if not np.array_equal(state[name], whole[name]):
                raise DisagreementError(f"the snapshots of the shards do not agree on {name}")
    for name in states[0].keys() - whole.keys():
        joined = np.zeros((len(states[0][name]), len(states[0]["mass"])))
        for shard, state in enumerate(states):
            joined[:, shard :: len(states)] = state[name]
        whole[name] = joined
    return whole


def shard_state(whole: Mapping[str, npt.NDArray[np.generic]], shard: int, shards: int) -> State:
    """The state of one shard from that of a learner, which may never have been divided."""
    state = dict(whole)
    arrays = [name for name in ("weights", "lagging") if name in state]
    if "mass" not in state:
        state["exchanges"], state["stretch"] = np.array(0), np.array(FIRST_STRETCH)
        columns = [state[name].T for name in arrays]
        state["history"] = np.array(list(map(contents, *columns)), np.uint64).view(np.int64)
        topics = state["weights"].shape[1]
        for bound, name in (("mass", "weights"), ("lag_mass", "lagging")):
            lengths = np.zeros(topics)
            if name in state:
                whole_array = np.asarray(state[name], np.float64)
                lengths = column_lengths(whole_array, len(whole_array), topics)
            state[bound] = lengths
    for name in arrays:
        state[name] = np.ascontiguousarray(state[name][:, shard::shards])
    return state


def contents(*columns: npt.NDArray[np.generic]) -> int:
    """A number that differs for prototypes that differ; 0 if nothing was ever learned."""
    if not any(column.any() for column in columns):
        return 0
    data = b"".join(column.tobytes() for column in columns)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") | 1
