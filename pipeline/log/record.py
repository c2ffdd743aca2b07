"""The log of rounds: blocks as records that say which stretch of which source they cover.

Tokenizers write at least once, and any of them may repeat what another wrote before it died. So
every record names the offsets it covers, and every reader drops what an earlier record covered
and stops where something is missing. Nobody's word has to be trusted for that.
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
    """A stretch of a source: the offsets from `start` up to, not including, `stop`."""

    topic: str
    partition: int
    start: int
    stop: int
    identity: str = ""  # of the topic: one that is deleted and made anew counts from 0 again

    @property
    def source(self) -> tuple[str, str, int]:
        """Whose offsets these are."""
        return self.topic, self.identity, self.partition

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}] offsets {self.start} to {self.stop - 1}"


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A block, the spans it covers, and where each of its entries came from."""

    block: Block
    spans: tuple[Span, ...]
    span_of: Longs  # of each entry: which of the spans
    offsets: Longs  # of each entry: its offset there
    arrived: int = 0  # when its first event was written to its source: ms since 1970, 0 if unknown


def encode_record(record: LogRecord) -> bytes:
    """The record as bytes (see `pipeline.storage.container` for the layout)."""
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
        "span_of": narrowed(record.span_of),
        "offsets": record.offsets,
        "ready": block.ready,
        "starts": narrowed(counts.starts),
        "terms": narrowed(counts.terms),
        "values": narrowed(counts.values),
        "term_ends": narrowed(counts.table.ends[: used + 1]),
        "term_letters": counts.table.letters[: counts.table.ends[used]],
    }
    return pack(KIND, VERSION, content, arrays)


def narrowed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers in as few bytes as hold them all: most counts of a term are below 256."""
    if np.signbit(array).any():
        return array  # also keeps the sign of a zero
    for small in (np.uint8, np.uint16):
        with np.errstate(invalid="ignore"):  # not a number, or too large: then they differ
            fits = array.astype(small)
        if np.array_equal(fits, array):
            return fits
    return array


def decode_record(data: bytes, name: str) -> LogRecord:
    """Read a record; `name` is what messages call it. Anything odd is a `DamagedError`."""
    content, arrays = unpack(data, KIND, VERSION, name)
    try:
        topics = [None if named is None else tuple(named) for named in content["topics"]]
        ranks = content.get("ranks", [None] * len(topics))  # most streams have none
        columns = content["ids"], content["rows"], topics, content["times"], ranks
        entries = list(map(Entry._make, zip(*columns, strict=True)))
        counts = TermCounts(
            checked_table(arrays["term_ends"], arrays["term_letters"]),
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
        raise DamagedError(f"{name} does not hold what a block must hold: {error!r}") from None
    return record


def check_record(record: LogRecord) -> None:
    """Refuse what would lead kernels astray: they trust their indices."""
    block, counts = record.block, record.block.counts
    rows = [entry.row for entry in block.entries if entry.row is not None]
    if rows != list(range(len(block.ready))) or len(counts.starts) != len(rows) + 1:
        raise ValueError("rows are not numbered in order")
    for array, most in ((counts.terms, counts.table.size[0]), (record.span_of, len(record.spans))):
        if len(array) and not 0 <= array.min() <= array.max() < most:
            raise ValueError("a number is out of range")
    if not len(counts.terms) == len(counts.values) == counts.starts[-1] >= counts.starts[0] == 0:
        raise ValueError("terms and values do not fit their rows")
    if (np.diff(counts.starts) < 0).any():
        raise ValueError("rows overlap")
    if not len(record.span_of) == len(record.offsets) == len(block.entries):
        raise ValueError("offsets do not fit the entries")


def checked_table(ends: Longs, letters: Bytes) -> TermTable:
    """The terms of a record, numbered as they were written."""
    if len(ends) == 0 or ends[0] != 0 or ends[-1] != len(letters) or (np.diff(ends) < 0).any():
        raise ValueError("terms do not fit their letters")
    table = rebuilt(ends.astype(np.int64), letters.astype(np.uint8))
    if table.size[0] != len(ends) - 1:
        raise ValueError("a term stands twice")
    return table
