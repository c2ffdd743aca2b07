"""Values of JSON in messages."""

from __future__ import annotations


def describe_value(value: object) -> str:
    """Describe a value in a message: quote the start of a scalar, name the type of others."""
    return repr(str(value)[:80]) if isinstance(value, str | int | float) else json_type(value)


def json_type(value: object) -> str:
    """Return the JSON name of a value's type, with an article."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
