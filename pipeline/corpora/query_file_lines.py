"""Reads and checks the lines of the files of query-document sets (LETOR, TREC)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from pipeline.corpora.lines import BEYOND, file_lines
from pipeline.corpora.source import SourceError

LONGEST_LINE = 1 << 18  # bytes; LETOR's longest lines have about 3,000
LONGEST_NAME = 200  # of a query or a document
MOST_VALUES = 1 << 27  # scores of all documents by all functions: 1 GiB
MOST_GRADE = 30  # gains are powers of two


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The non-blank lines of a file, packed or not, with their line numbers from 1."""
    for number, line in enumerate(file_lines(path, LONGEST_LINE + BEYOND), start=1):
        if len(line) > LONGEST_LINE:
            raise SourceError(
                f"{path}, line {number}: found a line of more than {LONGEST_LINE:,} bytes; "
                "expected at most that many"
            )
        if line.strip():
            yield number, line


def unexpected(name: str, number: int, expected: str, line: bytes) -> SourceError:
    """The error for a line that does not have the expected form."""
    shown = line.strip()[:80].decode("utf-8", "replace")
    return SourceError(f"{name}, line {number}: expected {expected}, found {shown!r}")


def read_name(field: bytes) -> str | None:
    """The name of a query or document; None if the bytes are not a valid name."""
    try:
        name = field.decode()
    except UnicodeDecodeError:
        return None
    return name if 0 < len(name) <= LONGEST_NAME and name.isprintable() else None


def read_grade(field: bytes, least: int) -> int | None:
    """A relevance grade of at least `least`; None if the bytes are not a valid grade."""
    digits = field.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 3:
        return None
    grade = int(field)
    return grade if least <= grade <= MOST_GRADE else None


def read_number(field: bytes) -> float | None:
    """A finite number; None if the bytes are not one."""
    try:
        number = float(field)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
