"""Read values in Avro's binary encoding, with limits, by readers that are made once per schema.

A few bytes can stand for many values: a list of nulls takes no bytes per element, and a record that
contains itself takes one byte per level. So the number of values and their depth are limited.
Nothing is read by recursion that the limits do not bound.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.events.event import MalformedEvent

MAX_DEPTH = 64  # records, lists and maps inside each other
MAX_LONG_BYTES = 10

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


class Datum:
    """Encoded bytes, how far they are read, and what is left of the limits."""

    __slots__ = ("at", "data", "depth", "left")

    def __init__(self, data: bytes, at: int, max_values: int) -> None:
        self.data = data
        self.at = at
        self.left = max_values
        self.depth = 0


Reader = Callable[[Datum], Any]  # moves on by one value, and returns it


def read_datum(read: Reader, data: bytes, start: int, max_values: int) -> Any:  # noqa: ANN401 - any
    """Read the one value that fills the bytes from `start` on, or raise `MalformedEvent`.

    Examples
    --------
    >>> read_datum(array_reader(read_string), bytes([4, 2, 97, 4, 98, 99, 0]), 0, 100)
    ['a', 'bc']
    >>> read_datum(read_string, bytes([6, 97]), 0, 100)
    Traceback (most recent call last):
    ...
    pipeline.events.event.MalformedEvent: the value does not fit its Avro schema: at byte 0 it has
    a length of 3 bytes, and 1 is left

    """
    datum = Datum(data, start, max_values)
    try:
        value = read(datum)
    except (IndexError, struct.error):
        raise refusal(f"it ends in the middle, after {len(data):,} bytes") from None
    if datum.at != len(data):
        raise refusal(f"{len(data) - datum.at:,} bytes are left over after byte {datum.at:,}")
    return value


def refusal(detail: str) -> MalformedEvent:
    """Return the refusal of bytes that their schema does not describe."""
    return MalformedEvent("not_avro", f"the value does not fit its Avro schema: {detail}")


def read_null(datum: Datum) -> None:
    """Read a null, which takes no bytes."""


def read_boolean(datum: Datum) -> bool:
    """Read a boolean."""
    byte = datum.data[datum.at]
    datum.at += 1
    if byte > 1:
        raise refusal(f"byte {datum.at - 1:,} is {byte} in the place of a boolean")
    return byte == 1


def read_long(datum: Datum) -> int:
    """Read an int or a long: seven bits per byte, the sign in the lowest bit."""
    data, at = datum.data, datum.at
    byte = data[at]
    at += 1
    value, shift = byte & 0x7F, 7
    while byte > 0x7F:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 7 * MAX_LONG_BYTES or value >> 64:
            raise refusal(f"the number at byte {datum.at:,} has more than 64 bits")
    datum.at = at
    return (value >> 1) ^ -(value & 1)


def read_float(datum: Datum) -> float:
    """Read a number of 4 bytes."""
    value: float = _FLOAT.unpack_from(datum.data, datum.at)[0]
    datum.at += 4
    return value


def read_double(datum: Datum) -> float:
    """Read a number of 8 bytes."""
    value: float = _DOUBLE.unpack_from(datum.data, datum.at)[0]
    datum.at += 8
    return value


def read_bytes(datum: Datum) -> bytes:
    """Read bytes with their length in front."""
    began = datum.at
    length = read_long(datum)
    at = datum.at
    if not 0 <= length <= len(datum.data) - at:
        left = len(datum.data) - at
        raise refusal(f"at byte {began:,} it has a length of {length} bytes, and {left:,} is left")
    datum.at = at + length
    return datum.data[at : at + length]


def read_string(datum: Datum) -> str:
    """Read a text in UTF-8; most are shorter than 8 KB, so that their length has two bytes."""
    data, at = datum.data, datum.at
    length, following = data[at], at + 1
    if length > 0x7F:
        length, following = length & 0x7F | data[following] << 7, following + 1
    end = following + (length >> 1)
    if length > 0x3FFF or length & 1 or end > len(data):  # longer, negative or cut off
        value = read_bytes(datum)
    else:
        value = data[following:end]
        datum.at = end
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise refusal(f"the text before byte {datum.at:,} is not UTF-8") from None


def fixed_reader(size: int) -> Reader:
    """Return the reader of a given number of bytes."""

    def read(datum: Datum) -> bytes:
        at = datum.at
        if size > len(datum.data) - at:
            raise IndexError
        datum.at = at + size
        return datum.data[at : at + size]

    return read


def enum_reader(symbols: Sequence[str]) -> Reader:
    """Return the reader of one of several names."""

    def read(datum: Datum) -> str:
        return symbols[checked_index(datum, len(symbols), "symbols of an enum")]

    return read


def union_reader(branches: Sequence[Reader]) -> Reader:
    """Return the reader of a value that has one of several types."""
    below = min(2 * len(branches), 0x80)  # numbers of one byte

    def read(datum: Datum) -> Any:  # noqa: ANN401 - any type
        at = datum.at
        byte = datum.data[at]
        if byte < below and not byte & 1:
            datum.at = at + 1
            return branches[byte >> 1](datum)
        return branches[checked_index(datum, len(branches), "types of a union")](datum)

    return read


def checked_index(datum: Datum, count: int, what: str) -> int:
    """Read a number below `count`."""
    index = read_long(datum)
    if not 0 <= index < count:
        raise refusal(f"before byte {datum.at:,} it names number {index} of {count} {what}")
    return index


def record_reader(fields: Sequence[tuple[str, Reader]]) -> Reader:
    """Return the reader of a record: an object with a value for each field."""
    cost = len(fields) + 1

    def read(datum: Datum) -> dict[str, Any]:
        datum.depth += 1
        datum.left -= cost
        if datum.depth > MAX_DEPTH or datum.left < 0:
            raise beyond_limits(datum)
        record = {}
        for name, read_field in fields:
            record[name] = read_field(datum)
        datum.depth -= 1
        return record

    return read


def array_reader(read_item: Reader) -> Reader:
    """Return the reader of a list."""

    def read(datum: Datum) -> list[Any]:
        datum.depth += 1
        items: list[Any] = []
        while count := block_count(datum):
            items += [read_item(datum) for _ in range(count)]
        datum.depth -= 1
        return items

    return read


def map_reader(read_value: Reader) -> Reader:
    """Return the reader of an object with any keys."""

    def read(datum: Datum) -> dict[str, Any]:
        datum.depth += 1
        items: dict[str, Any] = {}
        while count := block_count(datum):
            for _ in range(count):
                key = read_string(datum)
                items[key] = read_value(datum)
        datum.depth -= 1
        return items

    return read


def block_count(datum: Datum) -> int:
    """Read the number of elements that follow; a negative one is followed by their size."""
    if datum.data[datum.at] == 0:  # the end, which every list has
        datum.at += 1
        return 0
    count = read_long(datum)
    if count < 0:
        count = -count
        read_long(datum)
    datum.left -= count
    if datum.depth > MAX_DEPTH or datum.left < 0:
        raise beyond_limits(datum)
    return count


def beyond_limits(datum: Datum) -> MalformedEvent:
    """Return the refusal of a value that is too deep or has too many parts."""
    if datum.depth > MAX_DEPTH:
        return refusal(f"it is nested more than {MAX_DEPTH} deep at byte {datum.at:,}")
    return refusal(f"at byte {datum.at:,} it has more values than its limit of bytes allows")
