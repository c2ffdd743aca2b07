"""Parse events: documents and late labels. Malformed events are refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import orjson

from pipeline.events.json_types import describe_value, json_type
from pipeline.events.suggestions import advice, listed_keys, proposal, toml_of
from pipeline.text.language import language_name
from pipeline.text.terms import MAX_TERM_BYTES

Id = str | int

MAX_EVENT_BYTES = 1 << 20
MAX_ID_CHARACTERS = 1024
MAX_TOPICS_PER_EVENT = 1000
MAX_TIME_CHARACTERS = 64  # it is copied to every ranking, and RFC 3339 allows any number of digits
MAX_LANGUAGE_CHARACTERS = 35  # of a tag; longer ones are of no use
MAX_DETAIL_CHARACTERS = 500  # of a dead letter
# Limits of absolute values: products of two values, and sums of many products, stay finite.
MAX_FEATURE_VALUE = 1e75
MIN_FEATURE_VALUE = 1e-75  # 0 is also allowed

REASONS = (
    "too_large",
    "not_json",
    "not_an_object",
    "not_xml",
    "not_text",
    "no_schema_id",
    "unknown_schema",
    "bad_schema",
    "not_avro",
    "bad_row",
    "tombstone",
    "deletion",
    "bad_envelope",
    "bad_id",
    "no_content",
    "unknown_fields",
    "bad_content",
    "bad_features",
    "bad_topics",
    "bad_rank",
    "bad_time",
    "not_usable",
    "worker_died",
    "undecodable_batch",
)

_RFC3339 = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]"
    r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


class Refusal(NamedTuple):
    """Why an event cannot be used: `reason` is a code to count by, `detail` a sentence."""

    reason: str
    detail: str


class MalformedEvent(Exception):  # noqa: N818 - the documentation uses this name
    """An event that cannot be used.

    Keep its `refusal` and not the exception, whose traceback holds the parsed event: of a megabyte
    of JSON that is many megabytes.
    """

    def __init__(self, reason: str, detail: str) -> None:
        if len(detail) > MAX_DETAIL_CHARACTERS:
            detail = f"{detail[:MAX_DETAIL_CHARACTERS]}..."
        super().__init__(detail)
        self.refusal = Refusal(reason, detail)

    @property
    def reason(self) -> str:
        """A code to count by."""
        return self.refusal.reason

    @property
    def detail(self) -> str:
        """A sentence."""
        return self.refusal.detail


class PassedOn(NamedTuple):
    """What rankings get from the record of their document: its key, and some of its headers."""

    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class Event(NamedTuple):
    """A document, or a late label if `content` is None."""

    id: Id
    content: str | dict[str, float] | None
    topics: tuple[str, ...] | None  # None: not labelled yet; (): labelled, with no topics
    rank: int | None
    time: str | None
    passed_on: PassedOn | None = None
    title_length: int = 0  # the characters at the beginning of the text that are its title
    language: str | None = None  # as declared; None: to be found, where it is needed


NATIVE_KEYS = frozenset(("id", "title", "text", "features", "topics", "rank", "time", "language"))

ValueParser = Callable[[bytes, int], Event]  # takes a raw event and the maximum of its bytes


def parse_event(raw: bytes, max_event_bytes: int = MAX_EVENT_BYTES) -> Event:
    """Parse one event, or raise `MalformedEvent`.

    Examples
    --------
    >>> parse_event(b'{"id": "7", "title": "Wheat up", "topics": ["grain"]}').topics
    ('grain',)
    >>> parse_event(b'{"id": "7"}')
    Traceback (most recent call last):
    ...
    pipeline.events.event.MalformedEvent: event '7' has no text, title, features or labels

    """
    event = parse_object(raw, max_event_bytes)
    id_ = parse_id(event["id"]) if "id" in event else refuse_missing_id(event)
    content = parse_content(id_, event)
    topics = parse_topics(event.get("topics"))
    rank = parse_rank(event.get("rank"))
    if content is None:
        check_late_label(id_, event, topics is not None or rank is not None, NATIVE_KEYS)
    return Event(
        id_, content, topics, rank, parse_time(event.get("time")),
        title_length=length_of_title(event.get("title"), content),
        language=parse_language(event.get("language")),
    )  # fmt: skip


def parse_object(raw: bytes, max_event_bytes: int) -> dict[str, Any]:
    """Parse the JSON object that every raw event must be, in any format."""
    if len(raw) > max_event_bytes:
        raise MalformedEvent("too_large", f"the event has more than {max_event_bytes:,} bytes")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        try:
            raw.decode()
        except UnicodeDecodeError:
            raise MalformedEvent("not_json", "the event is not UTF-8, as JSON must be") from None
        raise MalformedEvent("not_json", f"the event is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedEvent("not_an_object", f"expected a JSON object, found {json_type(value)}")
    return value


def refuse_missing_id(event: Mapping[str, Any]) -> NoReturn:
    """Refuse an event without an id."""
    raise MalformedEvent("bad_id", f"`id` is missing; {advice(event, has_id=False)}")


def check_late_label(
    id_: Id, event: Mapping[str, Any], labelled: bool, known: frozenset[str]
) -> None:
    """Refuse an event without content, unless it can only be a late label.

    An event with labels may have its text under a key that is not known. Such an event would wait
    for a document that never comes. A key with null counts as missing, as everywhere: records of
    Avro have all keys of their schema.
    """
    unknown = sorted(key for key in event.keys() - known if event[key] is not None)
    if labelled and not unknown:
        return
    name = repr(str(id_)[:80])
    if not labelled:
        hint = f"; {advice(event)}" if unknown else ""
        raise MalformedEvent(
            "no_content", f"event {name} has no text, title, features or labels{hint}"
        )
    raise MalformedEvent(
        "unknown_fields",
        f"event {name} has labels, no text, and unknown keys: {listed_keys(unknown)}. If its text "
        f"is there, write in `fields` {proposal(event)}; if it is a late label, write "
        f"ignore = {toml_of([key[:40] for key in unknown[:5]])}",
    )


def parse_id(value: object, name: str = "`id`") -> Id:
    """Parse an id: a string or an integer; `name` is for messages."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise MalformedEvent(
            "bad_id", f"{name} must be a string or an integer, found {json_type(value)}"
        )
    if isinstance(value, str) and not 0 < len(value) <= MAX_ID_CHARACTERS:
        detail = f"{name} must have 1 to {MAX_ID_CHARACTERS} characters, found {len(value)}"
        raise MalformedEvent("bad_id", detail)
    return value


