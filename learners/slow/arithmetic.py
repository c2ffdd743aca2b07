"""Documents, prototypes and sums, as all twins use them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

Document = Mapping[str, float]
Weights = defaultdict[str, defaultdict[str, float]]  # topic -> feature -> weight


def zeros() -> Weights:
    """Prototypes that are zero where nothing was learned."""
    return defaultdict(lambda: defaultdict(float))


def inner(prototype: Mapping[str, float], document: Document) -> float:
    """The inner product, in the order of the document's features."""
    total = 0.0
    for feature, value in document.items():
        total += value * prototype.get(feature, 0.0)
    return total


def added_up(numbers: Sequence[float]) -> float:
    """Left to right, one rounding at a time, as a kernel adds (`sum` is more exact since 3.12)."""
    total = 0.0
    for number in numbers:
        total += number
    return total
