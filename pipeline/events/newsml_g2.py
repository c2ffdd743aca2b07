"""Parse news items in the IPTC format NewsML-G2 as events.

Elements are known by the URI of their namespace, whatever prefix a producer uses. Aliases of
schemes are not resolved: a topic is called by its qcode as it is in the item.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from pipeline.events.event import (
    MAX_EVENT_BYTES,
    Event,
    MalformedEvent,
    length_of_title,
    parse_content,
    parse_id,
    parse_language,
    parse_time,
    parse_topics,
)
from pipeline.events.xml_parser import SEPARATOR, check_depth, new_parser, xml_errors
from pipeline.events.xml_text import TextCollector
from pipeline.text.markup import text_of

NAR = "http://iptc.org/std/nar/2006-10-01/"
LANG = f"http://www.w3.org/XML/1998/namespace{SEPARATOR}lang"
MAIN_ROLES = ("", "main", "headline")  # of headlines, best first
MOST_URGENT, LEAST_URGENT = 1, 9

# Where an item has what is read. The text of an element is collected if its value is a name.
Places = Mapping[str, "Places | str"]
PLACES: Places = {
    "itemMeta": {"pubStatus": {}, "versionCreated": "version_created", "title": "title"},
    "contentMeta": {
        "contentCreated": "content_created",
        "urgency": "urgency",
        "language": {},
        "subject": {"name": "subject_name"},
        "headline": "headline",
        "description": "description",
    },
    "contentSet": {"inlineXML": "body", "inlineData": "data"},
}
NOWHERE: Places = {}

_URI_PARTS = re.compile(r"[:/#]")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


class Headline(NamedTuple):
    """A headline with its language (None: that of the item) and role."""

    language: str | None
    role: str
    text: str


class NewsmlG2Parser:
    r"""Parses one news item as a document or a late label, or raises `MalformedEvent`.

    Parameters
    ----------
    schemes
        Keep subjects of these schemes only: the part of a qcode before the colon, or the beginning
        of a URI. Empty: of all schemes.
    types
        Keep subjects of these types only, e.g. `cpnat:abstract`. Empty: of all types.

    Examples
    --------
    >>> item = b'''<newsItem xmlns="http://iptc.org/std/nar/2006-10-01/" guid="urn:x:7">
    ...   <contentMeta><urgency>4</urgency><subject qcode="medtop:20000382"/>
    ...   <headline>Wheat up</headline></contentMeta>
    ...   <contentSet><inlineXML><html xmlns="http://www.w3.org/1999/xhtml"><body>
    ...   <p>Prices rose.</p><p>Traders smiled.</p></body></html></inlineXML></contentSet>
    ... </newsItem>'''
    >>> NewsmlG2Parser()(item)
    Event(id='urn:x:7', content='Wheat up\nPrices rose. Traders smiled.',
          topics=('medtop:20000382',), rank=4, time=None, ...)

    """

    def __init__(self, schemes: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> None:
        self._schemes = schemes
        self._types = types

    def __call__(self, raw: bytes, max_event_bytes: int = MAX_EVENT_BYTES) -> Event:
        """Parse the item."""
        if len(raw) > max_event_bytes:
            raise MalformedEvent("too_large", f"the event has more than {max_event_bytes:,} bytes")
        item = ItemReader()
        with xml_errors():
            item.read(raw)
        return self._event(item)

    def _event(self, item: ItemReader) -> Event:
        if not item.guid:
            raise MalformedEvent("bad_id", "a newsItem must have a `guid`")
        id_ = parse_id(item.guid)
        status = _URI_PARTS.split(item.status)[-1]
        if status.lower() not in ("", "usable"):
            detail = f"`pubStatus` is {status[:80]!r}; only usable items are ranked and learned"
            raise MalformedEvent("not_usable", detail)
        title = item.best_headline()
        content = parse_content(id_, {"title": title, "text": item.text()})
        kept = [subject for subject in item.subjects if self._keeps(subject)]
        # An item without any subject is not labelled. One without a subject of these schemes is.
        topics = parse_topics([topic_of(one) for one in kept]) if item.subjects else None
        rank = parse_urgency(item.first("urgency"))
        if content is None and topics is None and rank is None:
            detail = f"item {item.guid[:80]!r} has no headline, content, description or labels"
            raise MalformedEvent("no_content", detail)
        return Event(
            id_, content, topics, rank, item.time(),
            title_length=length_of_title(title, content), language=parse_language(item.language),
        )  # fmt: skip

    def _keeps(self, subject: Mapping[str, str]) -> bool:
        if self._types and subject.get("type", "") not in self._types:
            return False
        scheme = subject.get("qcode", "").partition(":")[0]
        uri = subject.get("uri", "")
        return not self._schemes or scheme in self._schemes or bool(uri.startswith(self._schemes))


def topic_of(subject: Mapping[str, str]) -> str:
    """Return the topic of a subject: its qcode, or else its URI, literal or name."""
    for key in ("qcode", "uri", "literal", "name"):
        if topic := subject.get(key, "").strip():
            return topic
    raise MalformedEvent("bad_topics", "a subject must have a qcode, URI, literal or name")


def parse_urgency(urgency: str) -> int | None:
    """Return the urgency as a rank; None if there is none."""
    if not urgency:
        return None
    if len(urgency) == 1 and urgency in "123456789":
        return int(urgency)
    detail = f"`urgency` must be an integer from {MOST_URGENT} to {LEAST_URGENT}"
    raise MalformedEvent("bad_rank", f"{detail}, found {urgency[:80]!r}")


class ItemReader:
    """Reads the one news item of a document."""

    def __init__(self) -> None:
        self.guid = self.status = self.language = ""
        self.subjects: list[dict[str, str]] = []
        self._items = 0
        self._languages: set[str] = set()
        self._content_language = ""  # the first that is named; goes before that of the item
        self._headlines: list[Headline] = []
        self._texts: dict[str, list[str]] = {}  # by the names in PLACES, in their order
        self._depth = 0
        self._places: list[Places] = []  # the way from the item to the current element
        self._collected = ""  # the name of what is being collected
        self._collector: TextCollector | None = None
        self._attributes: Mapping[str, str] = {}  # of the element that is being collected

    def read(self, raw: bytes) -> None:
        """Read the document."""
        parser = new_parser(namespaces=True)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add
        parser.Parse(raw, True)
        if not self._items:
            raise MalformedEvent("bad_content", "the newsMessage has no newsItem")

    def first(self, name: str) -> str:
        """Return the first text of this kind that has words; otherwise an empty text."""
        return next(iter(self._texts.get(name, ())), "")

    def best_headline(self) -> str | None:
        """Return the headline in the language of the item, without a role or with a main one."""

        def preference(headline: Headline) -> tuple[bool, int]:
            own = headline.language is None or headline.language in self._languages
            role = headline.role
            return not own, MAIN_ROLES.index(role) if role in MAIN_ROLES else len(MAIN_ROLES)

        best = min(self._headlines, key=preference, default=None)  # of equal ones the first
        return best.text if best is not None else self.first("title") or None

    def text(self) -> str | None:
        """Return the text of the item: its content, or else its description."""
        return self.first("body") or self.first("data") or self.first("description") or None

    def time(self) -> str | None:
        """Return when this version was created; otherwise its content, if that is precise."""
        version, content = self.first("version_created"), self.first("content_created")
        return parse_time(version or (content if _TIME.fullmatch(content) else None))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        check_depth(self._depth)
        namespace, _, local = name.rpartition(SEPARATOR)
        if self._collector is not None:
            self._collector.start(local.lower())
            return
        ours = namespace in (NAR, "")
        if not self._places:
            if ours or self._depth == 1:
                self._outside(local if ours else name, attributes)
            return
        inside = self._places[-1].get(local) if ours else None
        if inside is None:
            self._places.append(NOWHERE)
        elif isinstance(inside, str):
            self._collected, self._collector = inside, TextCollector()
            self._attributes = attributes
        else:
            self._places.append(inside)
            self._note(local, attributes)

    def _outside(self, name: str, attributes: dict[str, str]) -> None:
        """Take the start of an element that is in no item."""
        if name == "newsItem":
            self._items += 1
            if self._items > 1:
                raise MalformedEvent(
                    "bad_content", "the newsMessage has several items; expected one item per event"
                )
            self.guid = attributes.get("guid", "")
            self.language = attributes.get(LANG, "")
            self._languages |= {attributes[LANG]} if LANG in attributes else set()
            self._places.append(PLACES)
        elif name.endswith("Item") and SEPARATOR not in name:
            detail = f"a {name[:80]} has no text to rank; only a newsItem is read"
            raise MalformedEvent("not_usable", detail)
        elif self._depth == 1 and name != "newsMessage":
            detail = f"expected a newsItem of NewsML-G2 (in the namespace {NAR})"
            raise MalformedEvent("bad_content", f"{detail}, found {name[:80]!r}")

    def _note(self, name: str, attributes: dict[str, str]) -> None:
        """Take what the attributes of an element say."""
        if name == "pubStatus":
            self.status = attributes.get("qcode") or attributes.get("uri") or ""
        elif name == "language" and "tag" in attributes:
            self._languages.add(attributes["tag"])
            self.language = self._content_language = self._content_language or attributes["tag"]
        elif name == "subject":
            self.subjects.append(attributes)

    def _add(self, text: str) -> None:
        if self._collector is not None:
            self._collector.add(text)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._collector is None:
            if self._places:
                self._places.pop()
        elif self._collector.end(name.rpartition(SEPARATOR)[2].lower()):
            self._take(self._collected, self._collector)
            self._collector = None

    def _take(self, kind: str, collector: TextCollector) -> None:
        """Take the text of an element that was collected."""
        text = self._data(collector) if kind == "data" else collector.words()
        if not text:
            return
        if kind == "headline":
            role = _URI_PARTS.split(self._attributes.get("role", ""))[-1].lower()
            self._headlines.append(Headline(self._attributes.get(LANG), role, text))
        elif kind == "subject_name":
            self.subjects[-1].setdefault("name", text)
        else:
            self._texts.setdefault(kind, []).append(text)

    def _data(self, collector: TextCollector) -> str:
        """Return the text of inline data: plain, or escaped markup; empty for other media."""
        media_type = self._attributes.get("contenttype", "").lower()
        if "encoding" in self._attributes:  # base64 and the like
            return ""
        if any(name in media_type for name in ("html", "xml", "nitf")):
            return text_of(collector.verbatim())
        plain = not media_type or media_type.startswith("text")
        return collector.verbatim().strip() if plain else ""
