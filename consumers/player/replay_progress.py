"""What of a source is in a topic already, told by the records alone.

Every record that is played carries headers that say where it is from:

    source      which source: a digest of its first event and of what else tells it apart
    index       the number of the event in the source, from 0
    complete    every event up to this number was acknowledged before this record was sent
    chain       a digest of all events up to and with this one
    partitions  how many partitions the topic had

So the last records of a topic say what is there: everything up to the highest `complete`, and what
is seen beyond it. Nothing is assumed of the order in which a broken run left them: a client that
gave a batch up may have written the next one. `chain` proves that the source, read again, is the
one that was played.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kafka import TopicPartition

from consumers.config import KafkaSettings
from consumers.kafka.clients import Consumer, Header, Message, new_consumer

MOST_IN_FLIGHT = 4096  # events; `index` is never further than this ahead of `complete`
# How far back a partition is searched in which others write too.
MOST_LOOKED_AT = 100_000
FIRST_STEP, LARGEST_STEP = 2_000, 50_000
POLL_MS = 500
PATIENCE_POLLS = 60

HEADERS = ("source", "index", "complete", "chain", "partitions")
NOTHING = -1  # the `complete` of a source of which nothing is there


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a record is from."""

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
    """What a source is called in the headers: the same wherever its file lies."""
    content = b"%d %s " % (times, format_.encode()) + first_event
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def link(chain: str, event: bytes) -> str:
    """The digest of all events up to this one, from that of the events before it."""
    return hashlib.blake2b(chain.encode() + event, digest_size=8).hexdigest()


def read_mark(headers: Sequence[Header]) -> Mark | None:
    """The mark of a record; None if the headers are not ours."""
    found = dict(headers)
    try:
        texts = [found[name].decode("ascii") for name in HEADERS]
        source, index, complete, chain, partitions = texts
        mark = Mark(source, int(index[:20]), int(complete[:20]), chain, int(partitions[:20]))
    except (KeyError, ValueError, AttributeError):
        return None
    ours = NOTHING <= mark.complete < mark.index <= mark.complete + MOST_IN_FLIGHT
    return mark if ours else None


@dataclass(frozen=True, slots=True)
class Already:
    """What of a source is in a topic."""

    complete: int = NOTHING
    beyond: dict[int, str] = field(default_factory=dict)  # index: chain
    ends: dict[int, int] = field(default_factory=dict)  # partition: offset behind all of ours
    partitions: frozenset[int] = frozenset()  # numbers of partitions that the marks name
    unsearched: tuple[int, ...] = ()  # partitions where more may lie further back

    @property
    def last(self) -> int:
        """The highest index that is there."""
        return max(self.beyond, default=self.complete)

    @property
    def missing(self) -> int:
        """How many are not there, or were not found, of those up to the last."""
        return self.last - self.complete - len(self.beyond)

    def count(self, limit: int = 0) -> int:
        """How many events are there, of the first `limit` (0: of all)."""
        beyond = sum(1 for index in self.beyond if not limit or index < limit)
        return (min(self.complete + 1, limit) if limit else self.complete + 1) + beyond


class Search:
    """The records of one partition that carry our mark, looked for from the end."""

    def __init__(self, consumer: Consumer, where: TopicPartition, begin: int, end: int) -> None:
        self._consumer = consumer
        self._where = where
        self._begin = begin
        self._low = self._end = end
        self._step = FIRST_STEP
        self.marks: list[tuple[int, Mark]] = []  # with offsets

    def reaches(self, complete: int) -> bool:
        """Whether nothing that lies further back can have a higher index.

        A run writes in ascending order: first what was missing up to the last that was there, with
        `complete` as it was; then, when all that is acknowledged, the rest, with `complete` beyond
        it. So nothing before a record that is not beyond the final `complete` is beyond it.
        """
        return self._low <= self._begin or any(mark.index <= complete for _, mark in self.marks)

    @property
    def given_up(self) -> bool:
        """Whether too much was looked at."""
        return self._end - self._low >= MOST_LOOKED_AT

    @property
    def behind_ours(self) -> int | None:
        """The offset behind our last record; the end, if that may lie further back."""
        if self.marks:
            return max(offset for offset, _ in self.marks) + 1
        return self._end if self._low > self._begin else None

    def back(self, source: str) -> None:
        """Look at some more records, further back."""
        low = max(self._begin, self._low - self._step)
        self._step = min(2 * self._step, LARGEST_STEP)
        for message in self._between(low, self._low):
            mark = read_mark(message.headers)
            if mark is not None and mark.source == source:
                self.marks.append((message.offset, mark))
        self._low = low

    def _between(self, low: int, high: int) -> list[Message]:
        found: list[Message] = []
        self._consumer.assign([self._where])
        self._consumer.seek(self._where, low)
        silent = 0
        while self._consumer.position(self._where) < high:
            polled = self._consumer.poll(POLL_MS, max_records=high - low).get(self._where, [])
            found += (message for message in polled if message.offset < high)
            silent = 0 if polled else silent + 1
            if silent >= PATIENCE_POLLS:
                raise TimeoutError(f"{self._where.topic} cannot be read back from its end")
        return found


def look_back(
    settings: KafkaSettings, topic: str, partitions: int, source: str, say: Callable[[str], None]
) -> Already:
    """Find out what of a source is in a topic."""
    # Uncommitted: ours are in no transaction, and one of somebody else must not hide them.
    consumer = new_consumer(settings, isolation_level="read_uncommitted")
    try:
        places = [TopicPartition(topic, number) for number in range(partitions)]
        begins, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
        searches = [Search(consumer, place, begins[place], ends[place]) for place in places]
        for search in searches:
            search.back(source)
        if not any(search.marks or search.reaches(NOTHING) for search in searches):
            say("others have written here too; looking further back for this source")
        for search in searches:
            while not search.marks and not search.reaches(NOTHING) and not search.given_up:
                search.back(source)
        # Later records know of more: `complete` is final once the last of each partition is seen.
        already = found(searches)
        for search in searches:
            while already.missing and not search.reaches(already.complete) and not search.given_up:
                search.back(source)
                already = found(searches)
        return already
    finally:
        consumer.close(autocommit=False)


def found(searches: Sequence[Search]) -> Already:
    """What the records say that were looked at by now."""
    marks = [mark for search in searches for _, mark in search.marks]
    complete = max((mark.complete for mark in marks), default=NOTHING)
    return Already(
        complete,
        {mark.index: mark.chain for mark in marks if mark.index > complete},
        {n: end for n, search in enumerate(searches) if (end := search.behind_ours) is not None},
        frozenset(mark.partitions for mark in marks),
        tuple(n for n, search in enumerate(searches) if not search.reaches(complete)),
    )
