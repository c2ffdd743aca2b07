"""The decisions of lanes that assign topics, for Prometheus.

Counters are sums, so precision, recall and F1 of any window are quotients of rates.
Other lanes have none of these metrics, and lanes without a risk have none of marks for review.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pipeline.engine.engine import Engine
from pipeline.metrics import families
from pipeline.metrics.families import Scrape

# The names of sums in `DecisionCurve.totals` and of their metrics.
COUNTS = {
    "assigned": families.ASSIGNED_TOPICS,
    "right": families.RIGHT_TOPICS,
    "relevant": families.RELEVANT_TOPICS,
    "reviewed": families.REVIEW_ROUNDS,
    "decided": families.DECIDED_DOCUMENTS,
    "marked": families.REVIEW_DOCUMENTS,
}
# The names of sums in `DecisionCurve.totals` and of the measures that they are sums of.
SUMS = {
    "f1": "sample_f1",
    "exact": "subset_accuracy",
    "hamming": "hamming_loss",
    "brier": "brier",
    "trusted_f1": "trusted_f1",
}


class LaneDecisions(NamedTuple):
    """The decisions of a lane at the end of a block."""

    name: str
    totals: Mapping[str, float]
    averages: Mapping[str, float | None]


def sample_decisions(engine: Engine) -> tuple[LaneDecisions, ...]:
    """Copy what a scrape shows of the lanes that assign topics."""
    return tuple(
        LaneDecisions(lane.name, curve.totals(), curve.last().values)
        for lane in engine.lanes
        if (curve := lane.decision_curve) is not None
    )


def collect_decisions(scrape: Scrape, lanes: tuple[LaneDecisions, ...]) -> None:
    """Add the measures of each lane. A measure that does not exist yet has no sample."""
    for name, totals, averages in lanes:
        for total, family in COUNTS.items():
            if total in totals:
                scrape.add(family, totals[total], name)
        for total, measure in SUMS.items():
            if total in totals:
                scrape.add(families.DECISION_SUM, totals[total], name, measure)
        for measure, average in averages.items():
            if average is not None:
                scrape.add(families.ROUND_AVERAGED_DECISION, average, name, measure)
