"""What a client may ask for: one document or a list of them, and how to rank them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from pipeline.events.event import (
    MAX_EVENT_BYTES,
    NATIVE_KEYS,
    Event,
    MalformedEvent,
    Refusal,
    length_of_title,
    parse_content,
    parse_id,
    parse_language,
    parse_time,
)
from pipeline.events.json_types import describe_value, json_type

OPTIONS = ("lane", "top", "why")
DEFAULT_TOP = 10
MOST_NAMES_SHOWN = 20


class Limits(NamedTuple):
    """What one request may ask for."""

    documents: int  # of one request
    places: int = 200_000  # documents x lanes x topics per ranking
    explained_places: int = 40_000  # the same, with explanations
    event_bytes: int = MAX_EVENT_BYTES  # of the text of a document, as in a stream


class BadRequest(Exception):  # noqa: N818 - the name of the HTTP status
    """A request that cannot be answered; the message says what was found and expected."""

    def __init__(self, detail: str, reason: str = "bad_request", status: int = 400) -> None:
        super().__init__(detail)
        self.detail = detail
        self.reason = reason
        self.status = status


class RefusedDocument(NamedTuple):
    """A document of a request that cannot be ranked, and why."""

    number: int
    refusal: Refusal


class RankRequest(NamedTuple):
    """A request, checked."""

    documents: list[Event]
    refused: list[RefusedDocument]
    lanes: tuple[int, ...]  # the places of the lanes in the model
    top: int
    why: bool


def parse_request(
    body: bytes, lanes: Sequence[str], topics: int, limits: Limits, default_top: int = DEFAULT_TOP
) -> RankRequest:
    """Parse the body of a request, or raise `BadRequest`.

    Examples
    --------
    >>> request = parse_request(b'{"text": "wheat", "top": 3}', ["mmp"], 100, Limits(10))
    >>> request.documents[0].content, request.top
    ('wheat', 3)
    >>> parse_request(b'{"text": "wheat", "tpo": 3}', ["mmp"], 100, Limits(10))
    Traceback (most recent call last):
    ...
    pipeline.serving.rank_request.BadRequest: unknown keys: 'tpo'; expected ...

    """
    asked = parse_body(body)
    is_batch = "documents" in asked
    check_keys(asked, ("documents", *OPTIONS) if is_batch else (*sorted(NATIVE_KEYS), *OPTIONS))
    chosen = parse_lanes(asked.get("lane"), lanes)
    top = parse_top(asked.get("top"), default_top)
    why = asked.get("why", False)
    if not isinstance(why, bool):
        raise BadRequest(f"`why` must be true or false, found {describe_value(why)}")
    raw = asked["documents"] if is_batch else [asked]
    if not isinstance(raw, list):
        raise BadRequest(f"`documents` must be a list, found {json_type(raw)}")
    if len(raw) > limits.documents:
        raise BadRequest(
            f"`documents` must have at most {limits.documents:,} documents, found {len(raw):,}",
            "too_many_documents",
            413,
        )
    places = len(raw) * len(lanes) * min(top or topics, topics)
    most = limits.explained_places if why else limits.places
    if places > most:
        raise BadRequest(
            f"{len(raw):,} documents x {len(lanes):,} lanes x {top or topics:,} topics are "
            f"{places:,} places of rankings; expected at most {most:,}. Send fewer documents, or a "
            "smaller `top`",
            "too_many_places",
            413,
        )
    for number, document in enumerate(raw if is_batch else ()):
        if isinstance(document, dict) and not document.keys() <= NATIVE_KEYS:
            check_keys(document, sorted(NATIVE_KEYS), f"document {number} has ")
    documents, refused = parse_documents(raw, limits)
    if refused and not is_batch:
        raise BadRequest(refused[0].refusal.detail, refused[0].refusal.reason)
    return RankRequest(documents, refused, chosen, top, why)


def parse_body(body: bytes) -> dict[str, Any]:
    """Parse the JSON object that every request must be."""
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not valid JSON: {error}", "not_json") from None
    if not isinstance(asked, dict):
        raise BadRequest(f"expected a JSON object, found {json_type(asked)}", "not_an_object")
    return asked


def check_keys(asked: Mapping[str, Any], known: Sequence[str], where: str = "") -> None:
    """Refuse unknown keys: a misspelt option would otherwise be ignored."""
    unknown = sorted(asked.keys() - set(known))
    if unknown:
        named = ", ".join(repr(key[:40]) for key in unknown[:5])
        raise BadRequest(
            f"{where}unknown keys: {named}; expected {', '.join(known)}", "unknown_keys"
        )


def parse_lanes(asked: object, known: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the lanes that are asked for: a name, a list of names, or all."""
    if asked is None:
        return tuple(range(len(known)))
    names = [asked] if isinstance(asked, str) else asked
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise BadRequest(f"`lane` must be a name or a list of names, found {json_type(asked)}")
    places = {name: place for place, name in enumerate(known)}
    missing = [name for name in names if name not in places]
    if missing:
        listed = ", ".join(known[:MOST_NAMES_SHOWN])
        raise BadRequest(
            f"the model has no lane {missing[0][:80]!r}; expected one of: {listed}", "unknown_lane"
        )
    return tuple(sorted({places[name] for name in names}))


def parse_top(asked: object, default: int) -> int:
    """Return the number of topics per ranking; 0 stands for all."""
    if asked is None:
        return default
    if type(asked) is not int or not 0 <= asked < 1 << 31:
        raise BadRequest(f"`top` must be a whole number from 0 on, found {describe_value(asked)}")
    return asked


def parse_documents(
    raw: Sequence[object], limits: Limits
) -> tuple[list[Event], list[RefusedDocument]]:
    """Return the documents that can be ranked, and the others with the reasons."""
    documents, refused = list[Event](), list[RefusedDocument]()
    for number, value in enumerate(raw):
        try:
            documents.append(parse_document(number, value, limits))
        except MalformedEvent as problem:
            refused.append(RefusedDocument(number, problem.refusal))
    return documents, refused


def parse_document(number: int, value: object, limits: Limits) -> Event:
    """Parse a document as an event of a stream; without an id, its number is the id."""
    if not isinstance(value, dict):
        raise MalformedEvent("not_an_object", f"expected a JSON object, found {json_type(value)}")
    id_ = parse_id(value["id"]) if value.get("id") is not None else number
    content = parse_content(id_, value)
    if content is None:
        raise MalformedEvent("no_content", "the document has no text, title or features")
    if isinstance(content, str) and len(content) > limits.event_bytes:
        raise MalformedEvent(
            "too_large",
            f"the text has {len(content):,} characters; expected at most {limits.event_bytes:,}",
        )
    return Event(
        id_, content, None, None, parse_time(value.get("time")),
        title_length=length_of_title(value.get("title"), content),
        language=parse_language(value.get("language")),
    )  # fmt: skip
