"""The declarations of all metrics: name, kind, labels and meaning.

The configuration bounds the number of label values: no label is a document or a term, and topics
are labels only up to a number that the configuration sets. A test compares the table in
docs/reference/metrics.md with these declarations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Literal, NamedTuple

from prometheus_client.core import Metric, Sample

Labels = tuple[str, ...]

STREAM: Labels = ("stream",)
SHARD: Labels = ("stream", "shard")
LANE: Labels = ("stream", "shard", "lane")
LOSS: Labels = ("stream", "shard", "lane", "loss")
TOPIC: Labels = ("stream", "shard", "lane", "topic")
MEASURE: Labels = ("stream", "shard", "lane", "measure")
PARTITION: Labels = ("stream", "partition")

# Upper bounds of the buckets: from a small block on a fast machine to a lag of minutes.
EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
         300.0)  # fmt: skip


class Family(NamedTuple):
    """The declaration of a metric."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: Labels
    meaning: str


def counter(name: str, labels: Labels, meaning: str) -> Family:
    """Declare a number that only grows."""
    return Family(f"wirerank_{name}_total", "counter", labels, meaning)


def gauge(name: str, labels: Labels, meaning: str) -> Family:
    """Declare a number that goes up and down."""
    return Family(f"wirerank_{name}", "gauge", labels, meaning)


def histogram(name: str, labels: Labels, meaning: str) -> Family:
    """Declare a histogram of durations."""
    return Family(f"wirerank_{name}", "histogram", labels, meaning)


