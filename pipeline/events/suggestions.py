"""Guess from the keys of an event which of them are its id, title, text, topics, rank and time."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import orjson

from pipeline.events.paths import EACH, Step, join_path
from pipeline.text.markup import looks_like_markup

# Names in lower case, without anything but letters and digits; the most telling first.
NAMES: dict[str, tuple[str, ...]] = {
    "id": (
        "id", "articleid", "documentid", "docid", "storyid", "itemid", "newsid", "messageid",
        "postid", "contentid", "recordid", "uuid", "guid", "uri", "urn", "uid", "identifier", "key",
    ),
    "title": ("title", "headline", "head", "heading", "subject", "titel", "titre"),
    "text": (
        "text", "body", "bodytext", "bodyhtml", "articlebody", "fulltext", "content", "article",
        "story", "message", "lead", "description", "abstract", "summary", "snippet",
    ),
    "topics": (
        "topics", "topic", "tags", "categories", "category", "labels", "label", "keywords",
        "subjects", "sections", "section", "classes", "class", "genres", "codes", "tag",
    ),
    "rank": ("rank", "priority", "urgency", "rating", "stars", "grade"),
    "time": (
        "time", "timestamp", "published", "publishedat", "publicationdate", "pubdate", "date",
        "datetime", "created", "createdat", "updated", "updatedat", "versioncreated", "ts",
    ),
}  # fmt: skip
INNER: dict[str, tuple[str, ...]] = {  # inside an object, or inside the objects of a list
    "id": ("id", "oid", "value"),
    "title": ("main", "text", "value", "name", "rendered"),
    "text": ("text", "plain", "html", "value", "content", "rendered", "body"),
    "topics": ("code", "slug", "id", "qcode", "name", "label", "value", "tag"),
    "time": ("at", "time", "value", "date"),
}
ENVELOPES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (  # (keys, where the event is)
    (("payload", "op"), ("payload", "after")),
    (("payload", "after"), ("payload", "after")),
    (("op", "after"), ("after",)),
    (("before", "after"), ("after",)),
    (("specversion", "data"), ("data",)),
)
ORIGIN = "@origin"  # the id of events that have none
MAX_SHOWN_KEYS = 8
MAX_KEYS = 1000  # of an event that are looked at


def suggest_mapping(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of `fields` for an event; none for what native events name alike.

    Examples
    --------
    >>> suggest_mapping({"id": 7, "headline": "Up", "tags": [{"slug": "grain"}]})
    {'title': 'headline', 'topics': 'tags[].slug'}
    >>> suggest_mapping({"op": "c", "before": None, "after": {"id": 7, "body": "Wheat"}})
    {'unwrap': 'after', 'text': 'body'}

    """
    found = find_fields(event)
    return {field: setting for field, setting in found.items() if setting != field}


