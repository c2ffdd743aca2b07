"""Corrected events: lines of JSON as `wirerank dead-letters list --json` writes them, edited."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from typing import NamedTuple

import orjson

from pipeline.errors import UsageError

PLACE = re.compile(r"(\d{1,10}):(\d{1,19})", re.ASCII)


class Correction(NamedTuple):
    """What is to be sent instead of a dead letter's event."""

    value: bytes
    has_key: bool  # whether the line gives a key; otherwise that of the original is used
    key: bytes | None


def read_corrections(lines: Iterable[bytes], name: str) -> dict[str, Correction]:
    """Corrections by the place of their dead letter; raises `UsageError` before any is used."""
    found: dict[str, Correction] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            fields = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"{where} is not JSON: {error}.") from None
        if not isinstance(fields, dict):
            raise UsageError(f"{where} is not a JSON object; {EXPECTED}.")
        place = fields.get("letter")
        if not isinstance(place, str) or not PLACE.fullmatch(place):
            raise UsageError(f"{where} has no `letter` such as 0:17; {EXPECTED}.")
        if place in found:
            raise UsageError(f"{where} corrects the dead letter {place} a second time.")
        value = read_bytes(fields, "event", where)
        if value is None:
            raise UsageError(f"{where} has no `event`; {EXPECTED}.")
        has_key = "key" in fields or "key_base64" in fields
        found[place] = Correction(value, has_key, read_bytes(fields, "key", where))
    return found


EXPECTED = (
    'expected lines such as {"letter": "0:17", "event": {"id": "a", "text": "..."}}, as '
    "`wirerank dead-letters list --json` writes them"
)


def read_bytes(fields: dict[str, object], name: str, where: str) -> bytes | None:
    """A value that is a text, in base64, or (an event) a JSON object."""
    encoded, value = fields.get(f"{name}_base64"), fields.get(name)
    if encoded is not None:
        if value is not None:
            raise UsageError(f"{where} has both `{name}` and `{name}_base64`; leave out one.")
        try:
            return base64.b64decode(encoded if isinstance(encoded, str) else "?", validate=True)
        except (binascii.Error, ValueError):
            raise UsageError(f"{where}: `{name}_base64` is not base64.") from None
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and name == "event":
        return orjson.dumps(value)
    raise UsageError(f"{where}: `{name}` must be a text{' or an object' * (name == 'event')}.")
