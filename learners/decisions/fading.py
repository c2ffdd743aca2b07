"""Numbers that count less with every round."""

from __future__ import annotations

from learners.jit import njit_inline

LEAST = 1e-200  # smaller numbers become 0: arithmetic with the smallest ones is slow


@njit_inline
def faded(value: float, keep: float) -> float:
    """A number times a factor below 1; 0 if nothing worth mentioning is left."""
    product = value * keep
    return product if abs(product) >= LEAST else 0.0