ROUNDS = counter("rounds", LANE, "Rounds: labelled documents, each ranked first and then learned.")
ROUNDS_WITH_TOPICS = counter(
    "rounds_with_topics", LANE, "Rounds whose document has at least one topic, or a rank."
)
LOSS_SUM = counter(
    "loss",
    LOSS,
    "Sum of a loss over all rounds, or of another measure over rounds with topics.",
)
ROUND_AVERAGED_LOSS = gauge(
    "round_averaged_loss", LOSS, "The learning curve: the loss averaged over all rounds so far."
)
LANE_CHANGES = counter(
    "lane_changes",
    LANE,
    "Changes of a lane: how often its loss rose, found at a stated rate of false alarms.",
)
LANE_CHANGE_ROUND = gauge(
    "lane_change_round", LANE, "The round in which the last change of a lane was found."
)
TOPIC_ROUNDS = counter(
    "topic_rounds",
    TOPIC,
    "Rounds whose document has the topic (only if topics are asked for).",
)
TOPIC_LOSS = counter(
    "topic_loss",
    TOPIC,
    "Sum over rounds with the topic: share of irrelevant topics with an equal or higher score.",
)
ASSIGNED_TOPICS = counter(
    "assigned_topics", LANE, "Topics that a lane assigned to the documents of its rounds."
)
RIGHT_TOPICS = counter("right_topics", LANE, "Assigned topics that the labels confirmed.")
RELEVANT_TOPICS = counter(
    "relevant_topics", LANE, "Topics in the labels of all rounds, of lanes that assign topics."
)
REVIEW_ROUNDS = counter("review_rounds", LANE, "Rounds whose document was marked for review.")
DECIDED_DOCUMENTS = counter(
    "decided_documents", LANE, "Documents, labelled or not, ranked by a lane that assigns topics."
)
REVIEW_DOCUMENTS = counter(
    "review_documents", LANE, "Documents, labelled or not, that were marked for review."
)
DECISION_SUM = counter(
    "decision", MEASURE, "Sum of a measure of the assigned sets over all rounds."
)
ROUND_AVERAGED_DECISION = gauge(
    "round_averaged_decision",
    MEASURE,
    "A measure of the assigned sets and of their probabilities, over all rounds so far.",
)
TOPIC_ASSIGNED = counter(
    "topic_assigned",
    TOPIC,
    "Rounds in which a lane assigned the topic (only if topics are asked for).",
)
TOPIC_RIGHT = counter(
    "topic_right", TOPIC, "Rounds in which a lane assigned the topic and the labels confirmed it."
)
LANE_SECONDS = counter(
    "lane_seconds", LANE, "Time that a lane spent on ranking and learning since the process began."
)
MODEL_BYTES = gauge("model_bytes", LANE, "Memory that the model of a lane uses.")
MODEL_SIZES = {
    "connections": gauge(
        "connections", LANE, "Connections in the index of a lane (feature-focus, independent)."
    ),
    "connections_per_feature": gauge(
        "connections_per_feature",
        LANE,
        "Mean number of connections per feature of the documents ranked since the start.",
    ),
}
SHARD_SECONDS = {
    "learn": counter(
        "shard_learn_seconds",
        LANE,
        "Time that a shard spent on scoring and learning, alone or in shared memory.",
    ),
    "rank": counter(
        "shard_rank_seconds", LANE, "Time that a shard spent on finding rankings with the others."
    ),
    "score": counter(
        "shard_score_seconds",
        LANE,
        "Time that a shard of mmp without shared memory spent on scoring.",
    ),
    "wait": counter(
        "shard_wait_seconds", LANE, "Time that a shard spent on waiting for other shards."
    ),
    "resolve": counter(
        "shard_resolve_seconds",
        LANE,
        "Time that a shard of mmp without shared memory spent on deciding which topics move.",
    ),
    "update": counter(
        "shard_update_seconds",
        LANE,
        "Time that a shard of mmp without shared memory spent on updating its prototypes.",
    ),
}
DOCUMENTS = counter("documents", SHARD, "Documents ranked.")
VOCABULARY = gauge("vocabulary_terms", SHARD, "Terms in the vocabulary.")
VOCABULARY_CEILING = gauge(
    "vocabulary_terms_ceiling", SHARD, "Maximum of terms in the vocabulary (max_terms)."
)
TERMS_REFUSED = counter(
    "terms_refused", SHARD, "Terms of documents that did not fit into the vocabulary."
)
TOPICS = gauge("topics", SHARD, "Topics, declared or discovered.")
TOPICS_CEILING = gauge("topics_ceiling", SHARD, "Maximum of topics (max_topics).")
TOPICS_REFUSED = counter(
    "topics_refused",
    SHARD,
    "New topics of labels that were ignored because max_topics was reached.",
)
PENDING_DOCUMENTS = gauge(
    "pending_documents", SHARD, "Documents without topics yet, plus documents without a rank yet."
)
PENDING_LABELS = gauge("pending_labels", SHARD, "Late labels whose document has not come yet.")
PENDING_CEILING = gauge(
    "pending_ceiling",
    SHARD,
    "Maximum of pending documents, and of pending labels (max_pending per kind of label).",
)
PENDING_BYTES = gauge(
    "pending_bytes", SHARD, "Bytes charged for pending documents and pending labels."
)
PENDING_BYTES_CEILING = gauge(
    "pending_bytes_ceiling",
    SHARD,
    "Maximum of these bytes (max_pending_bytes for documents and for labels, per kind of label).",
)
MEMORY_BYTES = gauge(
    "memory_bytes", SHARD, "Memory of the stream: models, vocabulary, topics, and what waits."
)
MEMORY_CEILING = gauge(
    "memory_bytes_ceiling",
    SHARD,
    "Maximum of this memory by the settings, with the buffers for blocks and scores.",
)
DOCUMENTS_GIVEN_UP = counter(
    "documents_given_up",
    (*SHARD, "reason"),
    "Documents that no longer wait for labels: expired (max_pending, max_pending_bytes) or "
    "superseded.",
)
UNMATCHED_LABELS = counter(
    "unmatched_labels",
    (*SHARD, "reason"),
    "Late labels that were not learned: no_document waits for them, or no lane learns their kind "
    "(rank_only, topics_only).",
)
BLOCK_SECONDS = histogram("block_seconds", SHARD, "Time to rank and learn a block.")
EVENT_TO_RANKING = histogram(
    "event_to_ranking_seconds",
    SHARD,
    "Age of a block's oldest event when the rankings were published, once per document.",
)
SNAPSHOTS = counter("snapshots", SHARD, "Snapshots written by this process.")
SNAPSHOT_AGE = gauge("snapshot_age_seconds", SHARD, "Time since the newest snapshot was written.")
SNAPSHOT_SECONDS = gauge("snapshot_seconds", SHARD, "Time that writing the last snapshot took.")
SNAPSHOT_BYTES = gauge("snapshot_bytes", SHARD, "Size of the newest snapshot.")
SNAPSHOT_PROBLEMS = counter(
    "snapshot_problems",
    (*SHARD, "reason"),
    "Snapshots that this process could not write (not_written), or skipped at a start (damaged).",
)
SNAPSHOT_UPLOADS = counter(
    "snapshot_uploads", SHARD, "Snapshots that this process copied to the object store."
)
SNAPSHOT_UPLOAD_FAILURES = counter(
    "snapshot_upload_failures",
    SHARD,
    "Attempts of this process to copy a snapshot to the object store that failed.",
)
SNAPSHOT_UPLOAD_AGE = gauge(
    "snapshot_upload_age_seconds",
    SHARD,
    "Time since the newest snapshot was copied to the object store.",
)
LANE_FIRST_OFFSET = gauge(
    "lane_first_offset",
    LANE,
    "Offset of the log at which a lane began; above 0 if it was added after the log was trimmed.",
)
LOG_FIRST = gauge("log_first_offset", STREAM, "Offset of the first record of the log.")
LOG_RECORDS = gauge("log_records", STREAM, "Records of the log that are kept.")
LOG_BYTES = gauge(
    "log_bytes", STREAM, "Size of these records before compression, by a sample of them."
)
TRIMMED_RECORDS = counter(
    "log_trimmed_records", STREAM, "Records of the log that this process has trimmed."
)
TRIMMED_BYTES = counter(
    "log_trimmed_bytes", STREAM, "Size of these records before compression, by samples."
)
TRIMS = counter(
    "log_trims",
    STREAM,
    "Trims of the log by this process that succeeded, also if there was nothing to trim.",
)
TRIM_BLOCKED = gauge(
    "log_trim_blocked",
    (*STREAM, "lane"),
    "1 for each lane that trimming waits for: too few snapshots, or not in the configuration.",
)
TRIM_PROBLEMS = counter(
    "log_trim_problems",
    (*STREAM, "reason"),
    "Trims of the log by this process that were held back (blocked) or did not succeed (failed).",
)
EVENTS_READ = counter(
    "events_read", STREAM, "Events read by this process, including malformed events."
)
DEAD_LETTERS = counter(
    "dead_letters",
    (*STREAM, "reason"),
    "Events that this process could not use and sent to the dead letters.",
)
BLOCKS_WRITTEN = counter("blocks_written", STREAM, "Blocks written by this process.")
LAG_RECORDS = gauge("lag_records", PARTITION, "Records of a partition that have not been read yet.")
LAG_SECONDS = gauge(
    "lag_seconds",
    PARTITION,
    "Age of the last record read; 0 if there are no further records.",
)
READY = gauge("ready", (), "1 if the process has recovered and follows its stream, else 0.")
LOOP_AGE = gauge("loop_age_seconds", (), "Time since the main loop of the process last turned.")
CLOCK_AHEAD = gauge(
    "clock_ahead_seconds",
    (),
    "How far the clock of the machine is ahead of the broker's; negative if it is behind.",
)
BUILD = Family(
    "wirerank_build_info", "gauge", ("version", "python"), "Always 1; the labels have the versions."
)

