"""Rows and steps go into kernels as they are, and still count rows and steps."""

from __future__ import annotations

import copy

import numpy as np

from learners.arrays import Floats
from learners.jit import njit
from learners.segment import Rows, Steps, labels_of, row_of
from tests.support.random_streams import random_stream


@njit
def sums_of_learned_rows(rows: Rows, steps: Steps, sums: Floats) -> None:
    """The sum of the values of each learned row, plus its labels."""
    for step in range(len(steps.row)):
        if steps.learn[step]:
            _, values = row_of(rows.starts, rows.terms, rows.values, steps.row[step])
            labels = labels_of(steps.label_starts, steps.labels, step)
            sums[step] = values.sum() + labels.sum()


def test_kernels_take_rows_and_steps() -> None:
    segment = random_stream(3).segment(5, 40)
    rows, steps = segment.rows, segment.steps
    sums, expected = np.zeros(len(steps)), np.zeros(len(steps))
    sums_of_learned_rows(rows, steps, sums)
    for step in np.flatnonzero(steps.learn):
        labels = steps.labels[steps.label_starts[step] : steps.label_starts[step + 1]]
        expected[step] = rows.row(steps.row[step])[1].sum() + labels.sum()
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    assert sums.any()


def test_their_length_is_that_of_their_content() -> None:
    segment = random_stream(3).segment(5, 40)
    assert len(segment.steps) == 35 != len(Steps._fields)
    assert len(segment.rows) == len(segment.rows.starts) - 1 != len(Rows._fields)
    copied = copy.deepcopy(segment)
    for field in Steps._fields:
        assert np.array_equal(getattr(segment.steps, field), getattr(copied.steps, field))
    assert len(segment.between(2, 7).steps) == 5
