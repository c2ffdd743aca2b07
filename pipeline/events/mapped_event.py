"""Turn an object of any shape into an event, by a field mapping that is compiled once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pipeline.events.envelope import unwrap
from pipeline.events.event import (
    Event,
    Id,
    MalformedEvent,
    check_late_label,
    length_of_title,
    parse_features,
    parse_id,
    parse_language,
    parse_rank,
    parse_topics,
)
from pipeline.events.fields import ALL_KEYS, FieldMapping, FieldSource
from pipeline.events.json_types import Moment, describe_value, json_type
from pipeline.events.paths import Getter
from pipeline.events.record import Record
from pipeline.events.suggestions import advice, listed_keys
from pipeline.events.times import MAX_SIMPLE, UNITS, since_1970, time_parser
from pipeline.text.markup import loose_text_of

REASON_OF = {
    "id": "bad_id", "title": "bad_content", "text": "bad_content", "features": "bad_features",
    "topics": "bad_topics", "rank": "bad_rank", "time": "bad_time", "language": "bad_content",
}  # fmt: skip
_RANK = re.compile(r"[1-9]\d{0,9}", re.ASCII)

# Reads a field from the event, its record and its envelope; None if the event does not have it.
FieldReader = Callable[[Any, Record, Any], Any]


class Place(NamedTuple):
    """A compiled source of a field."""

    get: Getter
    path: str
    is_list: bool
    source: FieldSource


class EventMapper:
    """Reads events of one shape."""

    def __init__(self, mapping: FieldMapping) -> None:
        self._unwrap = None if mapping.unwrap is None else [str(s) for s in mapping.unwrap.steps]
        self._known = mapping.known_keys
        self._ignore_all = ALL_KEYS in mapping.ignore
        sources = mapping.sources
        self._id = first_of("id", sources["id"])
        self._title = text_reader("title", sources["title"])
        self._text = text_reader("text", sources["text"])
        self._features = first_of("features", sources["features"])
        self._topics = topics_reader(sources["topics"])
        self._rank = first_of("rank", sources["rank"], lambda place: read_rank)
        self._time = first_of("time", sources["time"], time_converter)
        self._language = first_of("language", sources["language"])
        self._id_paths = listed_paths(sources["id"])
        # With an envelope, the id may also be outside of what is read here.
        self._names_id = "id" in mapping.settings or self._unwrap is not None
        self._features_paths = listed_paths(sources["features"])

    def __call__(self, event: dict[str, Any], record: Record, max_event_bytes: int) -> Event:
        """Map one event, or raise `MalformedEvent`."""
        envelope = event
        if self._unwrap is not None:
            event = unwrap(event, self._unwrap)
        id_ = self._id(event, record, envelope)
        if id_ is None:
            hint = advice(event, has_id=self._names_id)
            raise MalformedEvent("bad_id", f"the id ({self._id_paths}) is missing; {hint}")
        id_ = parse_id(id_, self._id_paths)
        title: str | None = self._title(event, record, envelope)
        content: str | dict[str, float] | None = self._text(event, record, envelope)
        if content is None:
            content = title
        elif title is not None:
            content = f"{title}\n{content}"
        features = self._features(event, record, envelope)
        if features is not None:
            content = self._only_features(id_, content, features)
        topics = self._topics(event, record, envelope)
        rank = self._rank(event, record, envelope)
        if content is None:
            labelled = topics is not None or rank is not None
            if not (labelled and self._ignore_all):
                check_late_label(id_, event, labelled, self._known)
        elif len(content) > max_event_bytes:  # with keys and headers; characters or features
            raise MalformedEvent("too_large", f"the text is longer than {max_event_bytes:,} bytes")
        return Event(
            id_, content, topics, rank, self._time(event, record, envelope),
            title_length=length_of_title(title, content),
            language=parse_language(self._language(event, record, envelope)),
        )  # fmt: skip

    def _only_features(self, id_: Id, text: object, features: object) -> dict[str, float]:
        if text is not None:
            detail = f"event {str(id_)[:80]!r} has both text and `features`"
            raise MalformedEvent("bad_content", f"{detail}; expected only one of them")
        return parse_features(features, self._features_paths)


def listed_paths(sources: Sequence[FieldSource]) -> str:
    """Return the paths of a field, for messages."""
    return " or ".join(f"`{source.path.text}`" for source in sources)


def places(field: str, sources: Sequence[FieldSource]) -> list[Place]:
    """Compile the sources of a field."""
    return [Place(guarded(field, s), s.path.text, s.path.is_list, s) for s in sources]


def guarded(field: str, source: FieldSource) -> Getter:
    """Return the getter of a source; what is on the way and does not fit refuses the event."""
    path, reason = source.path.text, REASON_OF[field]
    return source.path.getter(
        lambda said: MalformedEvent(reason, f"`{field}` is read from `{path}`, but {said}")
    )


def refusal(field: str, path: str, expected: str, value: object) -> MalformedEvent:
    """Return the refusal of a value that a field cannot have."""
    where = f"`{field}`" if path == field else f"`{field}`, read from `{path}`,"
    return MalformedEvent(
        REASON_OF[field], f"{where} must be {expected}, found {describe_value(value)}"
    )


def first_of(
    field: str, sources: Sequence[FieldSource],
    converter: Callable[[Place], Callable[[Place, object], object]] | None = None,
) -> FieldReader:  # fmt: skip
    """Return the reader of a field with one value: the first source that has one."""
    compiled = [
        (place, converter(place) if converter else None) for place in places(field, sources)
    ]
    if not compiled:
        return nothing
    if len(compiled) == 1:
        return one_value(*compiled[0])

    def read(event: Any, record: Record, envelope: Any) -> Any:  # noqa: ANN401 - JSON
        for place, convert in compiled:
            value = place.get(event, record, envelope)
            if value is not None:
                return value if convert is None else convert(place, value)
        return None

    return read


def one_value(place: Place, convert: Callable[[Place, object], object] | None) -> FieldReader:
    """Return the reader of a field with one source."""
    get = place.get
    if convert is None:
        return get

    def read(event: Any, record: Record, envelope: Any) -> Any:  # noqa: ANN401 - JSON
        value = get(event, record, envelope)
        return None if value is None else convert(place, value)

    return read


def nothing(event: object, record: Record, envelope: object) -> None:
    """Read a field that no event has."""


def text_reader(field: str, sources: Sequence[FieldSource]) -> FieldReader:
    """Return the reader of a text: all sources that have one, joined by newlines."""
    compiled = places(field, sources)
    if not compiled:
        return nothing
    if len(compiled) == 1 and not compiled[0].is_list and not compiled[0].source.html:
        get_only, only_path = compiled[0].get, compiled[0].path

        def read_only(event: Any, record: Record, envelope: Any) -> str | None:  # noqa: ANN401
            value: str | None = get_only(event, record, envelope)
            if type(value) is str or value is None:
                return value
            raise not_a_text(field, only_path, value)

        return read_only

    get = compiled[0].get

    def read_html(event: Any, record: Record, envelope: Any) -> str | None:  # noqa: ANN401
        value = get(event, record, envelope)
        return loose_text_of(value) if type(value) is str else read(event, record, envelope)

    def read_list(event: Any, record: Record, envelope: Any) -> str | None:  # noqa: ANN401
        value = get(event, record, envelope)
        if not value:
            return None
        try:
            return "\n".join(value)
        except TypeError:  # not all are strings
            return read(event, record, envelope)

    def read(event: Any, record: Record, envelope: Any) -> str | None:  # noqa: ANN401 - JSON
        parts: list[str] = []
        for get, path, is_list, source in compiled:
            value = get(event, record, envelope)
            if value is None:
                continue
            for part in value if is_list else (value,):
                if type(part) is str:
                    parts.append(loose_text_of(part) if source.html else part)
                elif part is not None:
                    raise not_a_text(field, path, part)
        return "\n".join(parts) if parts else None

    if len(compiled) > 1:
        return read
    if not compiled[0].source.html:
        return read_list
    return read if compiled[0].is_list else read_html


def not_a_text(field: str, path: str, value: object) -> MalformedEvent:
    """Return the refusal of a value that is not a string, with the path to write instead."""
    hint = ""
    if isinstance(value, list):
        hint = f" (write `{path}[]` to join its elements)"
    elif isinstance(value, dict) and value:
        hint = f" with the keys {listed_keys(value)} (write `{path}.NAME` to read one of them)"
    where = f"`{field}`" if path == field else f"`{field}`, read from `{path}`,"
    return MalformedEvent(
        REASON_OF[field], f"{where} must be a string, found {json_type(value)}{hint}"
    )


def topics_reader(sources: Sequence[FieldSource]) -> FieldReader:
    """Return the reader of the topics of all sources: lists, single topics, or delimited texts."""
    compiled = places("topics", sources)
    if not compiled:
        return nothing
    paths = listed_paths(sources)

    def read(event: Any, record: Record, envelope: Any) -> tuple[str, ...] | None:  # noqa: ANN401
        topics: list[Any] | None = None
        for place in compiled:
            value = place.get(event, record, envelope)
            if value is None or value == "":  # an empty cell of a table is no label
                continue
            topics = [] if topics is None else topics
            elements = value if type(value) is list else [value]
            separator = place.source.separator
            for element in elements:
                if type(element) is str:
                    if separator:
                        topics += filter(None, map(str.strip, element.split(separator)))
                    else:
                        topics.append(element)
                elif type(element) is int:
                    topics.append(str(element))
                else:
                    raise not_a_topic(place, element)
        return None if topics is None else parse_topics(topics, paths)

    def read_list(event: Any, record: Record, envelope: Any) -> tuple[str, ...] | None:  # noqa: ANN401
        value = get(event, record, envelope)
        if value is None:
            return None
        if type(value) is list:
            try:
                return parse_topics(value, paths)
            except MalformedEvent:  # not all are strings
                return read(event, record, envelope)
        return read(event, record, envelope)

    def read_delimited(event: Any, record: Record, envelope: Any) -> tuple[str, ...] | None:  # noqa: ANN401
        value = get(event, record, envelope)
        if type(value) is str and value:
            return parse_topics([*filter(None, map(str.strip, value.split(separator)))], paths)
        return read(event, record, envelope)

    get, separator = compiled[0].get, compiled[0].source.separator
    if len(compiled) > 1:
        return read
    return read_delimited if separator else read_list


def not_a_topic(place: Place, value: object) -> MalformedEvent:
    """Return the refusal of a value that is no topic, with the path to write instead."""
    path = place.path
    if value is None and place.is_list:
        found = "an element without one"
    elif isinstance(value, dict) and value:
        each = "" if place.is_list or path.endswith("]") else "[]"
        name = next(iter(value))[:40]
        found = f"an object (write for instance `{path}{each}.{name}`)"
    else:
        found = describe_value(value)
    where = "`topics`" if path == "topics" else f"`topics`, read from `{path}`,"
    return MalformedEvent("bad_topics", f"{where} must be strings or integers, found {found}")


def read_rank(place: Place, value: object) -> int | None:
    """Return a rank: an integer, or the text of one, as tables have it."""
    if type(value) is str:
        if value == "":
            return None
        if _RANK.fullmatch(value):
            return int(value)
    elif type(value) is float and value.is_integer() and 1 <= value <= 1e9:
        return int(value)
    if type(value) is int and value >= 1:
        return parse_rank(value)
    raise refusal("rank", place.path, "an integer of at least 1", value)


def time_converter(place: Place) -> Callable[[Place, object], object]:
    """Return the function that turns the value of a time into RFC 3339."""
    source = place.source
    format_ = source.format or ("iso8601" if source.zone else "rfc3339")
    if source.path.source == "timestamp" and not source.format:
        format_ = "milliseconds"
    parse = time_parser(format_, source.zone)

    unit = UNITS.get(format_, 0)
    most = MAX_SIMPLE * unit

    def read(place: Place, value: object) -> str | None:
        if type(value) is int and 0 <= value < most:
            return since_1970(value, unit)
        if type(value) is Moment:
            return str(value)
        if value == "" or (source.path.source == "timestamp" and value == NO_TIMESTAMP):
            return None
        try:
            return parse(value)
        except MalformedEvent as problem:
            raise MalformedEvent(
                problem.reason, time_detail(place, value, problem.detail)
            ) from None

    return read


NO_TIMESTAMP = -1  # of a Kafka record without one


def time_detail(place: Place, value: object, detail: str) -> str:
    """Say what is wrong with a time, and which format may read it."""
    where = "`time`" if place.path == "time" else f"`time`, read from `{place.path}`"
    hint = ""
    if isinstance(value, int | float) and not place.source.format:
        hint = f'; perhaps time = {{path = "{place.path}", format = "milliseconds"}}'
    return f"{where}: {detail.removeprefix('`time` must be ')}{hint}"
