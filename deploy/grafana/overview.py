"""The dashboard *Overview*: all streams at a glance, one row per stream."""

from __future__ import annotations

from deploy.grafana.panels import (
    RESTARTS,
    Json,
    Panel,
    Query,
    dashboard,
    row,
    stat,
    table,
    time_series,
)

STREAM = "{{stream}}"


def overview_panels() -> list[Panel]:
    """Return the panels: what needs attention first, then each stream."""
    workers = 'job=~"wirerank-(learner|tokenizer)"'
    return [
        stat("Streams", "Streams with a worker or a replay that is scraped.",
             Query("count(count by (stream) (wirerank_documents_total))"), "short"),
        stat("Documents per second, all streams", "Documents ranked, over the last minute.",
             Query("sum(stream:wirerank_documents:rate1m)"), "short"),
        stat("Workers that answer", "Learners and tokenizers that Prometheus can scrape.",
             Query(f"sum(up{{{workers}}})"), "short"),
        stat("Workers that do not answer", "They are dead, or cannot be reached.",
             Query(f"sum(up{{{workers}}} == bool 0)"), "short"),
        stat("Largest lag of all streams", "Of the partition that is furthest behind.",
             Query("max(stream_topic:wirerank_lag_seconds:max)"), "s"),
        stat("Oldest snapshot", "Of all learners.",
             Query("max(wirerank_snapshot_age_seconds)"), "s"),
        row("What needs attention"),
        table(
            "Alerts that fire", "What to do: docs/guide/operate/runbook.md, by the alert.",
            Query('ALERTS{alertname=~"Wirerank.*"}'),
            [{"id": "organize", "options": {"excludeByName": {"Time": True, "Value": True}}}],
            width=24,
        ),
        row("Streams side by side"),
        time_series("Documents ranked per second", "One line per stream.",
                    Query("stream:wirerank_documents:rate1m", STREAM), unit="ops", width=8),
        time_series("Records that wait", "Documents and blocks that were not read yet.",
                    Query("sum by (stream) (stream_topic:wirerank_lag_records:sum)", STREAM),
                    width=8),
        time_series("Malformed events", "Share of the events of the last five minutes.",
                    Query("stream:wirerank_dead_letters:ratio_rate5m", STREAM),
                    unit="percentunit", width=8),
        time_series("loss1 of the best lane",
                    "Of the rounds of the last five minutes; the lane with the lowest loss.",
                    Query('min by (stream) (stream_lane_loss:wirerank_windowed_loss:rate5m'
                          '{loss="loss1"})', STREAM), width=8),
        time_series("Memory of learners", "Share of the ceiling that the settings imply.",
                    Query("max by (stream) (wirerank_memory_bytes / wirerank_memory_bytes_ceiling)",
                          STREAM), unit="percentunit", width=8),
        time_series("Age of the newest snapshots", "The oldest of each stream.",
                    Query("max by (stream) (wirerank_snapshot_age_seconds)", STREAM),
                    unit="s", width=8),
    ]  # fmt: skip


def overview() -> Json:
    """Return the dashboard *Overview*."""
    return dashboard("wirerank-overview", "Wirerank: overview", [], overview_panels(), [RESTARTS])
