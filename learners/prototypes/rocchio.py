"""Rocchio's prototypes: the mean of a topic's documents, less a share of the mean of the others.

The batch learner of Ittner et al. that the 2002 paper compares with. On a stream the sums run
along, and the prototypes are made anew from them every `refresh` rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.growing_array import Growing
from learners.jit import njit
from learners.learner import Learner, State
from learners.options import Option
from learners.prototypes.base import score_row
from learners.scores import DenseScores, RowScores
from learners.segment import Segment

BETA = 16.0
GAMMA = 4.0


@njit
def make_prototypes(
    sums: Floats, total: Floats, carriers: Floats, rounds: int, weights: Floats
) -> None:
    """Fill `weights` (terms x topics) with unit-norm prototypes of the sums so far.

    A topic that no document carries keeps a zero prototype; where every document carries it there
    are no others, and nothing is subtracted.
    """
    terms, topics = weights.shape
    squares = np.zeros(topics)
    for f in range(terms):
        for r in range(topics):
            weight = 0.0
            if carriers[r] > 0.0:
                weight = BETA * (sums[f, r] / carriers[r])
                if carriers[r] < rounds:
                    weight -= GAMMA * ((total[f] - sums[f, r]) / (rounds - carriers[r]))
            weights[f, r] = max(0.0, weight)
            squares[r] += weights[f, r] * weights[f, r]
    norms = np.sqrt(squares)
    for f in range(terms):
        for r in range(topics):
            if norms[r] > 0.0:
                weights[f, r] /= norms[r]


@njit
def follow_rocchio(
    starts: Longs,
    all_terms: Ints,
    all_values: Floats,
    step_row: Ints,
    step_learn: Bools,
    step_known: Ints,
    label_starts: Longs,
    labels: Ints,
    refresh: int,
    rounds: int,
    terms: int,
    sums: Floats,
    total: Floats,
    carriers: Floats,
    weights: Floats,
    out: Floats,
) -> int:
    """Take the steps in order; return the number of rounds learned so far."""
    for step in range(len(step_row)):
        row, known = step_row[step], step_known[step]
        mine = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        if not step_learn[step]:
            score_row(mine, values, weights, known, out[row])
            continue
        relevant = labels[label_starts[step] : label_starts[step + 1]]
        for r in relevant:
            carriers[r] += 1.0
        for i in range(len(mine)):
            total[mine[i]] += values[i]
            for r in relevant:
                sums[mine[i], r] += values[i]
        rounds += 1
        if refresh > 0 and rounds % refresh == 0:
            make_prototypes(sums[:terms, :known], total, carriers, rounds, weights[:terms, :known])
    return rounds


class Rocchio(Learner):
    """Rocchio on a stream: running sums, prototypes made anew every `refresh` rounds.

    With `refresh=0` the prototypes are made only by `make`, which is the batch learner.
    """

    summary = "Rocchio's prototypes, made anew every so many rounds (batch learner on a stream)"
    options = (Option("refresh", 1000, "rounds between two makings of the prototypes", least=1),)

    def __init__(self, refresh: int = 1000) -> None:
        self.refresh = refresh
        self.rounds = 0
        self._sums = Growing(2)
        self._weights = Growing(2)
        self._total = Growing(1)
        self._carriers = Growing(1)

    @property
    def weights(self) -> Floats:
        """The prototypes as last made, terms x topics."""
        return self._weights.view

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._sums.grow(segment.terms, segment.topics)
        self._weights.grow(segment.terms, segment.topics)
        self._total.grow(segment.terms)
        self._carriers.grow(segment.topics)
        rows, steps = segment.rows, segment.steps
        self.rounds = follow_rocchio(
            rows.starts, rows.terms, rows.values,
            steps.row, steps.learn, steps.known, steps.label_starts, steps.labels,
            self.refresh, self.rounds, self._sums.shape[0],
            self._sums.room, self._total.room, self._carriers.room, self._weights.room, out,
        )  # fmt: skip

    def make(self) -> None:
        """Make the prototypes from the sums as they stand now."""
        total, carriers = self._total.view, self._carriers.view
        make_prototypes(self._sums.view, total, carriers, self.rounds, self._weights.view)

    def forget(self, keep: Longs) -> None:
        """Drop the rows of terms that left the vocabulary."""
        for array in (self._sums, self._weights, self._total):
            array.keep(keep)

    def state(self) -> State:
        """The sums, the prototypes as last made, and the round."""
        return {
            "rounds": np.array(self.rounds),
            "sums": self._sums.copy(),
            "weights": self._weights.copy(),
            "total": self._total.copy(),
            "carriers": self._carriers.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self.rounds = int(state["rounds"])
        self._sums.load(state["sums"])
        self._weights.load(state["weights"])
        self._total.load(state["total"])
        self._carriers.load(state["carriers"])

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The prototypes as last made."""
        weights: Floats = self._weights.room[np.ix_(terms, topics)]
        return weights

    def size_bytes(self) -> int:
        """Memory of the sums and prototypes."""
        arrays = (self._sums, self._weights, self._total, self._carriers)
        return sum(array.nbytes for array in arrays)


def select_terms(prototypes: Floats, share: float = 0.025, at_least: int = 100) -> Longs:
    """The terms that Rocchio holds to matter for some topic (Crammer & Singer 2002, sec. 4.4).

    For each topic the terms of positive weight are sorted by weight, heaviest first (ties: the
    earlier term first), and the best max(`at_least`, `share` of that list) are kept. Returns the
    union over topics, ascending.
    """
    chosen = np.zeros(len(prototypes), dtype=np.bool_)
    for weights in prototypes.T:
        order = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights > 0)]
        chosen[order[: max(at_least, int(share * len(order)))]] = True
    return np.flatnonzero(chosen)
