"""The dashboard *Operations*: health, lag, latency, memory, and events that could not be used.

Rates are over `$__rate_interval`, which Grafana derives from the scrape interval and the width of
the panel.
"""

from __future__ import annotations

from deploy.grafana.panels import (
    RESTARTS,
    Json,
    Panel,
    Query,
    chosen,
    dashboard,
    heatmap,
    row,
    stat,
    table,
    time_series,
)


def per_second(metric: str, by: str, join: str = "max") -> str:
    """Return the query for the rate of a counter."""
    return f'{join} by ({by}) (rate({metric}{{stream=~"$stream"}}[$__rate_interval]))'


def percentiles(metric: str) -> list[Query]:
    """Return queries for the median and for high percentiles of a histogram."""
    counts = per_second(f"{metric}_bucket", "stream, le")
    return [
        Query(f"histogram_quantile({share}, {counts})", f"{{{{stream}}}} {name}")
        for share, name in ((0.5, "median"), (0.95, "95 %"), (0.99, "99 %"))
    ]


def share_of_ceiling(metric: str, name: str, ceiling: str = "") -> Query:
    """Return the query for the share of a maximum that is used."""
    full = f'wirerank_{metric}{{stream=~"$stream"}}'
    most = f'wirerank_{ceiling or metric}_ceiling{{stream=~"$stream"}}'
    return Query(f"max by (stream) ({full} / {most})", f"{{{{stream}}}} {name}")


def state_panels() -> list[Panel]:
    """Return the panels that show at a glance whether all is well."""
    return [
        stat(
            "Documents per second",
            "Documents ranked, over the last minute.",
            Query('sum(stream:wirerank_documents:rate1m{stream=~"$stream"})'),
            "short",
        ),
        stat(
            "Largest lag",
            "Lag of the partition that is furthest behind, in seconds.",
            Query('max(stream_topic:wirerank_lag_seconds:max{stream=~"$stream"})'),
            "s",
        ),
        stat(
            "Malformed events",
            "Share of the events of the last five minutes.",
            Query('max(stream:wirerank_dead_letters:ratio_rate5m{stream=~"$stream"})'),
            "percentunit",
        ),
        stat("Processes ready", "They have recovered and follow their stream.",
             Query("sum(wirerank_ready)"), "short"),
        stat("Processes not ready", "They are starting or recovering.",
             Query("count(wirerank_ready) - sum(wirerank_ready)"), "short"),
        stat(
            "Oldest loop turn",
            "Time since the main loop of a process last turned; the largest of all processes.",
            Query("max(wirerank_loop_age_seconds)"),
            "s",
        ),
    ]  # fmt: skip


def flow_panels() -> list[Panel]:
    """Return the panels of throughput, lag, latency and snapshots."""
    latency, block = "wirerank_event_to_ranking_seconds", "wirerank_block_seconds"
    by_stream, by_partition = "{{stream}}", "{{partition}}"
    return [
        row("Throughput"),
        time_series(
            "Events and documents per second",
            "Tokenizers read events, with labels and malformed events. Learners rank documents.",
            Query(per_second("wirerank_events_read_total", "stream", "sum"), "{{stream}} events"),
            Query(per_second("wirerank_documents_total", "stream"), "{{stream}} documents"),
            unit="ops",
        ),
        time_series(
            "Rounds and blocks per second",
            "A round is a labelled document. A block holds the events of one poll of a tokenizer.",
            Query(per_second("wirerank_rounds_total", "stream"), "{{stream}} rounds"),
            Query(
                per_second("wirerank_blocks_written_total", "stream", "sum"), "{{stream}} blocks"
            ),
            unit="ops",
        ),
        row("Lag"),
        time_series(
            "Lag in records",
            "Documents that no tokenizer has read, and blocks that no learner has read.",
            Query('max by (partition) (wirerank_lag_records{stream=~"$stream"})', by_partition),
        ),
        time_series(
            "Lag in seconds",
            "Age of the last record read; 0 if there are no further records.",
            Query('max by (partition) (wirerank_lag_seconds{stream=~"$stream"})', by_partition),
            unit="s",
        ),
        row("Latency"),
        heatmap(
            "From event to ranking",
            "Age of a block's oldest event when the rankings were published, once per document.",
            Query(per_second(f"{latency}_bucket", "le", "sum"), "{{le}}"),
        ),
        time_series(
            "From event to ranking: percentiles", "Estimated from the histogram.",
            *percentiles(latency), unit="s", log=True,
        ),
        heatmap(
            "Time to rank and learn a block", "In one learner, with all its lanes.",
            Query(per_second(f"{block}_bucket", "le", "sum"), "{{le}}"),
        ),
        time_series(
            "Time to rank and learn a block: percentiles", "Estimated from the histogram.",
            *percentiles(block), unit="s", log=True,
        ),
        row("Snapshots"),
        time_series(
            "Age of the newest snapshot", "A restart would learn the log of this time again.",
            Query('max by (stream) (wirerank_snapshot_age_seconds{stream=~"$stream"})', by_stream),
            unit="s", width=8,
        ),
        time_series(
            "Time to take a snapshot", "Learning waits while a snapshot is taken.",
            Query('max by (stream) (wirerank_snapshot_seconds{stream=~"$stream"})', by_stream),
            unit="s", width=8,
        ),
        time_series(
            "Size of the newest snapshot", "On the disk of the learner.",
            Query('max by (stream) (wirerank_snapshot_bytes{stream=~"$stream"})', by_stream),
            unit="bytes", width=8,
        ),
    ]  # fmt: skip


