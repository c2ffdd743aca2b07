"""The paper's claims about which method is best or worst, and whether they hold in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.experiments.claim_outcomes import FAILED, HELD, TIED
from pipeline.experiments.topic_ranking.columns import SHOWN_IN
from pipeline.experiments.topic_ranking.methods import IN_PERCENT, MEASURES, MethodResults


class OrderingClaim(NamedTuple):
    """The claim that one of some methods is best (or worst) on some measures."""

    text: str
    methods: tuple[str, ...]
    measures: tuple[str, ...]
    worst: bool = False

    def standing(self, means: Mapping[str, Mapping[str, float]], measure: str) -> int:
        """1 if the claim holds on a measure, -1 if not, 0 if level in the digits shown."""
        column = SHOWN_IN[measure]
        scale = 100.0 if measure in IN_PERCENT else 1.0
        sign = -column.better if self.worst else column.better
        shown = {key: round(sign * scale * means[key][measure], column.digits) for key in means}
        claimed = max(shown[key] for key in self.methods)
        others = max(value for key, value in shown.items() if key not in self.methods)
        return (claimed > others) - (claimed < others)

    def line(self, means: Mapping[str, Mapping[str, float]]) -> str:
        """The outcome and the claim; over several measures the worst outcome counts."""
        standings = {measure: self.standing(means, measure) for measure in self.measures}
        outcome = {1: HELD, 0: TIED, -1: FAILED}[min(standings.values())]
        level = [
            SHOWN_IN[measure].title.removesuffix(" %")
            for measure, standing in standings.items()
            if standing == 0
        ]
        more = f" Level with another method on {' and '.join(level)}." if level else ""
        return f"{outcome}: {self.text}.{more}"


CLAIMS = (
    OrderingClaim(
        "MMP for loss 1 is best on loss1, OneErr, AvgP and maxF1",
        ("mmp1",),
        ("loss1", "one_error", "average_precision", "max_f1"),
    ),
    OrderingClaim("MMP for loss 2 or 3 is best on Coverage", ("mmp2", "mmp3"), ("coverage",)),
    OrderingClaim(
        "the Perceptron is worst on Coverage", ("perceptron",), ("coverage",), worst=True
    ),
)


def claim_lines(results: Sequence[MethodResults]) -> list[str]:
    """A line per claim about the order of the paper's five methods."""
    means = {
        one.method.key: {measure: float(np.mean(one.values(measure))) for measure in MEASURES}
        for one in results
    }
    return [claim.line(means) for claim in CLAIMS]
