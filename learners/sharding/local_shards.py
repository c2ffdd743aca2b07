"""All shards of a lane in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import BrokenBarrierError

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.barrier import meet, new_barrier
from learners.learner import Learner, State
from learners.scores import DenseScores, RowScores
from learners.segment import Segment
from learners.sharding.exchange import ThreadExchange
from learners.sharding.parts import divided_state, joined_state, new_part
from learners.sharding.shard_part import ShardPart
from learners.sharding.topic_slice import owned


def learn_apart(part: ShardPart, segment: Segment, own: Floats) -> None:
    """Let a shard take the steps with its own topics, and exchange what it needs for that."""
    part.begin(segment, own)
    part.take_apart(segment, own)


class Shards(Learner):
    """All shards of a learner in one process, one thread per shard.

    Examples
    --------
    >>> from learners.specs import parse_spec
    >>> type(parse_spec("mmp:loss=1,shards=2").build()).__name__
    'Shards'

    """

    def __init__(self, new_learner: Callable[[], Learner], shards: int) -> None:
        self._exchange = ThreadExchange(shards)
        self._whole = new_learner()  # which never learns
        members = map(self._exchange.member, range(shards))
        self._parts = [new_part(new_learner(), member) for member in members]
        self._pool = ThreadPoolExecutor(shards, "shard")

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Let every shard take the steps with its own topics."""
        table = DenseScores.expect(scores, segment).matrix
        shards = len(self._parts)
        own = [np.zeros((len(table), owned(segment.topics, n, shards))) for n in range(shards)]
        tasks = [
            self._pool.submit(self._exchange.run, learn_apart, part, segment, of_part)
            for part, of_part in zip(self._parts, own, strict=True)
        ]
        errors = [error for task in tasks if (error := task.exception()) is not None]
        # A shard that fails breaks the barrier of the others: raise the cause, not the consequence.
        for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):
            raise error
        rows = segment.steps.row[~segment.steps.learn]
        for number, of_part in enumerate(own):
            table[rows, number : segment.topics : shards] = of_part[rows]

    def forget(self, keep: Longs) -> None:
        """Drop the terms that left the vocabulary."""
        for part in self._parts:
            part.forget(keep)

    def state(self) -> State:
        """Return the state of the whole learner; any number of shards can continue from it."""
        return joined_state(self._whole, [part.state() for part in self._parts])

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from the state of a whole learner."""
        for number, part in enumerate(self._parts):
            part.restore(divided_state(self._whole, state, number, len(self._parts)))

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The models have no more terms and topics than the stream."""
        for part in self._parts:
            part.check_references(terms, topics)

    def weights_of(self, terms: Ints, topics: Longs) -> Floats | None:
        """Return the weights that rankings are made with now."""
        weights = np.empty((len(terms), len(topics)))
        for place, topic in enumerate(topics):
            part, column = self._parts[topic % len(self._parts)], topic // len(self._parts)
            own = part.column(terms, column)
            if own is None:
                return None
            weights[:, place] = own
        return weights

    def warm_up(self) -> None:
        """Compile what shards need that meet in shared memory."""
        self._whole.warm_up()
        meet(new_barrier(1), 0, 1, 1)

    def timings(self) -> dict[str, float]:
        """Return the mean of the shards' timings."""
        timings = [part.timings() for part in self._parts]
        return {part: sum(one[part] for one in timings) / len(timings) for part in timings[0]}

    def size_bytes(self) -> int:
        """Return the memory of all shards."""
        return sum(part.size_bytes() for part in self._parts)

    def max_bytes(self, terms: int, topics: int) -> int:
        """Those of all shards."""
        return sum(part.max_bytes(terms, topics) for part in self._parts)