def resource_panels() -> list[Panel]:
    """Return the panels of memory, limits, unused events and processes."""
    jobs = 'job=~"wirerank-.*"'
    return [
        row("Memory and limits"),
        time_series(
            "Memory of the processes", "Resident memory.",
            Query(f"process_resident_memory_bytes{{{jobs}}}", "{{job}} {{instance}}"),
            unit="bytes", width=8,
        ),
        time_series(
            "Memory of the models", "Only the part of the arrays that is in use.",
            Query('max by (stream, lane) (wirerank_model_bytes{stream=~"$stream"})',
                  "{{stream}} {{lane}}"),
            unit="bytes", width=8,
        ),
        time_series(
            "Use of limits",
            "A full vocabulary drops its least useful terms. When topics or pending documents are "
            "full, new topics are refused and the oldest documents expire; see below.",
            share_of_ceiling("vocabulary_terms", "terms"),
            share_of_ceiling("topics", "topics"),
            share_of_ceiling("pending_documents", "pending documents", "pending"),
            share_of_ceiling("pending_labels", "pending labels", "pending"),
            share_of_ceiling("pending_bytes", "bytes of what is pending"),
            share_of_ceiling("memory_bytes", "memory"),
            unit="percentunit", width=8,
        ),
        row("Events that could not be used"),
        time_series(
            "Dead letters per second", "Events that could not be used, by reason.",
            Query(per_second("wirerank_dead_letters_total", "stream, reason", "sum"),
                  "{{stream}} {{reason}}"),
            unit="ops", width=8,
        ),
        time_series(
            "Unmatched labels and documents per second",
            "Late labels that were not learned, and documents that no longer wait for a label.",
            Query(per_second("wirerank_unmatched_labels_total", "stream, reason"),
                  "{{stream}} label: {{reason}}"),
            Query(per_second("wirerank_documents_given_up_total", "stream, reason"),
                  "{{stream}} document: {{reason}}"),
            unit="ops", width=8,
        ),
        time_series(
            "Refused topics and terms per second", "They came after a limit was reached.",
            Query(per_second("wirerank_topics_refused_total", "stream"), "{{stream}} topics"),
            Query(per_second("wirerank_terms_refused_total", "stream"), "{{stream}} terms"),
            unit="ops", width=8,
        ),
        row("Processes"),
        time_series(
            "Processor time", "Number of cores in use.",
            Query(f"rate(process_cpu_seconds_total{{{jobs}}}[$__rate_interval])",
                  "{{job}} {{instance}}"),
        ),
        table(
            "Alerts", "Pending and firing alerts. What to do: docs/guide/operate/runbook.md.",
            Query('ALERTS{alertname=~"Wirerank.*"}'),
            [{"id": "organize", "options": {"excludeByName": {"Time": True, "Value": True}}}],
            width=12,
        ),
    ]  # fmt: skip


def operations() -> Json:
    """Return the dashboard *Operations*."""
    streams = "label_values({__name__=~'wirerank_(documents|events_read)_total'}, stream)"
    variables = [chosen("stream", "Stream", streams, several=True)]
    panels = [*state_panels(), *flow_panels(), *resource_panels()]
    return dashboard("wirerank-operations", "Wirerank: operations", variables, panels, [RESTARTS])
