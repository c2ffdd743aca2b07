"""How well the one true class was ranked: R1, R5 and the harmonic rank of the 2010 paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.arrays import Floats, Ints, Longs


def hits_in(scores: Floats, labels: Ints, retrieved_above: float) -> Longs:
    """The rank of each row's class, ties by index; 0 if its score is not above the bound."""
    rows = np.arange(len(labels))
    mine = scores[rows, labels][:, None]
    earlier = np.arange(scores.shape[1])[None, :] < labels[:, None]
    ranks = 1 + ((scores > mine) | ((scores == mine) & earlier)).sum(axis=1)
    return np.where(mine[:, 0] > retrieved_above, ranks, 0).astype(np.int64)


def measures_of(hits: Longs) -> dict[str, float]:
    """R1, R5 and MRR of the ranks of the true classes, 0 being not retrieved."""
    found = hits > 0
    return {
        "r1": float(np.mean(hits == 1)),
        "r5": float(np.mean(found & (hits <= 5))),
        "mrr": float(np.mean(np.where(found, 1.0 / np.maximum(hits, 1), 0.0))),
    }


def harmonic(reciprocals: Sequence[float]) -> list[float]:
    """The harmonic ranks, 1 / MRR, of splits; none if one of them retrieved nothing.

    >>> harmonic([0.5, 0.25]), harmonic([0.5, 0.0])
    ([2.0, 4.0], [])
    """
    return [1.0 / value for value in reciprocals] if all(reciprocals) else []
