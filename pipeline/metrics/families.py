"""The metrics there are: what each is called, its labels, and what it means.

Labels are bounded by configuration: never a document or a term, and topics only up to a number
that was asked for. A test compares the table in docs/reference/metrics.md with these declarations.
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
PARTITION: Labels = ("stream", "partition")

# From a block of one document on a fast machine to a stream that is minutes behind.
EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
         300.0)  # fmt: skip


class Family(NamedTuple):
    """A metric as it is declared."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: Labels
    meaning: str


def counter(name: str, labels: Labels, meaning: str) -> Family:
    """A number that only grows."""
    return Family(f"wirerank_{name}_total", "counter", labels, meaning)


def gauge(name: str, labels: Labels, meaning: str) -> Family:
    """A number that goes up and down."""
    return Family(f"wirerank_{name}", "gauge", labels, meaning)


def histogram(name: str, labels: Labels, meaning: str) -> Family:
    """How often a number was how large."""
    return Family(f"wirerank_{name}", "histogram", labels, meaning)


ROUNDS = counter("rounds", LANE, "Rounds: labelled documents that were ranked, then learned.")
ROUNDS_WITH_TOPICS = counter(
    "rounds_with_topics", LANE, "Rounds whose document had at least one topic, or a rank."
)
LOSS_SUM = counter(
    "loss", LOSS, "Sum of a loss over all rounds (of the other measures: over rounds with topics)."
)
ROUND_AVERAGED_LOSS = gauge(
    "round_averaged_loss", LOSS, "The learning curve: the loss averaged over all rounds so far."
)
TOPIC_ROUNDS = counter(
    "topic_rounds", TOPIC, "Rounds whose document had the topic (only if topics are asked for)."
)
TOPIC_LOSS = counter(
    "topic_loss",
    TOPIC,
    "Sum over these of the share of the irrelevant topics that were ranked level with or above it.",
)
MODEL_BYTES = gauge("model_bytes", LANE, "Memory of a lane's model.")
MODEL_SIZES = {
    "connections": gauge(
        "connections", LANE, "Connections of a lane's index (feature-focus, independent)."
    ),
    "connections_per_feature": gauge(
        "connections_per_feature",
        LANE,
        "Connections that a feature of a ranked document led to, on average since the start.",
    ),
}
SHARD_SECONDS = {
    "score": counter("shard_score_seconds", LANE, "Time of a shard to score with its prototypes."),
    "wait": counter("shard_wait_seconds", LANE, "Time that a shard waited for the other shards."),
    "resolve": counter(
        "shard_resolve_seconds", LANE, "Time of a shard to rank and judge by all scores."
    ),
    "update": counter("shard_update_seconds", LANE, "Time of a shard to move its prototypes."),
}
DOCUMENTS = counter("documents", SHARD, "Documents ranked.")
VOCABULARY = gauge("vocabulary_terms", SHARD, "Terms in the vocabulary.")
VOCABULARY_CEILING = gauge("vocabulary_terms_ceiling", SHARD, "The most there may be (max_terms).")
TERMS_REFUSED = counter(
    "terms_refused", SHARD, "Terms of a single document that the vocabulary had no room for."
)
TOPICS = gauge("topics", SHARD, "Topics known.")
TOPICS_CEILING = gauge("topics_ceiling", SHARD, "The most there may be (max_topics).")
TOPICS_REFUSED = counter(
    "topics_refused", SHARD, "New topics that were left out of a label, as there was no room."
)
PENDING_DOCUMENTS = gauge(
    "pending_documents", SHARD, "Documents that wait for topics, and those that wait for a rank."
)
PENDING_LABELS = gauge("pending_labels", SHARD, "Late labels that wait for their document.")
PENDING_CEILING = gauge(
    "pending_ceiling",
    SHARD,
    "The most there may be of each of the two (max_pending, for topics and for ranks).",
)
DOCUMENTS_GIVEN_UP = counter(
    "documents_given_up",
    (*SHARD, "reason"),
    "Documents that wait for their labels no more: expired (max_pending) or superseded.",
)
UNMATCHED_LABELS = counter(
    "unmatched_labels",
    (*SHARD, "reason"),
    "Late labels that taught nothing: no_document that needed it, or only of a kind that no lane "
    "learns (rank_only, topics_only).",
)
BLOCK_SECONDS = histogram("block_seconds", SHARD, "Time to rank and learn a block.")
EVENT_TO_RANKING = histogram(
    "event_to_ranking_seconds",
    SHARD,
    "Age of a block's oldest event when its rankings were out, counted for each document of it.",
)
SNAPSHOTS = counter("snapshots", SHARD, "Snapshots written by this process.")
SNAPSHOT_AGE = gauge("snapshot_age_seconds", SHARD, "Time since the newest snapshot was written.")
SNAPSHOT_SECONDS = gauge("snapshot_seconds", SHARD, "Time that the last snapshot took.")
SNAPSHOT_BYTES = gauge("snapshot_bytes", SHARD, "Size of the newest snapshot.")
EVENTS_READ = counter("events_read", STREAM, "Events read by this process, malformed ones too.")
DEAD_LETTERS = counter(
    "dead_letters", (*STREAM, "reason"), "Malformed events put aside by this process."
)
BLOCKS_WRITTEN = counter("blocks_written", STREAM, "Blocks that this process made of them.")
LAG_RECORDS = gauge("lag_records", PARTITION, "Records of a partition that are not read yet.")
LAG_SECONDS = gauge(
    "lag_seconds",
    PARTITION,
    "Age of the last record read, while there are more; 0 when all are read.",
)
READY = gauge("ready", (), "1 when the process has recovered and follows its stream, else 0.")
LOOP_AGE = gauge("loop_age_seconds", (), "Time since the process's loop last came round.")
BUILD = Family("wirerank_build_info", "gauge", ("version", "python"), "Always 1.")

