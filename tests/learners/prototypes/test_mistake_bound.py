"""Theorem 1 of the 2002 paper: on streams that can be ranked with a margin, MMP stops erring."""

from __future__ import annotations

import numpy as np
import pytest

from learners.arrays import Floats
from learners.scores import DenseScores
from learners.segment import Rows, Segment, Steps
from learners.specs import parse_spec
from pipeline.curves.topic_curve import TopicCurve

TOPICS, FEATURES = 6, 8


def separable(seed: int, length: int = 400) -> tuple[Segment, float, float]:
    """Documents that hidden prototypes (joint norm one) rank with a margin; R and that margin."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(FEATURES, TOPICS))
    hidden /= np.linalg.norm(hidden)
    vectors: list[Floats] = []
    labels, margins = [], []
    while len(vectors) < length:
        x = rng.normal(size=FEATURES)
        scores = hidden.T @ x
        order = np.argsort(-scores)
        count = int(rng.integers(1, TOPICS))
        gap = scores[order[count - 1]] - scores[order[count]]
        if gap > 0.1:
            vectors.append(x)
            labels.append(np.sort(order[:count]))
            margins.append(gap)
    steps = Steps(
        np.repeat(np.arange(length, dtype=np.int32), 2),
        np.tile([False, True], length),
        np.full(2 * length, TOPICS, np.int32),
        np.cumsum([0, *(n for label in labels for n in (0, len(label)))]).astype(np.int64),
        np.concatenate(labels).astype(np.int32),
        np.full(2 * length, TOPICS, np.int32),
    )
    rows = Rows(
        np.arange(length + 1, dtype=np.int64) * FEATURES,
        np.tile(np.arange(FEATURES, dtype=np.int32), length),
        np.concatenate(vectors),
    )
    longest = max(float(np.linalg.norm(x)) for x in vectors)
    return Segment(rows, steps, FEATURES, TOPICS), longest, min(margins)


@pytest.mark.parametrize("loss", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_cumulative_loss_is_bounded(loss: int, seed: int) -> None:
    r"""An update of coefficients tau moves W towards the hidden prototypes U.

    <W, U> gains at least margin times the loss, and |W|^2 gains at most R^2 |tau|^2. The positive
    and the negative coefficients each sum to the loss, so |tau|^2 <= 2 loss^2 <= 2 L loss with L
    the largest possible loss of a round. With Cauchy-Schwarz: total loss <= 2 L (R / margin)^2.
    """
    segment, longest, margin = separable(seed)
    scores = np.zeros((len(segment.rows), TOPICS))
    parse_spec(f"mmp:loss={loss}").build().follow(segment, DenseScores(scores))
    curve = TopicCurve()
    curve.follow(segment.steps, DenseScores(scores))
    average = curve.last().values[f"loss{loss}"]
    assert average is not None
    largest = {1: 1.0, 2: (TOPICS / 2) ** 2, 3: 1.0}[loss]
    total = average * curve.rounds
    assert 0 < total <= 2 * largest * (longest / margin) ** 2
    late = sum(scores_wrong(scores[i], segment, i) for i in range(300, 400))
    early = sum(scores_wrong(scores[i], segment, i) for i in range(100))
    assert late < early


def scores_wrong(scores: Floats, s: Segment, i: int) -> bool:
    steps = s.steps
    relevant = steps.labels[steps.label_starts[2 * i + 1] : steps.label_starts[2 * i + 2]]
    others = np.setdiff1d(np.arange(TOPICS), relevant)
    return bool(scores[relevant].min() <= scores[others].max())
