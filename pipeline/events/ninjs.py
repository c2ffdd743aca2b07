"""News items in IPTC ninjs, read as document events.

Generations 1.x and 2.x are told apart field by field, so an item may mix them. What 3.x merely
spells otherwise (`pubStatus`, `versionCreated`, `contentType`) is read as well: its items look
like those of 2.x, and a cancelled one must not pass for usable.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pipeline.events.event import (
    MAX_EVENT_BYTES,
    Event,
    Id,
    MalformedEvent,
    called,
    read_content,
    read_id,
    read_object,
    read_time,
    read_topics,
    shown,
)
from pipeline.text.markup import text_of

NOT_USABLE = "not_usable"  # the reason of items that are well formed, but withdrawn or held back

MOST_URGENT, LEAST_URGENT = 1, 9

# Of several headlines, bodies or descriptions, the role decides in this order ("" is no role).
ROLES = ("main", "text", "", "xhtml", "html", "html5", "caption")

PLAIN, MARKUP, OTHER = range(3)

_TAGGED = re.compile(r"</[a-z][a-z0-9]*+\s*+>|<(?:br|p)\s*+/?>", re.IGNORECASE)
_SHORT_ZONE = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d)(\d\d)?")


class Variant(NamedTuple):
    """One of the headlines, bodies or descriptions of an item."""

    format: int
    preference: int  # the place of its role among those known: the lower, the better
    value: str


def parse_ninjs(raw: bytes, max_event_bytes: int = MAX_EVENT_BYTES) -> Event:
    r"""Read one news item as a document or a late label, or raise `MalformedEvent`.

    Examples
    --------
    >>> item = b'''{"uri": "urn:x:7", "headline": "Wheat up", "urgency": 4,
    ...             "subject": [{"code": "20000382", "name": "cereals"}],
    ...             "body_xhtml": "<p>Prices rose.</p><p>Traders smiled.</p>"}'''
    >>> parse_ninjs(item)
    Event(id='urn:x:7', content='Wheat up\nPrices rose. Traders smiled.',
          topics=('20000382',), rank=4, time=None)

    """
    item = read_object(raw, max_event_bytes)
    id_ = _uri(item)
    _refuse_unusable(item)
    title = _headline(item)
    text = _text(item, "body", "bodies")
    if text is None:
        text = _text(item, "description", "descriptions")
    content = read_content(id_, {"title": title, "text": text})
    topics = _subjects(item)
    rank = _urgency(item.get("urgency"))
    if content is None and topics is None and rank is None:
        detail = f"item {str(id_)[:80]!r} has no headline, body or description and no labels"
        raise MalformedEvent("no_content", detail)
    return Event(id_, content, topics, rank, _versioncreated(item))


def _first(item: dict[str, Any], *names: str) -> object:
    """The value of the first of these keys that says anything."""
    for name in names:
        value = item.get(name)
        if value is not None and value != "":
            return value
    return None


def _string(item: dict[str, Any], *names: str, reason: str) -> str:
    """A string that may be left out, under the first of these keys that says anything."""
    value = _first(item, *names)
    if value is None:
        return ""
    if not isinstance(value, str):
        detail = f"`{names[0][:80]}` must be a string, found {called(value)}"
        raise MalformedEvent(reason, detail)
    return value


def _uri(item: dict[str, Any]) -> Id:
    uri = _string(item, "uri", "guid", reason="bad_id")
    if not uri:
        raise MalformedEvent("bad_id", "an item must have a `uri` (or, as Superdesk has, a `guid`)")
    return read_id(uri)


def _refuse_unusable(item: dict[str, Any]) -> None:
    status = _string(item, "pubstatus", "pubStatus", reason=NOT_USABLE)
    if status.lower() not in ("", "usable"):
        detail = f"`pubstatus` is {status[:80]!r}; only usable items are ranked and learned"
        raise MalformedEvent(NOT_USABLE, detail)


def _headline(item: dict[str, Any]) -> str | None:
    """The headline of the best role."""
    main = _variant("main", "", _string(item, "headline", reason="bad_content"))
    variants = main + _variants(item, "headline", "headlines")
    return _best(sorted(variants, key=lambda variant: variant.preference))


def _text(item: dict[str, Any], name: str, plural: str) -> str | None:
    """Plain text if there is any, otherwise the text of markup; of the best role in each."""
    return _best(sorted(_variants(item, name, plural), key=lambda v: (v.format, v.preference)))


def _best(variants: list[Variant]) -> str | None:
    """The text of the first variant that has any."""
    for variant in variants:
        text = text_of(variant.value) if variant.format == MARKUP else variant.value
        if text:
            return text
    return None


def _variants(item: dict[str, Any], name: str, plural: str) -> list[Variant]:
    """All of one kind: those of 2.x as listed, then those of 1.x by name.

    The order of keys means nothing in JSON, so it must not decide.
    """
    variants = []
    listed = item.get(plural)
    if listed is not None:
        if not isinstance(listed, list):
            detail = f"`{plural}` must be a list, found {called(listed)}"
            raise MalformedEvent("bad_content", detail)
        for entry in listed:
            if not isinstance(entry, dict):
                detail = f"`{plural}` must list objects, found {called(entry)}"
                raise MalformedEvent("bad_content", detail)
            role = _string(entry, "role", reason="bad_content")
            contenttype = _string(entry, "contenttype", "contentType", reason="bad_content")
            variants += _variant(role, contenttype, _string(entry, "value", reason="bad_content"))
    prefix = f"{name}_"
    for key in sorted(key for key in item if key.startswith(prefix)):
        if not isinstance(item[key], dict | list):  # some producers keep data there, not text
            role = key.removeprefix(prefix)
            variants += _variant(role, "", _string(item, key, reason="bad_content"))
    return variants


def _variant(role: str, contenttype: str, value: str) -> list[Variant]:
    """The variant, or nothing if it is blank or neither text nor markup."""
    role, contenttype = role.lower(), contenttype.lower()
    said = contenttype or role
    if any(name in said for name in ("html", "xml", "nitf")):
        found = MARKUP
    elif contenttype:
        found = PLAIN if contenttype.startswith("text") else OTHER
    elif "text" in re.split(r"[\W_]+", role):
        found = PLAIN
    else:
        found = MARKUP if _TAGGED.search(value) else PLAIN
    if found == OTHER or not value or value.isspace():
        return []
    return [Variant(found, ROLES.index(role) if role in ROLES else len(ROLES), value)]


def _subjects(item: dict[str, Any]) -> tuple[str, ...] | None:
    name = "subject" if item.get("subjects") is None else "subjects"
    subjects = item.get(name)
    if subjects is None:
        return None
    if not isinstance(subjects, list):
        raise MalformedEvent("bad_topics", f"`{name}` must be a list, found {called(subjects)}")
    return read_topics([_topic(subject) for subject in subjects])


def _topic(subject: object) -> str:
    """What a subject is called: its code, or its literal, or the end of its URI, or its name."""
    if not isinstance(subject, dict):
        detail = f"a subject must be an object, found {called(subject)}"
        raise MalformedEvent("bad_topics", detail)
    code, literal, uri, name = (
        _string(subject, key, reason="bad_topics") for key in ("code", "literal", "uri", "name")
    )
    topic = code or literal or _tail(uri) or name
    if not topic:
        raise MalformedEvent("bad_topics", "a subject has neither code, literal, URI nor name")
    return topic


def _tail(uri: str) -> str:
    """What follows the last slash or hash of a URI; of a URN, its last colon."""
    return re.split(r"[/#]" if "/" in uri or "#" in uri else ":", uri)[-1]


def _urgency(urgency: object) -> int | None:
    if urgency is None:
        return None
    # 4.0 is the same JSON number as 4. A true would be equal to 1.
    number = urgency if isinstance(urgency, int | float) else 0
    if number in range(MOST_URGENT, LEAST_URGENT + 1) and urgency is not True:
        return int(number)
    detail = f"`urgency` must be a whole number from {MOST_URGENT} to {LEAST_URGENT}"
    raise MalformedEvent("bad_rank", f"{detail}, found {shown(urgency)}")


def _versioncreated(item: dict[str, Any]) -> str | None:
    time = _string(item, "versioncreated", "versionCreated", reason="bad_time")
    short = _SHORT_ZONE.fullmatch(time)
    return read_time(f"{short[1]}:{short[2] or '00'}" if short else time or None)
