"""Records of the log: a block, and the source offsets that it covers.

`pipeline.log.coverage` uses these offsets to skip repeated events and to detect missing ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Bytes, Floats, Longs
from learners.checks import (
    MAX_COUNT,
    bools,
    check_finite,
    check_range,
    check_shape,
    check_starts,
    letters,
)
from pipeline.events.event import (
    MAX_FEATURE_VALUE,
    MAX_ID_CHARACTERS,
    MAX_TOPICS_PER_EVENT,
    MIN_FEATURE_VALUE,
)
from pipeline.events.passed_on import from_json, to_json
from pipeline.log.block import Block, Entry
from pipeline.storage.container import Arrays, DamagedError, pack, unpack
from pipeline.text.sip_hash import PROCESS_KEY
from pipeline.text.terms import MAX_TERM_BYTES, TermTable, check_words, rebuilt
from pipeline.text.tokenizer import TermCounts

KIND = b"WRBK"
VERSION = 1
MAX_OFFSET = 1 << 63


@dataclass(frozen=True, slots=True)
class Span:
    """A range of offsets of a source partition: from `start` up to, but not including, `stop`."""

    topic: str
    partition: int
    start: int
    stop: int
    identity: str = ""  # the Kafka topic's id; a topic that is deleted and recreated gets a new one

    @property
    def source(self) -> tuple[str, str, int]:
        """The partition that the offsets belong to: Kafka topic, its identity, partition number."""
        return self.topic, self.identity, self.partition

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}] offsets {self.start} to {self.stop - 1}"


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A block, the spans that it covers, and the source offset of each entry."""

    block: Block
    spans: tuple[Span, ...]
    span_of: Longs  # per entry: the index of its span
    offsets: Longs  # per entry: its offset in the source
    arrived: int = 0  # when its first event was written to the source, in ms since 1970; 0: unknown


def encode_record(record: LogRecord) -> bytes:
    """Return a record as bytes; `pipeline.storage.container` describes the layout."""
    block, counts = record.block, record.block.counts
    used = int(counts.table.size[0])
    content = {
        "arrived": record.arrived,
        "spans": [[s.topic, s.partition, s.start, s.stop, s.identity] for s in record.spans],
        "ids": [entry.id for entry in block.entries],
        "rows": [entry.row for entry in block.entries],
        "topics": [entry.topics for entry in block.entries],
        "times": [entry.time for entry in block.entries],
    }
    if any(entry.rank is not None for entry in block.entries):
        content["ranks"] = [entry.rank for entry in block.entries]
    if any(entry.passed_on is not None for entry in block.entries):
        content["passed_on"] = [to_json(entry.passed_on) for entry in block.entries]
    arrays = {
        "span_of": narrow(record.span_of),
        "offsets": record.offsets,
        "ready": block.ready,
        "starts": narrow(counts.starts),
        "terms": narrow(counts.terms),
        "values": narrow(counts.values),
        "term_ends": narrow(counts.table.ends[: used + 1]),
        "term_letters": counts.table.letters[: counts.table.ends[used]],
    }
    return pack(KIND, VERSION, content, arrays)


