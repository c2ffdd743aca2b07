"""Parse news items in the IPTC format ninjs as events.

Versions 1.x and 2.x differ by field, so an item may mix them. Version 3.x spells some fields in
another way (`pubStatus`, `versionCreated`, `contentType`). These spellings are read too, because
3.x items look like 2.x items and a cancelled item must not be taken as usable.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pipeline.events.event import (
    MAX_EVENT_BYTES,
    Event,
    Id,
    MalformedEvent,
    length_of_title,
    parse_content,
    parse_id,
    parse_language,
    parse_object,
    parse_time,
    parse_topics,
)
from pipeline.events.json_types import describe_value, json_type
from pipeline.text.markup import looks_like_markup, text_of

NOT_USABLE = "not_usable"  # the reason for well-formed items that are withdrawn or held back

MOST_URGENT, LEAST_URGENT = 1, 9

# Of several headlines, bodies or descriptions, the first role in this list wins ("": no role).
ROLES = ("main", "text", "", "xhtml", "html", "html5", "caption")

PLAIN, MARKUP, OTHER = range(3)

_SHORT_ZONE = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d)(\d\d)?")


class Variant(NamedTuple):
    """One of the headlines, bodies or descriptions of an item."""

    format: int
    preference: int  # the index of its role in `ROLES`: lower is better
    value: str


def parse_ninjs(raw: bytes, max_event_bytes: int = MAX_EVENT_BYTES) -> Event:
    r"""Parse one news item as a document or a late label, or raise `MalformedEvent`.

    Examples
    --------
    >>> item = b'''{"uri": "urn:x:7", "headline": "Wheat up", "urgency": 4,
    ...             "subject": [{"code": "20000382", "name": "cereals"}],
    ...             "body_xhtml": "<p>Prices rose.</p><p>Traders smiled.</p>"}'''
    >>> parse_ninjs(item)
    Event(id='urn:x:7', content='Wheat up\nPrices rose. Traders smiled.',
          topics=('20000382',), rank=4, time=None, ...)

    """
    item = parse_object(raw, max_event_bytes)
    id_ = _uri(item)
    _refuse_unusable(item)
    title = _headline(item)
    text = _text(item, "body", "bodies")
    if text is None:
        text = _text(item, "description", "descriptions")
    content = parse_content(id_, {"title": title, "text": text})
    topics = _subjects(item)
    rank = _urgency(item.get("urgency"))
    if content is None and topics is None and rank is None:
        detail = f"item {str(id_)[:80]!r} has no headline, body, description or labels"
        raise MalformedEvent("no_content", detail)
    return Event(
        id_, content, topics, rank, _versioncreated(item),
        title_length=length_of_title(title, content), language=parse_language(item.get("language")),
    )  # fmt: skip


def _first(item: dict[str, Any], *names: str) -> object:
    """Return the value of the first of these keys that is not missing, null or empty."""
    for name in names:
        value = item.get(name)
        if value is not None and value != "":
            return value
    return None


def _string(item: dict[str, Any], *names: str, reason: str) -> str:
    """Return the optional string under the first of these keys that has a value."""
    value = _first(item, *names)
    if value is None:
        return ""
    if not isinstance(value, str):
        detail = f"`{names[0][:80]}` must be a string, found {json_type(value)}"
        raise MalformedEvent(reason, detail)
    return value


def _uri(item: dict[str, Any]) -> Id:
    uri = _string(item, "uri", "guid", reason="bad_id")
    if not uri:
        raise MalformedEvent("bad_id", "an item must have a `uri` (or a `guid`, as in Superdesk)")
    return parse_id(uri)


def _refuse_unusable(item: dict[str, Any]) -> None:
    status = _string(item, "pubstatus", "pubStatus", reason=NOT_USABLE)
    if status.lower() not in ("", "usable"):
        detail = f"`pubstatus` is {status[:80]!r}; only items with `usable` are ranked and learned"
        raise MalformedEvent(NOT_USABLE, detail)


def _headline(item: dict[str, Any]) -> str | None:
    """Return the headline of the best role."""
    main = _variant("main", "", _string(item, "headline", reason="bad_content"))
    variants = main + _variants(item, "headline", "headlines")
    return _best(sorted(variants, key=lambda variant: variant.preference))


def _text(item: dict[str, Any], name: str, plural: str) -> str | None:
    """Return plain text, or else the text of markup; of several, the one of the best role."""
    return _best(sorted(_variants(item, name, plural), key=lambda v: (v.format, v.preference)))


def _best(variants: list[Variant]) -> str | None:
    """Return the text of the first variant that has text."""
    for variant in variants:
        text = text_of(variant.value) if variant.format == MARKUP else variant.value
        if text:
            return text
    return None


def _variants(item: dict[str, Any], name: str, plural: str) -> list[Variant]:
    """Return all variants: those of 2.x in their order, then those of 1.x sorted by key.

    The order of keys has no meaning in JSON, so it must not decide.
    """
    variants = []
    listed = item.get(plural)
    if listed is not None:
        if not isinstance(listed, list):
            detail = f"`{plural}` must be a list, found {json_type(listed)}"
            raise MalformedEvent("bad_content", detail)
        for entry in listed:
            if not isinstance(entry, dict):
                detail = f"`{plural}` must list objects, found {json_type(entry)}"
                raise MalformedEvent("bad_content", detail)
            role = _string(entry, "role", reason="bad_content")
            contenttype = _string(entry, "contenttype", "contentType", reason="bad_content")
            variants += _variant(role, contenttype, _string(entry, "value", reason="bad_content"))
    prefix = f"{name}_"
    for key in sorted(key for key in item if key.startswith(prefix)):
        if not isinstance(item[key], dict | list):  # some producers put data there, not text
            role = key.removeprefix(prefix)
            variants += _variant(role, "", _string(item, key, reason="bad_content"))
    return variants


def _variant(role: str, contenttype: str, value: str) -> list[Variant]:
    """Return the variant in a list; an empty list if it is blank or neither text nor markup."""
    role, contenttype = role.lower(), contenttype.lower()
    hint = contenttype or role
    if any(name in hint for name in ("html", "xml", "nitf")):
        format_ = MARKUP
    elif contenttype:
        format_ = PLAIN if contenttype.startswith("text") else OTHER
    elif "text" in re.split(r"[\W_]+", role):
        format_ = PLAIN
    else:
        format_ = MARKUP if looks_like_markup(value) else PLAIN
    if format_ == OTHER or not value or value.isspace():
        return []
    return [Variant(format_, ROLES.index(role) if role in ROLES else len(ROLES), value)]


def _subjects(item: dict[str, Any]) -> tuple[str, ...] | None:
    name = "subject" if item.get("subjects") is None else "subjects"
    subjects = item.get(name)
    if subjects is None:
        return None
    if not isinstance(subjects, list):
        raise MalformedEvent("bad_topics", f"`{name}` must be a list, found {json_type(subjects)}")
    return parse_topics([_topic(subject) for subject in subjects])


def _topic(subject: object) -> str:
    """Return the topic of a subject: its code, or else literal, end of the URI, or name."""
    if not isinstance(subject, dict):
        detail = f"a subject must be an object, found {json_type(subject)}"
        raise MalformedEvent("bad_topics", detail)
    code, literal, uri, name = (
        _string(subject, key, reason="bad_topics") for key in ("code", "literal", "uri", "name")
    )
    topic = code or literal or _tail(uri) or name
    if not topic:
        raise MalformedEvent("bad_topics", "a subject must have a code, literal, URI or name")
    return topic


def _tail(uri: str) -> str:
    """Return what follows the last slash or hash of a URI, or the last colon of a URN."""
    return re.split(r"[/#]" if "/" in uri or "#" in uri else ":", uri)[-1]


def _urgency(urgency: object) -> int | None:
    if urgency is None:
        return None
    # 4.0 is the same JSON number as 4. True equals 1 in Python, but is not an urgency.
    number = urgency if isinstance(urgency, int | float) else 0
    if number in range(MOST_URGENT, LEAST_URGENT + 1) and urgency is not True:
        return int(number)
    detail = f"`urgency` must be an integer from {MOST_URGENT} to {LEAST_URGENT}"
    raise MalformedEvent("bad_rank", f"{detail}, found {describe_value(urgency)}")


def _versioncreated(item: dict[str, Any]) -> str | None:
    time = _string(item, "versioncreated", "versionCreated", reason="bad_time")
    short = _SHORT_ZONE.fullmatch(time)
    return parse_time(f"{short[1]}:{short[2] or '00'}" if short else time or None)
