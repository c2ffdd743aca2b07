"""The dashboard *Learning curves*: the papers' curves, live.

Every shard of a lane counts the same rounds, so series are joined by max over shards.
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
    """The round-averaged loss of each lane."""
    selector = f'stream="$stream", lane=~"$lane", loss="{loss}"'
    return f"max by (lane) (wirerank_round_averaged_loss{{{selector}}})"


def windowed() -> str:
    """The chosen loss of the rounds of the chosen window, per round or per round with topics."""
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
    """What each lane has learned, and how they compare."""
    lane = "{{lane}}"
    return [
        time_series(
            "Round-averaged $loss",
            "The papers' learning curve: the loss averaged over all rounds so far, as in the "
            "curves file of a run. The axis is logarithmic. Lanes of topics and ordinal lanes "
            "(ranking_loss, hit_rate and tau_b, which looks at the last thousand rounds) have "
            "measures of their own; a lane without the chosen one has no line.",
            Query(curve("$loss"), lane),
            log=True,
        ),
        time_series(
            "$loss over $window",
            "The loss of the rounds of the last $window only: it follows a change that the average "
            "over all rounds hides. No line where there were no rounds, and none of tau_b, which "
            "is no mean of rounds.",
            Query(windowed(), lane),
            log=True,
        ),
        row("Comparing lanes"),
        table(
            "Lanes",
            "Every measure, averaged over all rounds so far (but the losses, over those with "
            "topics; tau_b, over the last thousand).",
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
            "Round-averaged $loss against the lowest",
            "How many times the loss of the lane that stands lowest; 1 is that lane.",
            Query(f"{curve('$loss')} / on () group_left () min({curve('$loss')})", lane),
        ),
        row("The three losses of the paper, round-averaged"),
        *(
            time_series(title, text, Query(curve(loss), lane), log=True, width=8)
            for loss, title, text in (
                ("loss1", "loss1", "Share of rounds in which some pair of topics was wrong."),
                ("loss2", "loss2", "Wrong pairs a round."),
                ("loss3", "loss3", "Share of the round's pairs that were wrong."),
            )
        ),
        row("Drift and progress"),
        time_series(
            "loss1: the last half hour and the six hours before",
            "When the first stays above the second by more than chance explains, the alert "
            "WirerankLossRising comes.",
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
            "Rounds",
            "Labelled documents learned so far.",
            Query('max by (lane) (wirerank_rounds_total{stream="$stream", lane=~"$lane"})', lane),
        ),
    ]


def learning_curves() -> Json:
    """The papers' curves, live."""
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
