"""Unwrap an event from its envelope: change-data capture, CloudEvents, or any other object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from pipeline.events.event import MalformedEvent
from pipeline.events.json_types import json_type
from pipeline.events.paths import join_path
from pipeline.events.suggestions import listed_keys

DELETE = "d"  # `op` of Debezium and others


def unwrap(event: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return the object under these keys, which may be JSON in a string.

    Change-data capture announces a deletion by null in the place of the new row, mostly with `op`
    beside it. That is no document.
    """
    outer, inner = event, event.get(keys[0])
    for at, key in enumerate(keys[1:], 1):
        if not isinstance(inner, dict):
            found = "missing" if inner is None else json_type(inner)
            raise MalformedEvent(
                "bad_envelope",
                f"`fields.unwrap` reads `{join_path(keys)}`, but `{join_path(keys[:at])}` is "
                f"{found}; {_keys_of(outer)}",
            )
        outer, inner = inner, inner.get(key)
    if isinstance(inner, dict):
        return inner
    whole = join_path(keys)
    if isinstance(inner, str):
        return _parse(inner, whole)
    if inner is None and (outer.get("op") == DELETE or keys[-1] in outer):
        raise MalformedEvent("deletion", f"the event announces a deletion: `{whole}` is null")
    found = "missing" if inner is None else json_type(inner)
    raise MalformedEvent(
        "bad_envelope",
        f"`fields.unwrap` reads `{whole}`, which must be an object, but is {found}; "
        f"{_keys_of(outer)}",
    )


def _keys_of(outer: Mapping[str, Any]) -> str:
    return f"the keys there are {listed_keys(outer)}" if outer else "the object there is empty"


def _parse(text: str, whole: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise MalformedEvent(
            "bad_envelope", f"`{whole}` is a string, but not the JSON of an object"
        ) from None
    if not isinstance(value, dict):
        raise MalformedEvent(
            "bad_envelope", f"`{whole}` is the JSON of {json_type(value)}, not of an object"
        )
    return value
