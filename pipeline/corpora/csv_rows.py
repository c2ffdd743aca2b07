"""Rows of a CSV or TSV file as events: the header names the keys, the cells are strings.

Quotes are those of RFC 4180: a cell in quotes may have delimiters and line ends in it, and two
quotes stand for one. A row that cannot be read is refused with a reason, and the next one is read.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from pipeline.corpora.input_file import check_input, parts_of
from pipeline.corpora.lines import BEYOND, bounded_lines
from pipeline.corpora.packed import Chunks, unpacked_name
from pipeline.corpora.source import RefusedEvent, SourceError
from pipeline.events.csv_row import DELIMITERS
from pipeline.events.event import MAX_EVENT_BYTES, Refusal

QUOTES = ("double", "none")
SPLITS = {**DELIMITERS, "none": ""}
BAD_ROW = "bad_row"
MAX_READS = 8
_RANK = re.compile(r"[0-9]{1,9}")
_QUOTED = re.compile(rb'"[^"]*+"')


class CsvRows:
    """Source of the rows of a file.

    Parameters
    ----------
    path
        A CSV file, packed or not; `-` is standard input. Each member of a zip file has a header.
    delimiter
        comma, semicolon, tab, pipe, or the sign itself; auto takes the one that the header has.
    quote
        double, or none for files in which a quote is a sign like any other.
    split
        What separates the topics in a cell of the column `topics`.

    """

    topics: Sequence[str] = ()  # topics are discovered
    total: int | None = None  # not known before the file is read

    def __init__(
        self,
        path: Path,
        delimiter: str = "auto",
        quote: str = "double",
        split: str = "semicolon",
        max_event_bytes: int = MAX_EVENT_BYTES,
    ) -> None:
        check_input(path, "a CSV or TSV file with a header")
        self._path = path
        self._delimiter = "" if delimiter == "auto" else sign_of("delimiter", delimiter, DELIMITERS)
        self._split = sign_of("split", split, SPLITS)
        if quote not in QUOTES:
            raise SourceError(f"csv has no quote={quote}; choose {' or '.join(QUOTES)}")
        self._quoted = quote != "none"
        self._longest = max_event_bytes
        # One limit for the whole process, and only a second one: rows are limited before.
        csv.field_size_limit(max(csv.field_size_limit(), max_event_bytes + BEYOND))

    def _parts(self) -> Iterator[Chunks]:
        return parts_of(self._path)

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts():
            lines = RowLines(bounded_lines(part, self._longest + BEYOND), self._longest)
            try:
                columns = yield from self._header(lines)
            except (csv.Error, RowTooLong) as error:
                raise SourceError(f"{self._path}: the header cannot be read: {error}") from None
            if columns is not None:
                yield b"\n"  # stands for the header, so that rows have their numbers
                yield from self._rows(lines, columns)

    def _header(self, lines: RowLines) -> Generator[bytes, None, Columns | None]:
        """Read the header; None if there is none."""
        while (first := lines.first_line()) is not None:
            if first.strip():
                break
            yield b"" if not first else b"\n"
            if first:
                lines.begin_row()
                next(lines)
        if first is None:
            return None
        delimiter = self._delimiter or delimiter_of(first, self._path)
        lines.begin_row()
        names = next(self._reader(lines, delimiter))
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise SourceError(
                f"{self._path}: the header has the column {twice[0][:80]!r} several times; "
                "expected a header with different names in the first row"
            )
        return Columns(delimiter, names)

    def _reader(self, lines: RowLines, delimiter: str) -> Iterator[list[str]]:
        if not self._quoted:
            return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=delimiter, strict=True)

    def _rows(self, lines: RowLines, columns: Columns) -> Iterator[bytes]:
        rows = self._reader(lines, columns.delimiter)
        while True:
            lines.begin_row()
            try:
                row = next(rows)
                yield self._event(columns.names, row) if row else b"\n"
            except StopIteration:
                return
            except Pause:
                yield b""
            except RowRefused as refused:
                yield RefusedEvent(lines.raw_row(), Refusal(BAD_ROW, str(refused)))
            except (csv.Error, RowTooLong) as error:
                yield lines.give_up(error)

    def _event(self, names: Sequence[str], row: Sequence[str]) -> bytes:
        if len(row) != len(names):
            raise RowRefused(f"the row has {len(row):,} cells, and the header has {len(names):,}")
        # An empty cell is a key that is missing: CSV cannot tell an empty text from none.
        fields: dict[str, Any] = {name: cell for name, cell in zip(names, row, strict=True) if cell}
        topics, rank = fields.get("topics"), fields.get("rank")
        if topics is not None and self._split:
            fields["topics"] = [name for one in topics.split(self._split) if (name := one.strip())]
        if rank is not None and _RANK.fullmatch(rank):
            fields["rank"] = int(rank)
        try:
            return orjson.dumps(fields)
        except orjson.JSONEncodeError:
            raise RowRefused("the row is not UTF-8") from None


class Columns(NamedTuple):
    """The delimiter of a file, and the names of its columns."""

    delimiter: str
    names: list[str]


class Pause(Exception):  # noqa: N818 - it is no error
    """No more input is available for now."""


class RowTooLong(Exception):  # noqa: N818 - it only ends a row
    """A row has more bytes than an event may have."""


class RowRefused(Exception):  # noqa: N818 - it only ends a row
    """A row that is no event."""


class RowLines:
    """Lines for `csv.reader`, with the lines of the current row at hand.

    A line that was read `MAX_READS` times, because rows before it had to be given up, is a row of
    its own. Otherwise each line of a file could be the beginning of a row that never ends.
    """

    def __init__(self, lines: Iterator[bytes], longest: int) -> None:
        self._lines = lines
        self._longest = longest
        self._again: deque[tuple[bytes, int]] = deque()  # lines to read again, and reads so far
        self._row: list[bytes] = []
        self._reads: list[int] = []  # by line of the row: how often it was read, with this time
        self._size = 0

    def __iter__(self) -> RowLines:
        return self

    def __next__(self) -> str:
        if self._row and self._reads[0] > MAX_READS:
            raise RowTooLong("a quote is not closed in its line")
        line, reads = self._next_line()
        while not line:
            if not self._row:
                raise Pause
            line, reads = self._next_line()
        self._row.append(line)
        self._reads.append(reads + 1)
        self._size += len(line)
        if self._size > self._longest + 2:  # a line end may be two bytes
            raise RowTooLong(f"the row has more than {self._longest:,} bytes")
        return line.decode("utf-8", "surrogateescape")

    def _next_line(self) -> tuple[bytes, int]:
        return self._again.popleft() if self._again else (next(self._lines), 0)

    def first_line(self) -> bytes | None:
        """The line that comes next; empty if there is none for now, None if there is none."""
        try:
            line, reads = self._next_line()
        except StopIteration:
            return None
        if line:
            self._again.appendleft((line, reads))
        return line

    def begin_row(self) -> None:
        """Forget the lines of the last row."""
        self._row, self._reads, self._size = [], [], 0

    def raw_row(self) -> bytes:
        """The row as it is in the file."""
        return b"".join(self._row)

    def give_up(self, error: Exception) -> RefusedEvent:
        """Refuse the first line of a row; its other lines are read again, as rows.

        If a quote is not closed, all that follows seems to be in one cell. Only the line with that
        quote is to be lost.
        """
        first, *others = self._row
        self._again.extendleft(reversed([*zip(others, self._reads[1:], strict=True)]))
        if len(first) > self._longest and isinstance(error, RowTooLong):
            return RefusedEvent(first, Refusal("too_large", str(error)))
        hint = "; a quote is not closed" if others else ""
        return RefusedEvent(first, Refusal(BAD_ROW, f"the row cannot be read: {error}{hint}"))


def delimiter_of(header: bytes, path: Path) -> str:
    """The delimiter that the header of a file has."""
    text = _QUOTED.sub(b"", header).decode("utf-8", "replace")
    present = [sign for sign in DELIMITERS.values() if sign in text]
    if "\t" in present and unpacked_name(path.name).lower().endswith((".tsv", ".tab")):
        return "\t"
    if len(present) > 1:
        raise SourceError(
            f"{path}: the header has several signs that may be its delimiter "
            f"({' '.join(name for name, sign in DELIMITERS.items() if sign in present)}); write "
            f"csv:{path},delimiter=comma for instance"
        )
    return present[0] if present else ","


def sign_of(option: str, text: str, known: dict[str, str]) -> str:
    """The sign that an option names, or the option itself if it is a sign."""
    if text in known:
        return known[text]
    if len(text) == 1 and text not in '"\r\n\0 ' and not text.isalnum():
        return text
    raise SourceError(
        f"csv has no {option}={text[:80]}; choose {', '.join(known)}, or write one sign"
    )
