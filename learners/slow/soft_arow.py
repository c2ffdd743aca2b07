"""Twin of `learners/prototypes/soft_arow.py`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from learners.slow.arithmetic import Document
from learners.slow.arow import SlowArow


class SlowSoftArow(SlowArow):
    """Every topic by itself, each weight by its variance; every topic learns every document."""

    def __init__(
        self, rho: float = 1.0, positive: float = 10.0, bias: float = 0.35, smooth: float = 0.03
    ) -> None:
        super().__init__(rho, positive, bias)
        self.smooth = smooth
        self.seen: defaultdict[str, int] = defaultdict(int)

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """One round: every topic moves towards its target, or a little beyond it."""
        for topic, score in zip(known, self.score(document, known), strict=True):
            self.move(topic, document, score, 1.0 if topic in topics else -1.0)

    def move(self, topic: str, document: Document, score: float, target: float) -> None:
        """Move one topic, and reduce the variances of its weights."""
        variances, bias = self.variances[topic], self.bias
        spread, square = 0.0, 0.0
        for feature, value in document.items():
            spread += value * variances[feature] * value
            square += value * value
        spread += bias * self.prior_variance[topic] * bias
        by_terms = spread - bias * self.prior_variance[topic] * bias
        unsure = min(1.0, by_terms / square) if square > 0.0 else 0.0
        noise = self.rho * (3.0 - 2.7 * unsure)
        if target > 0:
            self.seen[topic] += 1
            noise /= self.positive * (0.2 + 0.8 / math.sqrt(self.seen[topic]))
        gap = 1.0 - target * score
        short = 0.5 * (gap + math.sqrt(gap * gap + 4.0 * (self.smooth * self.smooth)))
        shrink = 1.0 / (spread + noise)
        step = target * (short * shrink)
        for feature, value in document.items():
            part = value * variances[feature]
            self.weights[topic][feature] += step * part
            variances[feature] *= (spread - part * value + noise) * shrink
        part = bias * self.prior_variance[topic]
        self.prior[topic] += step * part
        self.prior_variance[topic] *= (spread - part * bias + noise) * shrink