LEARNER = (
    ROUNDS, ROUNDS_WITH_TOPICS, LOSS_SUM, ROUND_AVERAGED_LOSS, TOPIC_ROUNDS, TOPIC_LOSS,
    MODEL_BYTES, *MODEL_SIZES.values(), *SHARD_SECONDS.values(), DOCUMENTS, VOCABULARY,
    VOCABULARY_CEILING, TERMS_REFUSED, TOPICS, TOPICS_CEILING, TOPICS_REFUSED, PENDING_DOCUMENTS,
    PENDING_LABELS, PENDING_CEILING, DOCUMENTS_GIVEN_UP, UNMATCHED_LABELS, BLOCK_SECONDS,
    EVENT_TO_RANKING, SNAPSHOTS, SNAPSHOT_AGE, SNAPSHOT_SECONDS, SNAPSHOT_BYTES,
)  # fmt: skip
TOKENIZER = (EVENTS_READ, DEAD_LETTERS, BLOCKS_WRITTEN)
LAG = (LAG_RECORDS, LAG_SECONDS)
PROCESS = (READY, LOOP_AGE, BUILD)


class Durations(NamedTuple):
    """A histogram of seconds; adding gives a new one, so whoever holds one sees no change."""

    counts: tuple[int, ...] = (0,) * (len(EDGES) + 1)
    total: float = 0.0

    def plus(self, seconds: float, times: int = 1) -> Durations:
        """The histogram with so many more durations of this length."""
        counts = list(self.counts)
        counts[bisect_left(EDGES, seconds)] += times
        return Durations(tuple(counts), self.total + seconds * times)


NO_DURATIONS = Durations()


class Scrape:
    """The families of one scrape as they fill; `common` label values come first in each sample."""

    def __init__(self, families: Iterable[Family], *common: str) -> None:
        self._common = common
        self._metrics = {family: empty(family) for family in families}

    def add(self, family: Family, value: float, *labels: str) -> None:
        """Add a sample of a counter or gauge."""
        self._sample(family, family.name, value, self._labels(family, labels))

    def add_durations(self, family: Family, durations: Durations, *labels: str) -> None:
        """Add a histogram: counts of all durations up to each edge, and their sum."""
        mine = self._labels(family, labels)
        reached = 0
        for edge, count in zip((*EDGES, "+Inf"), durations.counts, strict=True):
            reached += count
            self._sample(family, f"{family.name}_bucket", reached, {**mine, "le": str(edge)})
        self._sample(family, f"{family.name}_count", reached, mine)
        self._sample(family, f"{family.name}_sum", durations.total, mine)

    def metrics(self) -> list[Metric]:
        """The families that have samples."""
        return [metric for metric in self._metrics.values() if metric.samples]

    def _labels(self, family: Family, labels: Labels) -> dict[str, str]:
        return dict(zip(family.labels, (*self._common, *labels), strict=True))

    def _sample(self, family: Family, name: str, value: float, labels: dict[str, str]) -> None:
        self._metrics[family].samples.append(Sample(name, labels, value))


def empty(family: Family) -> Metric:
    """The family as prometheus_client takes it, without samples."""
    return Metric(family.name.removesuffix("_total"), family.meaning, family.kind)


def described(families: Iterable[Family]) -> list[Metric]:
    """What a registry needs to refuse the same metrics twice."""
    return [empty(family) for family in families]
