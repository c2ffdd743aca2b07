"""A committee of perceptrons: several of each topic, which differ by their random starts.

The strong baseline of Madani, Connor and Greiner (2010, section 5). All members see the same
documents and learn by the same rule; what tells them apart is that a weight starts from a random
number in (-1, 1) when the perceptron that it belongs to first moves along its term.
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
from learners.prototypes.perceptron import perceptron_coefficients
from learners.scores import DenseScores, RowScores
from learners.segment import Segment
from learners.splitmix import mix

SPARE_BITS = np.uint64(12)
STEP = 2.0**-52


@njit
def random_start(seed: int, number: int) -> float:
    """The start that is drawn as the so-many-th: an odd number of steps, so that it is never 0."""
    bits = mix(mix(np.uint64(seed)) + np.uint64(number))
    return (2 * np.int64(bits >> SPARE_BITS) + 1) * STEP - 1.0


@njit
def mean_scores(current: Floats, known: int, size: int, scores: Floats) -> None:
    """Write the mean score of each topic's members to `scores`."""
    for r in range(known):
        total = 0.0
        for member in range(r * size, (r + 1) * size):
            total += current[member]
        scores[r] = total / size


@njit
def move(
    terms: Ints, values: Floats, tau: Floats, perceptrons: int, seed: int, drawn: int,
    weights: Floats,
) -> int:  # fmt: skip
    """Add `x tau^T`, to starts where there was nothing; return how many starts were ever drawn."""
    moving = np.flatnonzero(tau[:perceptrons])
    for i in range(len(terms)):
        value, weight = values[i], weights[terms[i]]
        if value == 0.0:
            continue  # not a term of the document, so no prototype takes it up
        for p in moving:
            if weight[p] == 0.0:
                weight[p] = random_start(seed, drawn)
                drawn += 1
            weight[p] += value * tau[p]
    return drawn


@njit
def follow_committee(
    starts: Longs, all_terms: Ints, all_values: Floats, step_row: Ints, step_learn: Bools,
    step_known: Ints, label_starts: Longs, labels: Ints,
    size: int, seed: int, drawn: int, weights: Floats, out: Floats,
) -> int:  # fmt: skip
    """Take the steps in order; return how many starts were ever drawn."""
    current = np.zeros(weights.shape[1])
    tau = np.zeros(weights.shape[1])
    scored = -1  # the row that `current` belongs to, if nothing was learned since
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        terms = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        # Topics that the document itself brought along have no weights yet, and score 0.
        if scored != row or not step_learn[step]:
            score_row(terms, values, weights, known * size, current)
            scored = row
        if not step_learn[step]:
            mean_scores(current, known, size, out[row])
            continue
        relevant = labels[label_starts[step] : label_starts[step + 1]]
        members = np.empty(len(relevant) * size, np.int32)
        for i in range(len(members)):
            members[i] = relevant[i // size] * size + i % size
        if perceptron_coefficients(current, known * size, members, 0.0, tau):
            drawn = move(terms, values, tau, known * size, seed, drawn, weights)
        scored = -1
    return drawn


class Committee(Learner):
    """Several perceptrons a topic with random starts; a topic's score is the mean of theirs.

    Each perceptron learns by itself, as the single ones of `perceptron` do: it moves when it is
    wrong, whatever the committee says. A weight of exactly 0 is one that has not started: it takes
    the next random number when its perceptron moves along its term. These are counted over the
    whole stream, so they depend on the seed and on the order of the stream alone.
    """

    norm = "l2"
    summary = "several perceptrons a topic, with random starts (Madani, Connor & Greiner 2010)"
    options = (
        Option("size", 10, "how many perceptrons a topic has", least=1, most=100),
        Option("seed", 0, "another seed is another row of random starts", least=0),
    )

    def __init__(self, size: int = 10, seed: int = 0) -> None:
        self.size = size
        self.seed = seed
        self.drawn = 0
        # Terms x perceptrons, those of one topic side by side, so that topics join at the end.
        self._weights = Growing(2)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._weights.grow(segment.terms, segment.topics * self.size)
        rows, steps = segment.rows, segment.steps
        self.drawn = follow_committee(
            rows.starts, rows.terms, rows.values,
            steps.row, steps.learn, steps.known, steps.label_starts, steps.labels,
            self.size, self.seed, self.drawn, self._weights.room, out,
        )  # fmt: skip

    def forget(self, keep: Longs) -> None:
        """Drop the weights of terms that left the vocabulary; one that comes back starts anew."""
        self._weights.keep(keep)

    def state(self) -> State:
        """The weights, and how many random starts were drawn."""
        return {"drawn": np.array(self.drawn), "weights": self._weights.copy()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self.drawn = int(state["drawn"])
        self._weights.load(state["weights"])

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The mean weights of the members: one prototype a topic that scores as they all do."""
        members = topics[:, None] * self.size + np.arange(self.size)
        weights: Floats = self._weights.room[np.asarray(terms)[:, None, None], members]
        mean: Floats = weights.mean(axis=2)
        return mean

    def size_bytes(self) -> int:
        """Memory of the weights."""
        return self._weights.nbytes
