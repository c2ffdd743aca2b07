"""How much of a source is in a topic already, found from the records of the topic alone.

Every record that is played carries headers that say where it comes from:

    source      which source: a digest of its first event, its format and the number of the pass
    index       the number of the event in the source, from 0
    complete    all events up to this number were acknowledged before this record was sent
    chain       a digest of all events up to and including this one
    partitions  the number of partitions that the topic had

So the last records of a topic tell the progress: all events up to the highest `complete` are there,
and beyond it those that are found. Nothing is assumed about the order in which an interrupted run
left its records: a client that dropped a batch may have written the next one. `chain` proves that
the source, read again, is the one that was played.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from consumers.kafka.client_types import Consumer, Header, Message, TopicPartition
from consumers.kafka.clients import new_consumer
from consumers.settings import KafkaSettings

MOST_IN_FLIGHT = 4096  # events; `index` is never further than this ahead of `complete`
# How many records of a partition are searched at most, if other programs write to it too.
MOST_SEARCHED = 100_000
FIRST_STEP, LARGEST_STEP = 2_000, 50_000
POLL_MS = 500
MOST_EMPTY_POLLS = 60

HEADERS = ("source", "index", "complete", "chain", "partitions")
NOTHING = -1  # the `complete` of a source none of whose events are there


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """Where a record comes from, as its headers say."""

    source: str
    index: int
    complete: int
    chain: str
    partitions: int

    def headers(self) -> list[Header]:
        """The headers of the record."""
        values = (self.source, self.index, self.complete, self.chain, self.partitions)
        return [(name, str(value).encode()) for name, value in zip(HEADERS, values, strict=True)]


def source_name(first_event: bytes, times: int, format_: str) -> str:
    """The digest that stands for a source in the headers; it does not depend on the path."""
    content = b"%d %s " % (times, format_.encode()) + first_event
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def extend_chain(chain: str, event: bytes) -> str:
    """The digest of all events up to this one, given the digest of all events before it."""
    return hashlib.blake2b(chain.encode() + event, digest_size=8).hexdigest()


def read_origin(headers: Sequence[Header]) -> RecordOrigin | None:
    """The origin of a record; None if another program wrote the record."""
    values = dict(headers)
    try:
        texts = [values[name].decode("ascii") for name in HEADERS]
        source, index, complete, chain, partitions = texts
        origin = RecordOrigin(
            source, int(index[:20]), int(complete[:20]), chain, int(partitions[:20])
        )
    except (KeyError, ValueError, AttributeError):
        return None
    valid = NOTHING <= origin.complete < origin.index <= origin.complete + MOST_IN_FLIGHT
    return origin if valid else None


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """How much of a source is in a topic."""

    complete: int = NOTHING
    beyond: dict[int, str] = field(default_factory=dict)  # chain by index
    ends: dict[int, int] = field(
        default_factory=dict
    )  # by partition: the offset behind its last event
    partitions: frozenset[int] = frozenset()  # numbers of partitions that headers name
    unsearched: tuple[int, ...] = ()  # partitions with older records that were not searched

    @property
    def last(self) -> int:
        """The highest index that was found."""
        return max(self.beyond, default=self.complete)

    @property
    def missing(self) -> int:
        """How many events up to the last are not there, or were not found."""
        return self.last - self.complete - len(self.beyond)

    def count(self, limit: int = 0) -> int:
        """How many of the first `limit` events are there (0: of all events)."""
        beyond = sum(1 for index in self.beyond if not limit or index < limit)
        return (min(self.complete + 1, limit) if limit else self.complete + 1) + beyond


class BackwardSearch:
    """Searches one partition from its end for the records of a source."""

    def __init__(self, consumer: Consumer, partition: TopicPartition, begin: int, end: int) -> None:
        self._consumer = consumer
        self._partition = partition
        self._begin = begin
        self._low = self._end = end
        self._step = FIRST_STEP
        self.found: list[tuple[int, RecordOrigin]] = []  # with offsets

    def reaches(self, complete: int) -> bool:
        """Whether no older record can have an index above `complete`.

        A run writes in ascending order: first the events missing up to the last one that was there,
        with `complete` unchanged; then, when those are acknowledged, the rest, with a higher
        `complete`. So once a record with an index up to the final `complete` is found, all records
        before it are up to `complete` too.
        """
        return self._low <= self._begin or any(origin.index <= complete for _, origin in self.found)

    @property
    def gave_up(self) -> bool:
        """Whether the most records that may be searched were searched."""
        return self._end - self._low >= MOST_SEARCHED

    @property
    def end_of_source(self) -> int | None:
        """The offset behind the source's last record; the end, if that record was not found."""
        if self.found:
            return max(offset for offset, _ in self.found) + 1
        return self._end if self._low > self._begin else None

    def search_further(self, source: str) -> None:
        """Search some more records, towards the beginning."""
        low = max(self._begin, self._low - self._step)
        self._step = min(2 * self._step, LARGEST_STEP)
        for message in self._between(low, self._low):
            origin = read_origin(message.headers)
            if origin is not None and origin.source == source:
                self.found.append((message.offset, origin))
        self._low = low

    def _between(self, low: int, high: int) -> list[Message]:
        messages: list[Message] = []
        self._consumer.assign([self._partition])
        self._consumer.seek(self._partition, low)
        empty_polls = 0
        while self._consumer.position(self._partition) < high:
            polled = self._consumer.poll(POLL_MS, max_records=high - low).get(self._partition, [])
            messages += (message for message in polled if message.offset < high)
            empty_polls = 0 if polled else empty_polls + 1
            if empty_polls >= MOST_EMPTY_POLLS:
                raise TimeoutError(f"{self._partition.topic} cannot be read: no records arrive")
        return messages


def read_progress(
    settings: KafkaSettings, topic: str, partitions: int, source: str, say: Callable[[str], None]
) -> ReplayProgress:
    """Find out how much of a source is in a topic; `say` tells the user what takes time."""
    # Uncommitted: no transaction is used, and one of another program must not hide records.
    consumer = new_consumer(settings, undecodable_batches=True, isolation_level="read_uncommitted")
    try:
        topic_partitions = [TopicPartition(topic, number) for number in range(partitions)]
        begins, ends = (
            consumer.beginning_offsets(topic_partitions),
            consumer.end_offsets(topic_partitions),
        )
        searches = [BackwardSearch(consumer, p, begins[p], ends[p]) for p in topic_partitions]
        for search in searches:
            search.search_further(source)
        if not any(search.found or search.reaches(NOTHING) for search in searches):
            say("other programs write to this topic too; searching further back for this source")
        for search in searches:
            while not search.found and not search.reaches(NOTHING) and not search.gave_up:
                search.search_further(source)
        # `complete` is final once the last record of the source in each partition was found.
        progress = combine(searches)
        for search in searches:
            while progress.missing and not search.reaches(progress.complete) and not search.gave_up:
                search.search_further(source)
                progress = combine(searches)
        return progress
    finally:
        consumer.close(autocommit=False)


def combine(searches: Sequence[BackwardSearch]) -> ReplayProgress:
    """The progress according to the records that were found so far."""
    origins = [origin for search in searches for _, origin in search.found]
    complete = max((origin.complete for origin in origins), default=NOTHING)
    return ReplayProgress(
        complete,
        {origin.index: origin.chain for origin in origins if origin.index > complete},
        {n: end for n, search in enumerate(searches) if (end := search.end_of_source) is not None},
        frozenset(origin.partitions for origin in origins),
        tuple(n for n, search in enumerate(searches) if not search.reaches(complete)),
    )
