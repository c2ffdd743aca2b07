"""Decisions that wait for labels, packed and put back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pytest

from learners.decisions.decided import Decisions


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_unpacked_decisions_are_arrays_as_any_others(rows: int) -> None:
    """A kernel would be compiled again for arrays that are not aligned or cannot be written."""
    rng = np.random.default_rng(rows)
    made = Decisions.new(rows)
    made.certainty[:] = rng.random(rows)
    made.known[:] = rng.integers(0, 100, rows)
    made.probabilities[:] = rng.random(made.probabilities.shape)
    unpacked: Iterable[npt.NDArray[np.generic]] = Decisions.unpack(made.keep(range(rows)))
    expected: Iterable[npt.NDArray[np.generic]] = made
    for array, before in zip(unpacked, expected, strict=True):
        assert array.tobytes() == before.tobytes()
        assert array.flags.aligned
        assert array.flags.writeable
        assert array.flags.c_contiguous
