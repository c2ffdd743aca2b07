"""The dashboard *Decisions*: how well lanes assign topics, and how much they leave to a person.

Only lanes that assign topics have these metrics. All shards of a lane count the same rounds, so
queries take the maximum over shards.
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

SELECTED = 'stream="$stream", lane=~"$lane"'
LANE = "{{lane}}"


def rate(metric: str, by: str = "lane", more: str = "") -> str:
    """Return the query for the rate of a counter of the chosen lanes in the chosen window."""
    return f"max by ({by}) (rate({metric}{{{SELECTED}{more}}}[$window]))"


RIGHT = rate("wirerank_right_topics_total")
ASSIGNED = rate("wirerank_assigned_topics_total")
RELEVANT = rate("wirerank_relevant_topics_total")
ROUNDS = rate("wirerank_rounds_total")
REVIEWED = rate("wirerank_review_rounds_total")
DECIDED = rate("wirerank_decided_documents_total")
MARKED = rate("wirerank_review_documents_total")


def average(measure: str) -> str:
    """Return the query for a measure over all rounds so far."""
    return f'max by (lane) (wirerank_round_averaged_decision{{{SELECTED}, measure="{measure}"}})'


def topic_f1() -> str:
    """Return the query for the F1 of each topic over the rounds of the window."""
    right, assigned, relevant = (
        rate(f"wirerank_topic_{count}_total", "lane, topic")
        for count in ("right", "assigned", "rounds")
    )
    # Lanes that assign no topics have rounds per topic too, but nothing to join them with.
    return f"2 * {right} / ({assigned} + {relevant} > 0)"


def set_panels() -> list[Panel]:
    """Return the panels of the assigned sets."""
    return [
        row("Assigned topics over $window"),
        time_series("Precision over $window", "Share of the assigned topics that are right.",
                    Query(f"{RIGHT} / ({ASSIGNED} > 0)", LANE), unit="percentunit", width=8),
        time_series("Recall over $window", "Share of the relevant topics that were assigned.",
                    Query(f"{RIGHT} / ({RELEVANT} > 0)", LANE), unit="percentunit", width=8),
        time_series("Micro F1 over $window",
                    "The harmonic mean of precision and recall, over all topics together. The "
                    "alert WirerankSetsWorse watches the mean F1 per document.",
                    Query(f"2 * {RIGHT} / ({ASSIGNED} + {RELEVANT} > 0)", LANE),
                    unit="percentunit", width=8),
        row("All rounds so far"),
        time_series("Micro F1", "Over all topics together, so frequent topics count most.",
                    Query(average("micro_f1"), LANE), unit="percentunit", width=8),
        time_series("Macro F1", "The mean over topics, so each topic counts the same.",
                    Query(average("macro_f1"), LANE), unit="percentunit", width=8),
        time_series("Calibration error",
                    "How far the probabilities of topics are from how often these are relevant, "
                    "on average. 0 is best.",
                    Query(average("calibration_error"), LANE), width=8),
    ]  # fmt: skip


def review_panels() -> list[Panel]:
    """Return the panels of documents that a person should look at."""
    trusted = rate("wirerank_decision_total", more=', measure="trusted_f1"')
    return [
        row("Review"),
        time_series("Documents marked for review",
                    "Share of all documents of the window, labelled or not. Only lanes with the "
                    "option risk have it. The alert WirerankReviewRising fires if the share of the "
                    "last half hour stays far above that of the six hours before.",
                    Query(f"{MARKED} / ({DECIDED} > 0)", LANE), unit="percentunit"),
        time_series("F1 of documents that were not marked",
                    "The mean over the labelled documents of the window. The lane aims at "
                    "1 - risk.",
                    Query(f"{trusted} / ({ROUNDS} - {REVIEWED} > 0)", LANE), unit="percentunit"),
    ]  # fmt: skip


def topic_panels() -> list[Panel]:
    """Return the panels of single topics."""
    return [
        row("F1 per topic (metrics.topics must be above 0)"),
        table(
            "Topics of the lowest F1", "F1 over the window, the worst 15 of each lane.",
            Query(f"bottomk by (lane) (15, {topic_f1()})"),
            [{"id": "organize", "options": {"excludeByName": {"Time": True}}}],
            width=12,
        ),
        time_series("F1 of the worst topics", "The five worst of each lane at each moment.",
                    Query(f"bottomk by (lane) (5, {topic_f1()})", "{{lane}} {{topic}}"),
                    unit="percentunit"),
    ]  # fmt: skip


def decisions() -> Json:
    """Return the dashboard *Decisions*."""
    metric = "wirerank_assigned_topics_total"
    variables = [
        chosen("stream", "Stream", f"label_values({metric}, stream)", several=False),
        chosen("lane", "Lane", f'label_values({metric}{{stream="$stream"}}, lane)', several=True),
        listed("window", "Window", ("1h", "5m", "30m", "6h", "1d")),
    ]
    panels = [*set_panels(), *review_panels(), *topic_panels()]
    return dashboard("wirerank-decisions", "Wirerank: decisions", variables, panels, [RESTARTS])
