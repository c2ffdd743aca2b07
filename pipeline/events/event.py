"""Document events and late labels: what a raw event must look like, and why one is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from pipeline.text.terms import MAX_TERM_BYTES

Id = str | int

MAX_EVENT_BYTES = 1 << 20
MAX_ID_CHARACTERS = 1024
MAX_TOPICS_PER_EVENT = 1000
# Products of two values and sums of many of them must stay finite.
MAX_FEATURE_VALUE = 1e75
MIN_FEATURE_VALUE = 1e-75  # in size, if it is not 0

REASONS = (
    "too_large",
    "not_json",
    "not_an_object",
    "bad_id",
    "no_content",
    "bad_content",
    "bad_features",
    "bad_topics",
    "bad_rank",
    "bad_time",
    "not_usable",
)

_RFC3339 = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]"
    r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


class MalformedEvent(Exception):  # noqa: N818 - it names the event, as the documents do
    """An event that cannot be used: a reason to count by, and a sentence for a person."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Event(NamedTuple):
    """A document, or a late label if it has no content."""

    id: Id
    content: str | dict[str, float] | None
    topics: tuple[str, ...] | None  # None: not labelled yet; (): labelled with none
    rank: int | None
    time: str | None


Decoder = Callable[[bytes, int], Event]  # from a raw event and the most bytes it may have


def parse_event(raw: bytes, max_event_bytes: int = MAX_EVENT_BYTES) -> Event:
    """Read one event, or raise `MalformedEvent`.

    Examples
    --------
    >>> parse_event(b'{"id": "7", "title": "Wheat up", "topics": ["grain"]}').topics
    ('grain',)
    >>> parse_event(b'{"id": "7"}')
    Traceback (most recent call last):
    ...
    pipeline.events.event.MalformedEvent: event '7' has neither text, title or features nor labels

    """
    event = read_object(raw, max_event_bytes)
    id_ = read_id(event.get("id"))
    content = read_content(id_, event)
    topics = read_topics(event.get("topics"))
    rank = read_rank(event.get("rank"))
    if content is None and topics is None and rank is None:
        detail = f"event {id_!r} has neither text, title or features nor labels"
        raise MalformedEvent("no_content", detail)
    return Event(id_, content, topics, rank, read_time(event.get("time")))


def read_object(raw: bytes, max_event_bytes: int) -> dict[str, Any]:
    """The JSON object that a raw event must be, in any format."""
    if len(raw) > max_event_bytes:
        raise MalformedEvent("too_large", f"more than {max_event_bytes:,} bytes")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        try:
            raw.decode()
        except UnicodeDecodeError:
            raise MalformedEvent("not_json", "not UTF-8, which JSON must be") from None
        raise MalformedEvent("not_json", f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedEvent("not_an_object", f"expected a JSON object, found {called(value)}")
    return value


def shown(value: object) -> str:
    """A value for a message: short, and never what is inside of a list or an object."""
    return repr(str(value)[:80]) if isinstance(value, str | int | float) else called(value)


def called(value: object) -> str:
    """What JSON calls a value of this type."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def read_id(value: object) -> Id:
    """An id: a string or an integer."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise MalformedEvent(
            "bad_id", f"`id` must be a string or an integer, found {called(value)}"
        )
    if isinstance(value, str) and not 0 < len(value) <= MAX_ID_CHARACTERS:
        detail = f"`id` must have 1 to {MAX_ID_CHARACTERS} characters, found {len(value)}"
        raise MalformedEvent("bad_id", detail)
    return value


def read_content(id_: Id, event: dict[str, Any]) -> str | dict[str, float] | None:
    """Text (title first) or features, or None if there is neither."""
    title, text, features = event.get("title"), event.get("text"), event.get("features")
    for name, value in (("title", title), ("text", text)):
        if value is not None and not isinstance(value, str):
            raise MalformedEvent("bad_content", f"`{name}` must be a string, found {called(value)}")
    if features is not None:
        if text is not None or title is not None:
            detail = f"event {id_!r} has both text and `features`; one document has one of them"
            raise MalformedEvent("bad_content", detail)
        return read_features(features)
    if text is None:
        return title
    return text if title is None else f"{title}\n{text}"


def read_features(features: object) -> dict[str, float]:
    """Ready-made features: names with usable numbers."""
    if not isinstance(features, dict):
        raise MalformedEvent(
            "bad_features", f"`features` must be an object, found {called(features)}"
        )
    for name, value in features.items():
        kind = type(value)
        # A NaN fails the comparison too, so nothing but usable numbers passes: squares must neither
        # vanish nor be infinite.
        if (
            (kind is not float and kind is not int)
            or not abs(value) <= MAX_FEATURE_VALUE
            or 0 < abs(value) < MIN_FEATURE_VALUE
        ):
            limits = f"0, or from {MIN_FEATURE_VALUE:g} to {MAX_FEATURE_VALUE:g} in size"
            detail = f"feature {name[:80]!r} must be a number: {limits}"
            raise MalformedEvent("bad_features", f"{detail}, found {shown(value)}")
        if not 0 < len(name) <= MAX_TERM_BYTES or len(name.encode()) > MAX_TERM_BYTES:
            detail = f"a feature's name must have 1 to {MAX_TERM_BYTES} bytes, found {name[:80]!r}"
            raise MalformedEvent("bad_features", detail)
    return features


def read_topics(topics: object) -> tuple[str, ...] | None:
    """Topics as listed, each once; None if there is no list."""
    if topics is None:
        return None
    if not isinstance(topics, list):
        raise MalformedEvent("bad_topics", f"`topics` must be a list, found {called(topics)}")
    if len(topics) > MAX_TOPICS_PER_EVENT:
        detail = f"`topics` must have at most {MAX_TOPICS_PER_EVENT:,} names"
        raise MalformedEvent("bad_topics", f"{detail}, found {len(topics):,}")
    for topic in topics:
        if not isinstance(topic, str) or not 0 < len(topic) <= MAX_TERM_BYTES:
            detail = f"a topic must be a string of 1 to {MAX_TERM_BYTES} characters"
            raise MalformedEvent("bad_topics", f"{detail}, found {shown(topic)}")
    return tuple(dict.fromkeys(topics))  # a topic named twice is one topic


def read_rank(rank: object) -> int | None:
    """An ordinal label, or None."""
    if rank is None or (type(rank) is int and rank >= 1):
        return rank
    raise MalformedEvent("bad_rank", f"`rank` must be a whole number from 1, found {shown(rank)}")


def read_time(time: object) -> str | None:
    """A time as in RFC 3339, or None."""
    if time is None or (isinstance(time, str) and _RFC3339.fullmatch(time)):
        return time
    detail = "`time` must be a date and time with zone as in RFC 3339, e.g. 1987-02-26T15:01:01Z"
    raise MalformedEvent("bad_time", f"{detail}; found {shown(time)}")
