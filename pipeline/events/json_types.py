"""Values of JSON in messages."""

from __future__ import annotations


class Moment(str):
    """A time in RFC 3339 that was a number with a known unit: no other format is tried on it."""

    __slots__ = ()


def describe_value(value: object) -> str:
    """Describe a value in a message: quote the start of a scalar, name the type of others."""
    return repr(str(value)[:80]) if isinstance(value, str | int | float) else json_type(value)


def json_type(value: object) -> str:
    """Return the JSON name of a value's type, with an article."""
    names = {
        dict: "an object", list: "a list", str: "a string", bool: "true or false",
        Moment: "a time", bytes: "bytes that are not UTF-8",
    }  # fmt: skip
    return "null" if value is None else names.get(type(value), "a number")