LEARNER = (
    ROUNDS, ROUNDS_WITH_TOPICS, LOSS_SUM, ROUND_AVERAGED_LOSS, LANE_CHANGES, LANE_CHANGE_ROUND,
    TOPIC_ROUNDS, TOPIC_LOSS, ASSIGNED_TOPICS, RIGHT_TOPICS, RELEVANT_TOPICS, REVIEW_ROUNDS,
    DECIDED_DOCUMENTS, REVIEW_DOCUMENTS, DECISION_SUM, ROUND_AVERAGED_DECISION, TOPIC_ASSIGNED,
    TOPIC_RIGHT,
    LANE_SECONDS, MODEL_BYTES, *MODEL_SIZES.values(), *SHARD_SECONDS.values(), DOCUMENTS,
    VOCABULARY, VOCABULARY_CEILING, TERMS_REFUSED, TOPICS, TOPICS_CEILING, TOPICS_REFUSED,
    PENDING_DOCUMENTS, PENDING_LABELS, PENDING_CEILING, PENDING_BYTES, PENDING_BYTES_CEILING,
    MEMORY_BYTES, MEMORY_CEILING, DOCUMENTS_GIVEN_UP, UNMATCHED_LABELS, BLOCK_SECONDS,
    EVENT_TO_RANKING, SNAPSHOTS, SNAPSHOT_AGE, SNAPSHOT_SECONDS, SNAPSHOT_BYTES,
    SNAPSHOT_PROBLEMS,
    SNAPSHOT_UPLOADS,
    SNAPSHOT_UPLOAD_FAILURES,
    SNAPSHOT_UPLOAD_AGE,
    LANE_FIRST_OFFSET,
)  # fmt: skip
LOG = (
    LOG_FIRST, LOG_RECORDS, LOG_BYTES, TRIMMED_RECORDS, TRIMMED_BYTES, TRIMS, TRIM_BLOCKED,
    TRIM_PROBLEMS,
)  # fmt: skip
TOKENIZER = (EVENTS_READ, DEAD_LETTERS, BLOCKS_WRITTEN)
LAG = (LAG_RECORDS, LAG_SECONDS)
PROCESS = (READY, LOOP_AGE, CLOCK_AHEAD, BUILD)


