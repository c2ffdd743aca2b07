"""A sample of an input: what became of each event, and what they have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson

from pipeline.events.envelope import unwrap
from pipeline.events.event import Event, MalformedEvent
from pipeline.events.record import Record
from pipeline.text.term_watch import TermStatistics, term_problems
from pipeline.text.tokenizer import Tokenizer

MAX_BYTES = 64 << 20  # of the events of a sample
MAX_NAMES = 100_000  # topics and keys that are told apart
MAX_KEYS = 1000  # of one event that are looked at


class Example(NamedTuple):
    """One event, and what became of it."""

    origin: str
    event: Event | None  # None: a dead letter
    reason: str = ""
    detail: str = ""


class Sample:
    """Counts the events of a sample, and keeps the first ones as examples."""

    def __init__(
        self,
        known_keys: frozenset[str],
        examples: int,
        has_schemas: bool = False,
        envelope: Sequence[str] = (),
    ) -> None:
        self._known_keys = known_keys
        self._envelope = envelope  # the keys under which the object with the fields is
        self._has_schemas = has_schemas  # so values are no JSON, and what they are is known
        self._most_examples = examples
        self.events = self.bytes = 0
        self.documents = self.labels = self.labelled = 0
        self.examples: list[Example] = []
        self.refused: dict[str, Example] = {}  # by reason: the first one
        self.reasons: Counter[str] = Counter()
        self.topics: Counter[str] = Counter()
        self.unmapped: Counter[str] = Counter()
        self.contents: list[str | Mapping[str, float]] = []
        self._title_lengths: list[int] = []
        self._languages: list[str | None] = []
        self.first_refused = b""
        self.times: list[int] = []  # of Kafka records: the first and the last, in milliseconds

    @property
    def is_full(self) -> bool:
        """Whether no more events are to be added."""
        return self.bytes >= MAX_BYTES

    def add(
        self,
        record: Record,
        decode: Callable[[], Event],
        found: Mapping[str, Any] | None = None,
    ) -> None:
        """Count one event; `decode` returns it, or raises `MalformedEvent`.

        `found` is the object that its fields are read from, if that is not the JSON of the value.
        """
        self.events += 1
        self.bytes += len(record.value or b"")
        if record.timestamp is not None:
            times = [record.timestamp, *self.times]
            self.times = [min(times), max(times)]
        self._count_keys(found if self._has_schemas else parsed(record.value))
        try:
            event = decode()
        except MalformedEvent as error:
            example = Example(record.origin, None, error.reason, error.detail)
            self.reasons[error.reason] += 1
            self.refused.setdefault(error.reason, example)
            if not self._has_schemas:
                self.first_refused = self.first_refused or (record.value or b"")
        else:
            example = Example(record.origin, event)
            self._count(event)
        if len(self.examples) < self._most_examples:
            self.examples.append(example)

    def _count(self, event: Event) -> None:
        labelled = event.topics is not None or event.rank is not None
        if event.content is None:
            self.labels += 1
        else:
            self.documents += 1
            self.labelled += labelled
            self.contents.append(event.content)
            self._title_lengths.append(event.title_length)
            self._languages.append(event.language)
        for topic in event.topics or ():
            if topic in self.topics or len(self.topics) < MAX_NAMES:
                self.topics[topic] += 1

    def _count_keys(self, found: Mapping[str, Any] | None) -> None:
        """Count the keys of an object, without its envelope, that no field is read from."""
        if self._envelope:
            try:
                found = unwrap(dict(found or {}), self._envelope)
            except MalformedEvent:
                return
        for key in list(found or ())[:MAX_KEYS]:
            if key not in self._known_keys and len(self.unmapped) < MAX_NAMES:
                self.unmapped[key] += 1

    def terms(self, profile: str) -> tuple[int, float]:
        """The number of different terms, and of tokens per document."""
        if not self.contents:
            return 0, 0.0
        counts = Tokenizer(profile).count(self.contents, self._title_lengths, self._languages)
        return int(counts.table.size[0]), float(counts.values.sum()) / len(self.contents)

    def term_problems(self, profile: str) -> Iterator[str]:
        """Yield what is wrong with the terms of the texts."""
        texts = [content for content in self.contents if isinstance(content, str)]
        if texts:
            counts = Tokenizer(profile).count(texts)
            df = np.bincount(counts.terms, minlength=int(counts.table.size[0])).astype(np.int64)
            mean = len(counts.terms) / len(texts)
            yield from term_problems(TermStatistics(len(texts), mean, df, counts.table))


def parsed(value: bytes | None) -> Mapping[str, Any] | None:
    """The JSON object of a value, if it is one."""
    try:
        found: Any = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
