"""The dashboard *Operations*: whether it runs, how far behind it is, and what it could not use.

Rates are over `$__rate_interval`, which Grafana chooses by the scrape interval and the width of the
picture.
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
    """The rate of a counter."""
    return f'{join} by ({by}) (rate({metric}{{stream=~"$stream"}}[$__rate_interval]))'


def quantiles(metric: str) -> list[Query]:
    """The median, and what the slowest take."""
    counts = per_second(f"{metric}_bucket", "stream, le")
    return [
        Query(f"histogram_quantile({share}, {counts})", f"{{{{stream}}}} {name}")
        for share, name in ((0.5, "median"), (0.95, "95 %"), (0.99, "99 %"))
    ]


def share_of_ceiling(metric: str, name: str, ceiling: str = "") -> Query:
    """How full something bounded is."""
    full = f'wirerank_{metric}{{stream=~"$stream"}}'
    most = f'wirerank_{ceiling or metric}_ceiling{{stream=~"$stream"}}'
    return Query(f"max by (stream) ({full} / {most})", f"{{{{stream}}}} {name}")


def state_panels() -> list[Panel]:
    """Whether all is well."""
    return [
        stat(
            "Documents a second",
            "Ranked, over the last minute.",
            Query('sum(stream:wirerank_documents:rate1m{stream=~"$stream"})'),
            "short",
        ),
        stat(
            "Furthest behind",
            "Lag of the partition that is furthest behind, in time.",
            Query('max(stream_topic:wirerank_lag_seconds:max{stream=~"$stream"})'),
            "s",
        ),
        stat(
            "Malformed events",
            "Their share of all events of the last five minutes.",
            Query('max(stream:wirerank_dead_letters:ratio_rate5m{stream=~"$stream"})'),
            "percentunit",
        ),
        stat("Processes ready", "Recovered and following.", Query("sum(wirerank_ready)"), "short"),
        stat("Processes not ready", "Starting or recovering.",
             Query("count(wirerank_ready) - sum(wirerank_ready)"), "short"),
        stat(
            "Longest silence",
            "Since a process's loop last came round.",
            Query("max(wirerank_loop_age_seconds)"),
            "s",
        ),
    ]  # fmt: skip


def flow_panels() -> list[Panel]:
    """How much comes through, how late, and how long it takes."""
    latency, block = "wirerank_event_to_ranking_seconds", "wirerank_block_seconds"
    by_stream, by_partition = "{{stream}}", "{{partition}}"
    return [
        row("Throughput"),
        time_series(
            "Events and documents a second",
            "Events are read by tokenizers, malformed ones and labels too; documents are ranked by "
            "learners.",
            Query(per_second("wirerank_events_read_total", "stream", "sum"), "{{stream}} events"),
            Query(per_second("wirerank_documents_total", "stream"), "{{stream}} documents"),
            unit="ops",
        ),
        time_series(
            "Rounds and blocks a second",
            "A round is a labelled document; a block is what one poll of a tokenizer held.",
            Query(per_second("wirerank_rounds_total", "stream"), "{{stream}} rounds"),
            Query(
                per_second("wirerank_blocks_written_total", "stream", "sum"), "{{stream}} blocks"
            ),
            unit="ops",
        ),
        row("Lag"),
        time_series(
            "Lag in records",
            "Documents that no tokenizer has read, blocks that no learner has.",
            Query('max by (partition) (wirerank_lag_records{stream=~"$stream"})', by_partition),
        ),
        time_series(
            "Lag in seconds",
            "Age of the last record read, while there are more.",
            Query('max by (partition) (wirerank_lag_seconds{stream=~"$stream"})', by_partition),
            unit="s",
        ),
        row("Latency"),
        heatmap(
            "From event to ranking",
            "Age of a block's oldest event when its rankings were out, counted for each document.",
            Query(per_second(f"{latency}_bucket", "le", "sum"), "{{le}}"),
        ),
        time_series(
            "From event to ranking: quantiles", "As the histogram has them.",
            *quantiles(latency), unit="s", log=True,
        ),
        heatmap(
            "Time to rank and learn a block", "By one learner, with all its lanes.",
            Query(per_second(f"{block}_bucket", "le", "sum"), "{{le}}"),
        ),
        time_series(
            "Time to rank and learn a block: quantiles", "As the histogram has them.",
            *quantiles(block), unit="s", log=True,
        ),
        row("Snapshots"),
        time_series(
            "Age of the newest snapshot", "What a restart now would have to follow again.",
            Query('max by (stream) (wirerank_snapshot_age_seconds{stream=~"$stream"})', by_stream),
            unit="s", width=8,
        ),
        time_series(
            "Time that a snapshot takes", "Learning waits while one is taken.",
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
    """Memory and ceilings, processes, and what went wrong."""
    jobs = 'job=~"wirerank-.*"'
    return [
        row("Memory and ceilings"),
        time_series(
            "Memory of the processes", "Resident.",
            Query(f"process_resident_memory_bytes{{{jobs}}}", "{{job}} {{instance}}"),
            unit="bytes", width=8,
        ),
        time_series(
            "Memory of the models", "As far as they are in use.",
            Query('max by (stream, lane) (wirerank_model_bytes{stream=~"$stream"})',
                  "{{stream}} {{lane}}"),
            unit="bytes", width=8,
        ),
        time_series(
            "How full what is bounded is",
            "A full vocabulary lets rare terms go; past full topics and pending documents, what "
            "comes is refused or given up, and counted below.",
            share_of_ceiling("vocabulary_terms", "terms"),
            share_of_ceiling("topics", "topics"),
            share_of_ceiling("pending_documents", "pending documents", "pending"),
            share_of_ceiling("pending_labels", "pending labels", "pending"),
            unit="percentunit", width=8,
        ),
        row("What could not be used"),
        time_series(
            "Dead letters a second", "Malformed events, by the reason.",
            Query(per_second("wirerank_dead_letters_total", "stream, reason", "sum"),
                  "{{stream}} {{reason}}"),
            unit="ops", width=8,
        ),
        time_series(
            "Labels and documents that found no partner, a second",
            "Late labels that taught nothing, and documents given up waiting for one.",
            Query(per_second("wirerank_unmatched_labels_total", "stream, reason"),
                  "{{stream}} label: {{reason}}"),
            Query(per_second("wirerank_documents_given_up_total", "stream, reason"),
                  "{{stream}} document: {{reason}}"),
            unit="ops", width=8,
        ),
        time_series(
            "Refused for want of room, a second", "New topics and terms past their ceilings.",
            Query(per_second("wirerank_topics_refused_total", "stream"), "{{stream}} topics"),
            Query(per_second("wirerank_terms_refused_total", "stream"), "{{stream}} terms"),
            unit="ops", width=8,
        ),
        row("Processes"),
        time_series(
            "Processor time", "Cores in use.",
            Query(f"rate(process_cpu_seconds_total{{{jobs}}}[$__rate_interval])",
                  "{{job}} {{instance}}"),
        ),
        table(
            "Alerts", "Pending and firing; docs/guide/operate.md says what to do.",
            Query('ALERTS{alertname=~"Wirerank.*"}'),
            [{"id": "organize", "options": {"excludeByName": {"Time": True, "Value": True}}}],
            width=12,
        ),
    ]  # fmt: skip


def operations() -> Json:
    """Whether it runs, how far behind it is, what it takes, and what it could not use."""
    streams = "label_values({__name__=~'wirerank_(documents|events_read)_total'}, stream)"
    variables = [chosen("stream", "Stream", streams, several=True)]
    panels = [*state_panels(), *flow_panels(), *resource_panels()]
    return dashboard("wirerank-operations", "Wirerank: operations", variables, panels, [RESTARTS])
