"""The baseline that does not read: topics by how many documents carried them so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.growing_array import Growing
from learners.jit import njit
from learners.learner import Learner, State
from learners.scores import DenseScores, RowScores
from learners.segment import Segment


@njit
def follow_frequency(
    step_row: Ints,
    step_learn: Bools,
    step_known: Ints,
    label_starts: Longs,
    labels: Ints,
    counts: Floats,
    out: Floats,
) -> None:
    """Take the steps in order: rank by the counts, then count."""
    for step in range(len(step_row)):
        known = step_known[step]
        if step_learn[step]:
            for r in labels[label_starts[step] : label_starts[step + 1]]:
                counts[r] += 1.0
        else:
            out[step_row[step], :known] = counts[:known]


class Frequency(Learner):
    """Topics by their frequency so far: what a learner must beat to have learned anything."""

    has_sparse_model = True
    summary = "baseline: topics by how many documents carried them so far"

    def __init__(self) -> None:
        self._counts = Growing(1)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and count the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._counts.grow(segment.topics)
        steps = segment.steps
        follow_frequency(
            steps.row, steps.learn, steps.known, steps.label_starts, steps.labels,
            self._counts.room, out,
        )  # fmt: skip

    def forget(self, keep: Longs) -> None:
        """Nothing here depends on terms."""

    def state(self) -> State:
        """The counts."""
        return {"counts": self._counts.copy()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self._counts.load(state["counts"])

    def size_bytes(self) -> int:
        """Memory of the counts."""
        return self._counts.nbytes
