"""Parse values that are single rows of CSV, without a header: the settings name the columns."""

from __future__ import annotations

import csv
from typing import Any

from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES, MalformedEvent

CSV = "csv"
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
EXAMPLE = "csv:columns=id+headline+body+tags,delimiter=semicolon"


class CsvRowParser:
    """Turns a row into an object with the names of the columns as keys.

    An empty cell is a key that is missing, as in a CSV file.

    >>> CsvRowParser(("id", "body"), ";")(b'7;"Wheat; and more"', 1000)
    {'id': '7', 'body': 'Wheat; and more'}
    """

    def __init__(self, columns: tuple[str, ...], delimiter: str = ",") -> None:
        self._columns = columns
        self._delimiter = delimiter
        # One limit for the whole process; events are limited before.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_EVENT_BYTES))

    def __call__(self, raw: bytes, max_event_bytes: int) -> dict[str, Any]:
        """Parse one row, or raise `MalformedEvent`."""
        if len(raw) > max_event_bytes:
            raise MalformedEvent("too_large", f"the event has more than {max_event_bytes:,} bytes")
        try:
            lines = raw.decode("utf-8-sig").splitlines(keepends=True)
            rows = [row for row in csv.reader(lines, delimiter=self._delimiter, strict=True) if row]
        except UnicodeDecodeError:
            raise MalformedEvent("bad_row", "the row is not UTF-8") from None
        except csv.Error as error:
            raise MalformedEvent("bad_row", f"the row cannot be read: {error}") from None
        if len(rows) != 1:
            detail = f"the value has {len(rows):,} rows, expected one row per record"
            raise MalformedEvent("bad_row", detail)
        if len(rows[0]) != len(self._columns):
            detail = f"the row has {len(rows[0]):,} cells, and {len(self._columns):,} columns are"
            raise MalformedEvent("bad_row", f"{detail} named ({', '.join(self._columns)[:200]})")
        return {name: cell for name, cell in zip(self._columns, rows[0], strict=True) if cell}


def csv_row_parser(format_: str, setting: str = "format") -> CsvRowParser:
    """Return the parser of a format such as `csv:columns=id+headline+body,delimiter=tab`."""
    given: dict[str, str] = {}
    for option in format_.partition(":")[2].split(","):
        key, _, value = option.partition("=")
        if key not in ("columns", "delimiter") or key in given or not value:
            raise UsageError(
                f"{setting}: {format_[:200]!r} has an option that is not known, repeated or empty, "
                f"or names no columns; write for instance {EXAMPLE}."
            )
        given[key] = value
    columns = tuple(given.get("columns", "").split("+"))
    if not all(columns) or len(set(columns)) < len(columns):
        raise UsageError(
            f"{setting}: {format_[:200]!r} must name each column once; write for instance "
            f"{EXAMPLE}."
        )
    delimiter = given.get("delimiter", "comma")
    if delimiter not in DELIMITERS:
        raise UsageError(
            f"{setting}: csv has no delimiter={delimiter[:80]}; choose {', '.join(DELIMITERS)}."
        )
    return CsvRowParser(columns, DELIMITERS[delimiter])