def suggest_whole_mapping(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as `suggest_mapping` does, and an id for a document that has none.

    Examples
    --------
    >>> suggest_whole_mapping({"nr": 7, "body": "Wheat"})
    {'id': '@origin', 'text': 'body'}
    >>> suggest_whole_mapping({"specversion": "1.0", "id": "e1", "data": {"body": "Wheat"}})
    {'unwrap': 'data', 'id': '@envelope.id', 'text': 'body'}

    """
    found, settings = find_fields(event), suggest_mapping(event)
    if "id" in found or not {"title", "text"} & found.keys():
        return settings
    in_envelope = "unwrap" in found and _setting("id", "id", event.get("id")) is not None
    first = {"unwrap": found["unwrap"]} if "unwrap" in found else {}
    return {**first, "id": "@envelope.id" if in_envelope else ORIGIN, **settings}


def find_fields(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return where each field of an event seems to be, also if that is where native events have it.

    >>> find_fields({"id": 7, "headline": "Up"})
    {'id': 'id', 'title': 'headline'}
    """
    unwrap = find_envelope(event)
    found: dict[str, Any] = {}
    inner: Any = event
    if unwrap:
        found["unwrap"] = join_path(unwrap)
        for key in unwrap:
            inner = inner.get(key) if isinstance(inner, Mapping) else None
        if not isinstance(inner, Mapping):
            return found
    by_name = {_plain(key): key for key in list(inner)[:MAX_KEYS][::-1] if isinstance(key, str)}
    used: set[str] = set()
    for field, names in NAMES.items():
        for name in names:
            key = by_name.get(name, "")
            if name not in by_name or key in used or inner[key] is None:
                continue
            setting = _setting(field, key, inner[key])
            if setting is not None:
                used.add(key)
                found[field] = setting
                break
    return found


def find_envelope(event: Mapping[str, Any]) -> tuple[str, ...]:
    """Return where the event is inside an envelope; empty if there is no envelope."""
    for keys, where in ENVELOPES:
        outer = event.get(keys[0]) if keys[0] == "payload" else None
        if keys[0] == "payload":
            if isinstance(outer, Mapping) and keys[1] in outer and "after" in outer:
                return where
        elif all(key in event for key in keys) and isinstance(event.get(where[0]), Mapping):
            return where
    return ()


def _plain(key: str) -> str:
    return "".join(character for character in key.lower() if character.isalnum())


def _setting(field: str, key: str, value: object) -> Any:  # noqa: ANN401 - as TOML
    """Return the setting that reads a field from the value of a key, or None if it cannot be."""
    steps: list[Step] = [key]
    if isinstance(value, list) and value and field in ("text", "topics"):
        value = value[0]
        if field == "text" or isinstance(value, Mapping):
            steps.append(EACH)
    if isinstance(value, Mapping):
        by_name = {_plain(name): name for name in list(value)[:MAX_KEYS] if isinstance(name, str)}
        inner = next((by_name[n] for n in INNER.get(field, ()) if n in by_name), None)
        if inner is None:
            return None
        steps.append(inner)
        value = value[inner]
    path = join_path(steps)
    if field in ("title", "text"):
        if not isinstance(value, str):
            return None
        return {"path": path, "html": True} if looks_like_markup(value) else path
    if field == "topics":
        if isinstance(value, str) and len(steps) == 1 and key == path:
            for separator in (";", "|", ","):
                if separator in value:
                    return {"path": path, "separator": separator}
        return path if isinstance(value, str | int | list) and not isinstance(value, bool) else None
    if field == "rank":
        return path if type(value) is int and value >= 1 else None
    if field == "time":
        return _time_setting(path, value)
    return path if isinstance(value, str | int) and not isinstance(value, bool) else None


def _time_setting(path: str, value: object) -> Any:  # noqa: ANN401 - as TOML
    if isinstance(value, str):
        return path
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    size = abs(value)
    for format_, least in (("nanoseconds", 1e17), ("microseconds", 1e14), ("milliseconds", 1e11)):
        if size >= least:
            return {"path": path, "format": format_}
    return {"path": path, "format": "seconds"}


def as_toml(settings: Mapping[str, Any]) -> str:
    """Return settings as they are written in a configuration, in one line.

    >>> print(as_toml({"text": {"path": "body", "html": True}, "id": "_id"}))
    text = {path = "body", html = true}, id = "_id"
    """
    return ", ".join(f"{name} = {toml_of(value)}" for name, value in settings.items())


def as_options(settings: Mapping[str, Any]) -> str:
    """Return settings as they are written on a command line.

    >>> print(as_options({"title": "headline", "topics": "tags[].slug"}))
    --fields title=headline --fields 'topics=tags[].slug'
    """
    texts = (
        f"{name}={value if isinstance(value, str) else toml_of(value)}"
        for name, value in settings.items()
    )
    return " ".join(f"--fields {shlex.quote(text)}" for text in texts)


def toml_of(value: Any) -> str:  # noqa: ANN401 - as TOML
    """Return a value as TOML."""
    if isinstance(value, Mapping):
        return "{" + as_toml(value) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    return orjson.dumps(value).decode()


def listed_keys(keys: Iterable[str]) -> str:
    """Return the first keys of an event as a text."""
    first = [f"`{key[:40]}`" for key in islice(keys, MAX_SHOWN_KEYS + 1)]
    return ", ".join(first[:MAX_SHOWN_KEYS]) + (", ..." if len(first) > MAX_SHOWN_KEYS else "")


def proposal(event: Mapping[str, Any], has_id: bool = True) -> str:
    """Return settings that would read an event, or an example of such settings."""
    settings = suggest_mapping(event) if has_id else suggest_whole_mapping(event)
    if not settings:
        return 'for instance text = "body"'
    hint = ' ("@origin" if no event has an id)' if settings.get("id") == ORIGIN else ""
    return as_toml(settings) + hint


def advice(event: Mapping[str, Any], has_id: bool = True) -> str:
    """Say what keys an event has, and which settings would read them, for a dead letter.

    `has_id` says whether the event has an id, or the user has said where it is.
    """
    return f"its keys are {listed_keys(event)}; write in `fields` {proposal(event, has_id)}"
