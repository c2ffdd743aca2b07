"""What is passed on from the record of a document to the records of its rankings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pipeline.events.event import MalformedEvent, PassedOn
from pipeline.events.record import Record

MAX_PASSED_ON_BYTES = 16 << 10  # per document: they are copied to the ranking of every lane

# As JSON: the key and the headers, each byte as a character.
PassedOnJson = tuple[str | None, Sequence[tuple[str, str]]]


class PassedOnParts(NamedTuple):
    """Which parts of a record are passed on: its key, and the headers with these names."""

    key: bool
    headers: Collection[str]

    def of(self, record: Record) -> PassedOn:
        """Return what is passed on from a record, or raise `MalformedEvent`."""
        headers = tuple((name, value) for name, value in record.headers if name in self.headers)
        passed_on = PassedOn(record.key if self.key else None, headers)
        size = size_of(passed_on)
        if size > MAX_PASSED_ON_BYTES:
            raise MalformedEvent(
                "too_large",
                f"the key and headers that `output` passes on have {size:,} bytes, expected at "
                f"most {MAX_PASSED_ON_BYTES:,}",
            )
        return passed_on


def size_of(passed_on: PassedOn) -> int:
    """Return the bytes of a key and headers."""
    in_headers = sum(len(name.encode()) + len(value) for name, value in passed_on.headers)
    return len(passed_on.key or b"") + in_headers


def to_json(passed_on: PassedOn | None) -> PassedOnJson | None:
    """Return a key and headers as they are written to a record of the log."""
    if passed_on is None:
        return None
    key = None if passed_on.key is None else as_text(passed_on.key)
    return key, [(name, as_text(value)) for name, value in passed_on.headers]


def from_json(found: object) -> PassedOn | None:
    """Read a key and headers of a record of the log; raise ValueError if they are not valid.

    >>> from_json(["k", [["trace", "1"]]])
    PassedOn(key=b'k', headers=(('trace', b'1'),))
    """
    if found is None:
        return None
    match found:
        case [key, list(headers)] if all(is_header(header) for header in headers):
            passed_on = PassedOn(
                None if key is None else as_bytes(key),
                tuple((name, as_bytes(value)) for name, value in headers),
            )
            if size_of(passed_on) <= MAX_PASSED_ON_BYTES:
                return passed_on
    raise ValueError("what is passed on is not a key and a list of headers of the allowed size")


def is_header(found: object) -> bool:
    """Whether a value of a record of the log is the name and the value of a header."""
    return isinstance(found, list) and len(found) == 2 and type(found[0]) is str


def as_text(value: bytes) -> str:
    """Return each byte as the character with its number."""
    return value.decode("latin-1")


def as_bytes(text: object) -> bytes:
    """Return each character as the byte with its number; raise ValueError for others."""
    if type(text) is not str:
        raise ValueError(f"expected a text, found {type(text).__name__}")
    return text.encode("latin-1")