def narrow(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the same numbers in the smallest type that holds them; most counts fit a byte."""
    if np.signbit(array).any():
        return array  # unsigned types would also lose the sign of -0.0
    for small in (np.uint8, np.uint16):
        with np.errstate(invalid="ignore"):  # NaN and too large values compare unequal below
            narrow_array = array.astype(small)
        if np.array_equal(narrow_array, array):
            return narrow_array
    return array


def decode_record(data: bytes, name: str) -> LogRecord:
    """Decode a record; raise `DamagedError`, with `name` in the message, if it is not valid."""
    content, arrays = unpack(data, KIND, VERSION, name)
    try:
        entries = decode_entries(content)
        spans = tuple(Span(*span) for span in content["spans"])
        check_spans(spans)
        counts, ready = decode_counts(arrays)
        span_of = integers(arrays, "span_of", len(entries), below=len(spans))
        offsets = integers(arrays, "offsets", len(entries))
        check_offsets(spans, span_of, offsets)
        rows = [entry.row for entry in entries if entry.row is not None]
        if rows != list(range(len(ready))):
            raise ValueError("the rows of documents must be 0, 1, 2, ...")
        if type(content["arrived"]) is not int:
            raise ValueError("the time of arrival must be a whole number of milliseconds")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DamagedError(f"{name} is not a valid block: {error!r}") from None
    return LogRecord(Block(entries, counts, ready), spans, span_of, offsets, content["arrived"])


def decode_spans(data: bytes, name: str) -> tuple[Span, ...]:
    """Return only the source offsets that a record covers; raise `DamagedError` as above."""
    content, _ = unpack(data, KIND, VERSION, name)
    try:
        spans = tuple(Span(*span) for span in content["spans"])
        check_spans(spans)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DamagedError(f"{name} is not a valid block: {error!r}") from None
    return spans


def decode_entries(content: dict[str, Any]) -> list[Entry]:
    """Return the entries of a record; raise ValueError if one is not what an event can be.

    Kernels use ranks and the numbers of topics as indices. The ceiling of the memory rests on the
    lengths of ids and of topics.
    """
    topics = [None if names is None else tuple(names) for names in content["topics"]]
    ranks = content.get("ranks", [None] * len(topics))  # absent in streams without ranks
    passed_on = list(map(from_json, content.get("passed_on", [None] * len(topics))))
    columns = content["ids"], content["rows"], topics, content["times"], ranks, passed_on
    entries = list(map(Entry._make, zip(*columns, strict=True)))
    labels = [names for names in topics if names]
    check_types("ids", content["ids"], str, int)
    check_types("rows", content["rows"], int, NoneType)
    check_types("topics", chain.from_iterable(labels), str)
    check_types("times", content["times"], str, NoneType)
    check_types("ranks", ranks, int, NoneType)
    check_lengths("ids", (id_ for id_ in content["ids"] if type(id_) is str), MAX_ID_CHARACTERS)
    check_lengths("topics", set(chain.from_iterable(labels)), MAX_TERM_BYTES)
    check_lengths("labels", labels, MAX_TOPICS_PER_EVENT)
    if any(len(set(names)) != len(names) for names in labels):
        raise ValueError("a label has the same topic twice")
    if min((rank for rank in ranks if rank is not None), default=1) < 1:
        raise ValueError("a rank is below 1")
    return entries


def check_types(name: str, values: Iterable[object], *expected: type) -> None:
    """Raise ValueError if a value has another type. True and False are no integers here."""
    if wrong := set(map(type, values)) - {*expected}:
        found, wanted = (
            ", ".join(sorted(t.__name__ for t in types)) for types in (wrong, expected)
        )
        raise ValueError(f"{name} has values of type {found}, expected {wanted}")


def check_lengths(name: str, values: Iterable[Sized], most: int) -> None:
    """Raise ValueError if a value is empty, or longer than an event can have it."""
    lengths = set(map(len, values))
    if lengths and not 0 < min(lengths) <= max(lengths) <= most:
        found = f"{min(lengths):,} to {max(lengths):,}"
        raise ValueError(f"{name} has lengths from {found}, expected 1 to {most:,}")


def check_spans(spans: Sequence[Span]) -> None:
    """Raise ValueError if a span is no range of offsets, or a partition has two spans."""
    for span in spans:
        check_types("spans", (span.topic, span.identity), str)
        check_types("spans", (span.partition, span.start, span.stop), int)
        if not (span.partition >= 0 and 0 <= span.start <= span.stop < MAX_OFFSET):
            raise ValueError(f"{span} is not a range of offsets")
    if len({span.source for span in spans}) < len(spans):
        raise ValueError("two spans are of the same partition")


def check_offsets(spans: Sequence[Span], span_of: Longs, offsets: Longs) -> None:
    """Raise ValueError if an entry lies outside of its span, or two entries have the same offset.

    The former would look like one that an earlier record has covered, and would be skipped. The
    latter would be learned twice. Within a span offsets grow, as in the source.
    """
    starts = np.array([span.start for span in spans], np.int64)[span_of]
    stops = np.array([span.stop for span in spans], np.int64)[span_of]
    outside = np.flatnonzero((offsets < starts) | (offsets >= stops))
    if len(outside):
        i = int(outside[0])
        raise ValueError(f"an entry has offset {offsets[i]}, outside of {spans[span_of[i]]}")
    in_spans = np.argsort(span_of, kind="stable")
    same_span = np.diff(span_of[in_spans]) == 0
    falls = np.flatnonzero(same_span & (np.diff(offsets[in_spans]) <= 0))
    if len(falls):
        first, second = offsets[in_spans[falls[0]]], offsets[in_spans[falls[0] + 1]]
        raise ValueError(f"offset {second} follows offset {first} of the same span")


def decode_counts(arrays: Arrays) -> tuple[TermCounts, Bools]:
    """Return the term counts, and which rows are ready-made; raise ValueError if they are wrong."""
    table = decode_terms(integers(arrays, "term_ends"), letters(arrays, "term_letters"))
    ready = bools(arrays, "ready", None)
    terms = integers(arrays, "terms", below=int(table.size[0])).astype(np.int32)
    starts = integers(arrays, "starts", len(ready) + 1)
    check_starts("starts", starts, len(terms))
    values = numbers(arrays, "values", len(terms))
    check_values(values, np.repeat(ready, np.diff(starts)))
    return TermCounts(table, starts, terms, values), ready


def check_values(values: Floats, ready: Bools) -> None:
    """Raise ValueError if a value is neither a count nor what a feature can be.

    A table is read at small counts, so none may be negative. Squares of features must neither
    vanish nor become infinite.
    """
    size = np.abs(values)
    is_feature = (size == 0.0) | ((size >= MIN_FEATURE_VALUE) & (size <= MAX_FEATURE_VALUE))
    is_count = (values >= 1.0) & (size <= MAX_COUNT)
    wrong = np.flatnonzero(~np.where(ready, is_feature, is_count))
    if len(wrong):
        kind = "feature" if ready[wrong[0]] else "count of a term"
        raise ValueError(f"array values has {values[wrong[0]]}, which is no {kind}")


def integers(
    arrays: Arrays, name: str, length: int | None = None, below: int = MAX_OFFSET
) -> Longs:
    """Return an array of whole numbers from 0 up to `below` - 1, stored in any integer type."""
    array = numbers_in(arrays, name, "iu", length)
    check_range(name, array, 0, below)
    return array.astype(np.int64)


def numbers(arrays: Arrays, name: str, length: int) -> Floats:
    """Return an array of finite numbers, stored in any type."""
    array = numbers_in(arrays, name, "iuf", length).astype(np.float64)
    check_finite(name, array)
    return array


def numbers_in(arrays: Arrays, name: str, kinds: str, length: int | None) -> npt.NDArray[Any]:
    """Return an array of one dimension whose type is of one of these kinds; see `narrow`."""
    array = arrays.get(name)
    if array is None or array.dtype.kind not in kinds:
        found = "missing" if array is None else f"of type {array.dtype.name}"
        raise ValueError(f"array {name} is {found}, expected an array of numbers")
    check_shape(name, array, length)
    return array


def decode_terms(ends: Longs, term_letters: Bytes) -> TermTable:
    """Return the terms of a record, in the numbering that it was written with."""
    check_starts("term_ends", ends, len(term_letters))
    check_words(ends, term_letters)
    table = rebuilt(ends, term_letters, PROCESS_KEY)
    if table.size[0] != len(ends) - 1:
        raise ValueError("a term occurs twice")
    return table
