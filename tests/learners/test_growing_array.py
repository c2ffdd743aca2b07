"""GrowingArray arrays keep their content, and are zero elsewhere."""

from __future__ import annotations

import random

import numpy as np
import pytest

from learners import growing_array as growing
from learners.growing_array import GrowingArray


@pytest.mark.parametrize("ahead", [1, 8, 1 << 16])
def test_equals_a_plain_array(ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "ROWS_AHEAD", ahead)
    monkeypatch.setattr(growing, "ROWS_AT_ONCE", 3)
    rng = random.Random(ahead)
    array, plain = GrowingArray(2), np.zeros((0, 0))
    for _ in range(300):
        if rng.random() < 0.1:
            rows = np.flatnonzero([rng.random() < 0.6 for _ in range(len(plain) + 5)])
            array.keep(rows)
            plain = plain[rows[rows < len(plain)]]
        else:
            shape = (rng.randrange(40), rng.randrange(12))
            array.grow(*shape)
            larger = np.zeros((max(shape[0], len(plain)), max(shape[1], plain.shape[1])))
            larger[: plain.shape[0], : plain.shape[1]] = plain
            plain = larger
        if plain.size:
            row, column = rng.randrange(plain.shape[0]), rng.randrange(plain.shape[1])
            plain[row, column] = array.room[row, column] = rng.random()
        assert np.array_equal(array.view, plain)
        assert array.nbytes == plain.nbytes


def test_load_is_a_copy() -> None:
    array = GrowingArray(2)
    array.grow(3, 3)
    array.view[...] = 7.0
    original = np.ones((2, 2))
    array.load(original)
    array.grow(3, 2)
    assert array.view.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    array.view[...] = 5.0
    assert (original == 1.0).all()


def test_rows_start_at_cache_lines() -> None:
    array = GrowingArray(2)
    array.grow(10, 103)
    assert array.room.ctypes.data % 64 == 0
    assert array.room.strides[0] % 64 == 0
