"""All shards of a lane in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import BrokenBarrierError

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.learner import Learner, State
from learners.scores import DenseScores, RowScores
from learners.segment import Segment
from learners.sharding.exchange import ThreadExchange
from learners.sharding.shard import Shard
from learners.sharding.shard_state import shard_state, whole_state
from learners.update_rule import UpdateRule


class Shards(Learner):
    """All shards of a prototype learner in one process, one thread per shard.

    Examples
    --------
    >>> from learners.specs import parse_spec
    >>> type(parse_spec("mmp:loss=1,shards=2").build()).__name__
    'Shards'

    """

    def __init__(self, rule: UpdateRule, shards: int) -> None:
        self._exchange = ThreadExchange(shards)
        self._shards = [Shard(rule, self._exchange.member(shard)) for shard in range(shards)]
        self._pool = ThreadPoolExecutor(shards, "shard")

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Let every shard take the steps. All compute the same scores, so one copy is kept."""
        table = DenseScores.expect(scores, segment).matrix
        tables = [table, *(table.copy() for _ in self._shards[1:])]
        tasks = [
            self._pool.submit(self._exchange.run, shard.follow, segment, DenseScores(own))
            for shard, own in zip(self._shards, tables, strict=True)
        ]
        errors = [error for task in tasks if (error := task.exception()) is not None]
        # A shard that fails breaks the barrier of the others: raise the cause, not the consequence.
        for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):
            raise error

    def forget(self, keep: Longs) -> None:
        """Drop the prototypes' rows of terms that left the vocabulary."""
        for shard in self._shards:
            shard.forget(keep)

    def state(self) -> State:
        """Return the state of the whole learner; any number of shards can continue from it."""
        return whole_state([shard.state() for shard in self._shards])

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from the state of a whole learner, with or without shards."""
        for number, shard in enumerate(self._shards):
            shard.restore(shard_state(state, number, len(self._shards)))

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The prototypes have no more terms and topics than the stream."""
        for shard in self._shards:
            shard.check_references(terms, topics)

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """Return the weights that rankings are made with now."""
        weights = np.empty((len(terms), len(topics)))
        for place, topic in enumerate(topics):
            shard, column = self._shards[topic % len(self._shards)], topic // len(self._shards)
            weights[:, place] = shard.column(terms, column)
        return weights

    def timings(self) -> dict[str, float]:
        """Return the mean of the shards' timings."""
        timings = [shard.timings() for shard in self._shards]
        return {part: sum(one[part] for one in timings) / len(timings) for part in timings[0]}

    def size_bytes(self) -> int:
        """Return the memory of all shards."""
        return sum(shard.size_bytes() for shard in self._shards)

    def max_bytes(self, terms: int, topics: int) -> int:
        """Those of all shards."""
        return sum(shard.max_bytes(terms, topics) for shard in self._shards)
