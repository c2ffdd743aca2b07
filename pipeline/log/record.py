"""Records of the log: a block, and the source offsets that it covers.

`pipeline.log.coverage` uses these offsets to skip repeated events and to detect missing ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from learners.arrays import Bytes, Longs
from pipeline.log.block import Block, Entry
from pipeline.storage.container import DamagedError, pack, unpack
from pipeline.text.terms import TermTable, rebuilt
from pipeline.text.tokenizer import TermCounts

KIND = b"WRBK"
VERSION = 1


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
        topics = [None if names is None else tuple(names) for names in content["topics"]]
        ranks = content.get("ranks", [None] * len(topics))  # absent in streams without ranks
        columns = content["ids"], content["rows"], topics, content["times"], ranks
        entries = list(map(Entry._make, zip(*columns, strict=True)))
        counts = TermCounts(
            decode_terms(arrays["term_ends"], arrays["term_letters"]),
            arrays["starts"].astype(np.int64),
            arrays["terms"].astype(np.int32),
            arrays["values"].astype(np.float64),
        )
        spans = tuple(Span(*span) for span in content["spans"])
        block = Block(entries, counts, arrays["ready"])
        span_of, offsets = arrays["span_of"].astype(np.int64), arrays["offsets"].astype(np.int64)
        record = LogRecord(block, spans, span_of, offsets, int(content["arrived"]))
        check_record(record)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DamagedError(f"{name} is not a valid block: {error!r}") from None
    return record


def check_record(record: LogRecord) -> None:
    """Raise ValueError if indices are out of range, because kernels do not check them."""
    block, counts = record.block, record.block.counts
    rows = [entry.row for entry in block.entries if entry.row is not None]
    if rows != list(range(len(block.ready))) or len(counts.starts) != len(rows) + 1:
        raise ValueError("the rows of documents must be 0, 1, 2, ...")
    for array, bound in ((counts.terms, counts.table.size[0]), (record.span_of, len(record.spans))):
        if len(array) and not 0 <= array.min() <= array.max() < bound:
            raise ValueError("an index of a term or span is out of range")
    if not len(counts.terms) == len(counts.values) == counts.starts[-1] >= counts.starts[0] == 0:
        raise ValueError("the number of terms or values does not match the rows")
    if (np.diff(counts.starts) < 0).any():
        raise ValueError("the starts of rows must not decrease")
    if not len(record.span_of) == len(record.offsets) == len(block.entries):
        raise ValueError("the number of offsets does not match the entries")


def decode_terms(ends: Longs, letters: Bytes) -> TermTable:
    """Return the terms of a record, in the numbering that it was written with."""
    if len(ends) == 0 or ends[0] != 0 or ends[-1] != len(letters) or (np.diff(ends) < 0).any():
        raise ValueError("the ends of terms do not match their letters")
    table = rebuilt(ends.astype(np.int64), letters.astype(np.uint8))
    if table.size[0] != len(ends) - 1:
        raise ValueError("a term occurs twice")
    return table
