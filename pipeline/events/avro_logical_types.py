"""What the logical types of Avro become: values that a field mapping can use.

Times become text in RFC 3339, whatever their unit. A number that is no such time stays a number,
since the field may not be used at all.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from pipeline.events.event import MalformedEvent
from pipeline.events.json_types import Moment
from pipeline.events.times import MAX_SIMPLE, UNITS, parse_number, since_1970

MAX_DECIMAL_BYTES = 128  # about 300 digits
MAX_SCALE = 300
_UNIT_NAMES = {"millis": "milliseconds", "micros": "microseconds", "nanos": "nanoseconds"}

Converter = Callable[[Any], Any]


def converter_of(schema: Mapping[str, Any], type_: str) -> Converter | None:
    """Return what a value of a logical type is to be turned into; None: it stays as it is.

    As the specification wants it, a logical type that does not fit the type below it is ignored.
    """
    logical = schema.get("logicalType")
    if not isinstance(logical, str):
        return as_text if type_ in ("bytes", "fixed") else None
    name, _, unit = logical.rpartition("-")
    if type_ == "long" and unit in _UNIT_NAMES:
        if name == "timestamp":
            return timestamp(_UNIT_NAMES[unit])
        if name == "local-timestamp":
            return local_timestamp(_UNIT_NAMES[unit])
    if type_ == "int" and logical == "date":
        return day
    if type_ in ("bytes", "fixed"):
        if logical == "decimal" and _is_scale(schema.get("scale", 0)):
            return decimal(schema.get("scale", 0))
        return uuid_text if logical == "uuid" else as_text
    return None


def _is_scale(scale: object) -> bool:
    return type(scale) is int and 0 <= scale <= MAX_SCALE


def as_text(value: bytes) -> str | bytes:
    """Return bytes as the text that they are in UTF-8; other bytes are left, and fit no field."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def timestamp(unit_name: str) -> Converter:
    """Return the function that turns a number since 1970 into RFC 3339.

    >>> timestamp("milliseconds")(541350061250), timestamp("milliseconds")(10**18)
    ('1987-02-26T15:01:01.25Z', 1000000000000000000)
    """
    unit = UNITS[unit_name]
    most = MAX_SIMPLE * unit

    def convert(value: int) -> str | int:
        if 0 <= value < most:
            return Moment(since_1970(value, unit))
        try:
            text = parse_number(value, unit_name)
        except MalformedEvent:
            return value
        return value if text is None else Moment(text)

    return convert


def local_timestamp(unit_name: str) -> Converter:
    """Return the function for times without a zone; `zone` in the mapping says which one."""
    convert = timestamp(unit_name)

    def convert_local(value: int) -> str | int:
        text = convert(value)
        return str(text.removesuffix("Z")) if isinstance(text, str) else value

    return convert_local


def day(value: int) -> str | int:
    """Return the date of a number of days since 1970.

    >>> day(6265), day(10**9)
    ('1987-02-26', 1000000000)
    """
    try:
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    except OverflowError:
        return value


def decimal(scale: int) -> Converter:
    """Return the function for decimal numbers: integers if they have no digits after the point.

    Integers of more than 64 bits become text, since JSON has none.

    >>> decimal(0)(bytes([1, 0])), decimal(2)(bytes([0xFF, 0x38]))
    (256, -2.0)
    """

    def convert(value: bytes) -> int | float | str | bytes:
        if len(value) > MAX_DECIMAL_BYTES:
            return value
        number = int.from_bytes(value, "big", signed=True)
        if scale == 0:
            return number if -(1 << 63) <= number < 1 << 63 else str(number)
        divisor: int = 10**scale
        return number / divisor

    return convert


def uuid_text(value: bytes) -> str | bytes:
    """Return a UUID of 16 bytes as text.

    >>> uuid_text(bytes(range(16)))
    '00010203-0405-0607-0809-0a0b0c0d0e0f'
    """
    return str(uuid.UUID(bytes=value)) if len(value) == 16 else as_text(value)