class Durations(NamedTuple):
    """An immutable histogram of durations in seconds; `plus` returns a new one."""

    counts: tuple[int, ...] = (0,) * (len(EDGES) + 1)
    total: float = 0.0

    def plus(self, seconds: float, times: int = 1) -> Durations:
        """Return the histogram with a duration added, `times` times."""
        counts = list(self.counts)
        counts[bisect_left(EDGES, seconds)] += times
        return Durations(tuple(counts), self.total + seconds * times)


NO_DURATIONS = Durations()


class Scrape:
    """The samples of one scrape, by metric; `common` label values come first in each sample."""

    def __init__(self, families: Iterable[Family], *common: str) -> None:
        self._common = common
        self._metrics = {family: empty(family) for family in families}

    def add(self, family: Family, value: float, *labels: str) -> None:
        """Add a sample of a counter or gauge."""
        self._sample(family, family.name, value, self._labels(family, labels))

    def add_durations(self, family: Family, durations: Durations, *labels: str) -> None:
        """Add a histogram: the number of durations up to each edge, and their sum."""
        all_labels = self._labels(family, labels)
        reached = 0
        for edge, count in zip((*EDGES, "+Inf"), durations.counts, strict=True):
            reached += count
            self._sample(family, f"{family.name}_bucket", reached, {**all_labels, "le": str(edge)})
        self._sample(family, f"{family.name}_count", reached, all_labels)
        self._sample(family, f"{family.name}_sum", durations.total, all_labels)

    def metrics(self) -> list[Metric]:
        """Return the metrics that have samples."""
        return [metric for metric in self._metrics.values() if metric.samples]

    def _labels(self, family: Family, labels: Labels) -> dict[str, str]:
        return dict(zip(family.labels, (*self._common, *labels), strict=True))

    def _sample(self, family: Family, name: str, value: float, labels: dict[str, str]) -> None:
        self._metrics[family].samples.append(Sample(name, labels, value))


def empty(family: Family) -> Metric:
    """Return a metric for prometheus_client, without samples."""
    return Metric(family.name.removesuffix("_total"), family.meaning, family.kind)


def described(families: Iterable[Family]) -> list[Metric]:
    """Return metrics without samples, so that a registry can refuse duplicates."""
    return [empty(family) for family in families]
