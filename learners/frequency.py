"""The baseline that ignores the text: topics by how many documents carried them so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Longs
from learners.checks import MAX_COUNT, check_between, check_extent, floats
from learners.growing_array import GrowingArray
from learners.jit import njit
from learners.learner import State, TopicAxis
from learners.scores import DenseScores, RowScores
from learners.segment import Segment, Steps, labels_of
from learners.topic_learner import TopicLearner
from learners.weight_rows import WeightRows, no_weights


@njit
def follow_frequency(steps: Steps, counts: Floats, out: Floats) -> None:
    """Take the steps in order: rank by the counts, then count."""
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    for step in range(len(step_row)):
        known = step_known[step]
        if step_learn[step]:
            for r in labels_of(label_starts, labels, step):
                counts[r] += 1.0
        else:
            out[step_row[step], :known] = counts[:known]


class Frequency(TopicLearner):
    """Topics by their frequency so far: what a learner must beat to have learned anything.

    The score of a topic is the number of labelled documents that carried it; the words of a
    document are not used.

    Examples
    --------
    >>> from learners import Frequency
    >>> model = Frequency().declare_topics(["grain", "ship"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.rank_one({"port": 1.0})
    [('grain', 1.0), ('ship', 0.0)]

    """

    has_sparse_model = True
    independent_topics = True
    unshardable = ""
    summary = "baseline: topics by how many documents carried them so far"

    def __init__(self) -> None:
        self._counts = GrowingArray(1)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and count the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._counts.grow(segment.topics)
        follow_frequency(segment.steps, self._counts.room, out)

    @property
    def topic_axes(self) -> dict[str, TopicAxis]:
        """The counts."""
        return {"counts": TopicAxis(0)}

    def forget(self, keep: Longs) -> None:
        """Nothing here depends on terms."""

    def state(self) -> State:
        """The counts."""
        return {"counts": self._counts.copy()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        counts = floats(state, "counts", None)
        check_between("counts", counts, 0.0, MAX_COUNT)
        self._counts.load(counts)

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """There are no more counts than topics."""
        check_extent("counts", self._counts.shape[0], topics, "topics")

    def ranking_weights(self, terms: Longs) -> WeightRows:
        """No weights: terms are not used."""
        return no_weights(len(terms))

    def biases(self, columns: int) -> Floats:
        """The counts."""
        biases = np.zeros(columns)
        counts = self._counts.view[:columns]
        biases[: len(counts)] = counts
        return biases

    def size_bytes(self) -> int:
        """Memory of the counts."""
        return self._counts.nbytes

    def max_bytes(self, terms: int, topics: int) -> int:
        """One count per topic."""
        return 8 * topics
