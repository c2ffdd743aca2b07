"""How well the true class of an example was ranked: R1, R5 and the harmonic rank of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.arrays import Floats, Ints, Longs


def true_class_ranks(scores: Floats, labels: Ints, retrieved_above: float) -> Longs:
    """The rank of the true class in each row; 0 where its score is not above the bound.

    Classes with equal scores are ranked by their index.
    """
    rows = np.arange(len(labels))
    true = scores[rows, labels][:, None]
    earlier = np.arange(scores.shape[1])[None, :] < labels[:, None]
    ranks = 1 + ((scores > true) | ((scores == true) & earlier)).sum(axis=1)
    return np.where(true[:, 0] > retrieved_above, ranks, 0).astype(np.int64)


def recall_measures(ranks: Longs) -> dict[str, float]:
    """R1, R5 and MRR from the ranks of the true classes; rank 0 means not retrieved."""
    retrieved = ranks > 0
    return {
        "r1": float(np.mean(ranks == 1)),
        "r5": float(np.mean(retrieved & (ranks <= 5))),
        "mrr": float(np.mean(np.where(retrieved, 1.0 / np.maximum(ranks, 1), 0.0))),
    }


def harmonic_ranks(reciprocals: Sequence[float]) -> list[float]:
    """The harmonic rank, 1 / MRR, of every split; empty if a split retrieved nothing.

    >>> harmonic_ranks([0.5, 0.25]), harmonic_ranks([0.5, 0.0])
    ([2.0, 4.0], [])
    """
    return [1.0 / value for value in reciprocals] if all(reciprocals) else []