def parse_content(id_: Id, event: dict[str, Any]) -> str | dict[str, float] | None:
    """Parse the text (title first) or the features; return None if there is neither."""
    title, text, features = event.get("title"), event.get("text"), event.get("features")
    for name, value in (("title", title), ("text", text)):
        if value is not None and not isinstance(value, str):
            raise MalformedEvent(
                "bad_content", f"`{name}` must be a string, found {json_type(value)}"
            )
    if features is not None:
        if text is not None or title is not None:
            detail = f"event {id_!r} has both text and `features`; expected only one of them"
            raise MalformedEvent("bad_content", detail)
        return parse_features(features)
    if text is None:
        return title
    return text if title is None else f"{title}\n{text}"


def length_of_title(title: object, content: str | dict[str, float] | None) -> int:
    """Return how many characters of a content are its title, which comes first."""
    return len(title) if isinstance(title, str) and isinstance(content, str) else 0


def parse_language(language: object) -> str | None:
    """Return the name of a declared language; None if it is not known, so that it is found.

    A key of this name may hold anything in events of other systems, so no value is refused.

    >>> parse_language("de-AT"), parse_language({"name": "German"}), parse_language("tlh")
    ('german', None, None)
    """
    if isinstance(language, str) and 0 < len(language) <= MAX_LANGUAGE_CHARACTERS:
        return language_name(language)
    return None


def parse_features(features: object, name: str = "`features`") -> dict[str, float]:
    """Parse ready-made features: names with numbers; `name` is for messages."""
    if not isinstance(features, dict):
        raise MalformedEvent(
            "bad_features", f"{name} must be an object, found {json_type(features)}"
        )
    for feature, value in features.items():
        kind = type(value)
        # Squares must neither vanish nor become infinite. NaN fails the first comparison.
        if (
            (kind is not float and kind is not int)
            or not abs(value) <= MAX_FEATURE_VALUE
            or 0 < abs(value) < MIN_FEATURE_VALUE
        ):
            limits = f"with an absolute value from {MIN_FEATURE_VALUE:g} to {MAX_FEATURE_VALUE:g}"
            detail = f"feature {feature[:80]!r} must be 0 or a number {limits}"
            raise MalformedEvent("bad_features", f"{detail}, found {describe_value(value)}")
        if not 0 < len(feature) <= MAX_TERM_BYTES or len(feature.encode()) > MAX_TERM_BYTES:
            detail = f"a feature name must have 1 to {MAX_TERM_BYTES} bytes, found {feature[:80]!r}"
            raise MalformedEvent("bad_features", detail)
    return features


def parse_topics(topics: object, name: str = "`topics`") -> tuple[str, ...] | None:
    """Parse topics, in their order; None if there is no list. `name` is for messages."""
    if topics is None:
        return None
    if not isinstance(topics, list):
        raise MalformedEvent("bad_topics", f"{name} must be a list, found {json_type(topics)}")
    if len(topics) > MAX_TOPICS_PER_EVENT:
        detail = f"{name} must have at most {MAX_TOPICS_PER_EVENT:,} names"
        raise MalformedEvent("bad_topics", f"{detail}, found {len(topics):,}")
    for topic in topics:
        if not isinstance(topic, str) or not 0 < len(topic) <= MAX_TERM_BYTES:
            detail = f"a topic in {name} must be a string of 1 to {MAX_TERM_BYTES} characters"
            raise MalformedEvent("bad_topics", f"{detail}, found {describe_value(topic)}")
    return tuple(dict.fromkeys(topics))  # a topic that is listed twice counts once


def parse_rank(rank: object) -> int | None:
    """Parse a rank, the ordinal label; return None if there is none."""
    if rank is None or (type(rank) is int and rank >= 1):
        return rank
    raise MalformedEvent(
        "bad_rank", f"`rank` must be an integer of at least 1, found {describe_value(rank)}"
    )


def parse_time(time: object) -> str | None:
    """Parse a time in the format of RFC 3339; return None if there is none."""
    if time is None:
        return None
    if isinstance(time, str) and len(time) <= MAX_TIME_CHARACTERS and _RFC3339.fullmatch(time):
        return time
    detail = "`time` must be a time with zone as in RFC 3339, such as 1987-02-26T15:01:01Z"
    raise MalformedEvent("bad_time", f"{detail}, found {describe_value(time)}")
