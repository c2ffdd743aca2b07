"""The dashboard *Learning curves*: the curves of the papers, live.

All shards of a lane count the same rounds, so queries take the maximum over shards.
"""

from __future__ import annotations

from deploy.grafana.panels import (
    RESTARTS,
    Json,
    Panel,
    Query,
    chosen,
    dashboard,
    listed,
    row,
    table,
    time_series,
)
from learners.measures import MEASURES
from learners.rank_measures import RANK_MEASURES


def curve(loss: str) -> str:
    """Return the query for the round-averaged loss of each lane."""
    selector = f'stream="$stream", lane=~"$lane", loss="{loss}"'
    return f"max by (lane) (wirerank_round_averaged_loss{{{selector}}})"


def windowed() -> str:
    """Return the query for the chosen measure, averaged over the rounds of the chosen window."""
    lanes = 'stream="$stream", lane=~"$lane"'

    def part(which: str, rounds: str) -> str:
        selector = f'{lanes}, loss="$loss", loss{which}"loss[123]"'
        return (
            f"max by (lane) (rate(wirerank_loss_total{{{selector}}}[$window])) / "
            f"(max by (lane) (rate({rounds}{{{lanes}}}[$window])) > 0)"
        )

    losses = part("=~", "wirerank_rounds_total")
    return f"{losses} or {part('!~', 'wirerank_rounds_with_topics_total')}"


def learning_panels() -> list[Panel]:
    """Return the panels of the measures of each lane, and of their comparison."""
    lane = "{{lane}}"
    return [
        time_series(
            "Round-averaged $loss",
            "The learning curve of the papers: the loss averaged over all rounds so far, as in the "
            "curves file of a run. The axis is logarithmic. Ordinal lanes have other measures than "
            "topic lanes: ranking_loss, hit_rate, and tau_b of the last 1,000 rounds. A lane "
            "without the chosen measure has no line.",
            Query(curve("$loss"), lane),
            log=True,
        ),
        time_series(
            "$loss over $window",
            "The loss averaged over the rounds of the last $window. It shows changes that the "
            "average over all rounds hides. There is no line without rounds, and none for tau_b, "
            "which is not a mean of rounds.",
            Query(windowed(), lane),
            log=True,
        ),
        row("Comparing lanes"),
        table(
            "Lanes",
            "Losses are averaged over all rounds so far, other measures over rounds with topics. "
            "tau_b covers the last 1,000 rounds.",
            Query(
                "max by (lane, loss) "
                '(wirerank_round_averaged_loss{stream="$stream", lane=~"$lane"})'
            ),
            [
                {
                    "id": "groupingToMatrix",
                    "options": {"columnField": "loss", "rowField": "lane", "valueField": "Value"},
                }
            ],
            width=12,
        ),
        time_series(
            "Round-averaged $loss relative to the lowest",
            "The loss divided by the loss of the lane with the lowest loss, which is at 1.",
            Query(f"{curve('$loss')} / on () group_left () min({curve('$loss')})", lane),
        ),
        row("The three losses of the paper, round-averaged"),
        *(
            time_series(title, text, Query(curve(loss), lane), log=True, width=8)
            for loss, title, text in (
                ("loss1", "loss1", "Share of rounds with at least one wrong pair of topics."),
                ("loss2", "loss2", "Wrong pairs per round."),
                ("loss3", "loss3", "Share of the pairs of a round that are wrong."),
            )
        ),
        row("Drift and progress"),
        time_series(
            "loss1: last half hour, and the six hours before",
            "The alert WirerankLossRising fires if the loss of the last half hour stays above the "
            "loss before by more than chance explains.",
            Query(
                'stream_lane:wirerank_loss1:rate30m{stream="$stream", lane=~"$lane"}',
                "{{lane}}, half an hour",
            ),
            Query(
                'stream_lane:wirerank_loss1:past6h{stream="$stream", lane=~"$lane"}',
                "{{lane}}, before",
            ),
        ),
        time_series(
            "Changes found per hour",
            "How often the loss of a lane rose within the last hour, as the learner finds it round "
            "by round. The alert WirerankLaneChanged fires above 0. The learner's log names the "
            "round, the document and the topics.",
            Query(
                "max by (lane) "
                '(increase(wirerank_lane_changes_total{stream="$stream", lane=~"$lane"}[1h]))',
                lane,
            ),
        ),
        time_series(
            "Rounds",
            "Labelled documents that were learned so far.",
            Query('max by (lane) (wirerank_rounds_total{stream="$stream", lane=~"$lane"})', lane),
        ),
    ]


def learning_curves() -> Json:
    """Return the dashboard *Learning curves*."""
    variables = [
        chosen("stream", "Stream", "label_values(wirerank_rounds_total, stream)", several=False),
        chosen(
            "lane",
            "Lane",
            'label_values(wirerank_rounds_total{stream="$stream"}, lane)',
            several=True,
        ),
        listed("loss", "Measure", (*MEASURES, *RANK_MEASURES)),
        listed("window", "Window", ("5m", "1m", "30m", "1h", "6h", "1d")),
    ]
    uid = "wirerank-curves"
    return dashboard(uid, "Wirerank: learning curves", variables, learning_panels(), [RESTARTS])
