"""The dashboard *Topics and cost*: which topics are ranked badly, and what each lane costs.

Topics have series of their own only if `topics` of `[metrics]` is above 0. All shards of a lane
count the same rounds, so losses take the maximum over shards; times and memory are sums.
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


def rate(metric: str, by: str, join: str = "max") -> str:
    """Return the query for the rate of a counter of the chosen lanes in the chosen window."""
    return f"{join} by ({by}) (rate({metric}{{{SELECTED}}}[$window]))"


def topic_loss() -> str:
    """Return the query for the loss of each topic over the rounds of the window that have it."""
    rounds = rate("wirerank_topic_rounds_total", "lane, topic")
    return f"{rate('wirerank_topic_loss_total', 'lane, topic')} / ({rounds} > 0)"


def topic_panels() -> list[Panel]:
    """Return the panels of single topics."""
    label = "{{lane}} {{topic}}"
    return [
        row("Quality per topic (metrics.topics must be above 0)"),
        table(
            "Worst topics", "Loss over the window: share of irrelevant topics that are ranked as "
            "high as this one, or higher, in rounds that have it.",
            Query(f"topk by (lane) (15, {topic_loss()})"),
            [{"id": "organize", "options": {"excludeByName": {"Time": True}}}],
            width=12,
        ),
        time_series("Loss of the worst topics", "The five worst of each lane at each moment.",
                    Query(f"topk by (lane) (5, {topic_loss()})", label)),
        time_series("Rounds per second and topic", "The ten most frequent topics.",
                    Query(f"topk(10, max by (topic) "
                          f"({rate('wirerank_topic_rounds_total', 'lane, topic')}))", "{{topic}}")),
        time_series("Topics and their limit", "New topics beyond the limit are refused.",
                    Query('max by (stream) (wirerank_topics{stream="$stream"})', "topics"),
                    Query('max by (stream) (wirerank_topics_ceiling{stream="$stream"})', "limit")),
    ]  # fmt: skip


def cost_panels() -> list[Panel]:
    """Return the panels of what lanes cost."""
    lane = "{{lane}}"
    seconds = rate("wirerank_lane_seconds_total", "lane", "sum")
    documents = 'max by (stream) (rate(wirerank_documents_total{stream="$stream"}[$window])) > 0'
    return [
        row("Cost per lane"),
        time_series("Cores in use by each lane",
                    "Time to rank and learn, per second; the sum of all shards. Lanes of one "
                    "learner run in threads.",
                    Query(seconds, lane), width=8),
        time_series("Time per document", "Of each lane, over the window.",
                    Query(f"{seconds} / on () group_left () ({documents})", lane),
                    unit="s", log=True, width=8),
        time_series("Memory of each lane's model", "The sum of all shards.",
                    Query(f"sum by (lane) (wirerank_model_bytes{{{SELECTED}}})", lane),
                    unit="bytes", width=8),
        time_series("Loss and time of each lane",
                    "loss1 of the window: compare it with the cost above before you keep a lane.",
                    Query('max by (lane) (stream_lane_loss:wirerank_windowed_loss:rate5m'
                          f'{{{SELECTED}, loss="loss1"}})', lane), width=24),
    ]  # fmt: skip


def topics_and_cost() -> Json:
    """Return the dashboard *Topics and cost*."""
    variables = [
        chosen("stream", "Stream", "label_values(wirerank_rounds_total, stream)", several=False),
        chosen(
            "lane",
            "Lane",
            'label_values(wirerank_rounds_total{stream="$stream"}, lane)',
            several=True,
        ),
        listed("window", "Window", ("1h", "5m", "30m", "6h", "1d")),
    ]
    panels = [*topic_panels(), *cost_panels()]
    uid = "wirerank-topics"
    return dashboard(uid, "Wirerank: topics and cost", variables, panels, [RESTARTS])
