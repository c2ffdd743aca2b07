"""RCV1 as Reuters distributed it: a NewsML file per story, in folders or in one zip file per day.

The files are regular, so elements are found by text search, as in Reuters-21578. Only character
entities are resolved, and no declaration is followed.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import orjson

from learners.arrays import Ints, Longs
from pipeline.corpora.corpus_files import OpenableFiles, check_compression, damage_reported
from pipeline.corpora.source import SourceError
from pipeline.corpora.tags import element, opening_tag, opening_tags
from pipeline.text.markup import text_of

TOPIC_CODES = "bip:topics:1.0"

MAX_STORY_BYTES = 2**20
MAX_MEMBERS = 100_000  # of the zip file of a day, which has some thousands
MOST_DIGITS = 15
HEAD_BYTES = 4096  # the number and date of a story must be within these first bytes

_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
# The look-behind begins a name at its first letter only, so that each letter is read once.
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([\w:.-]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')")
# Other encodings are not those of news, and some are slow or do not give valid text.
_ENCODINGS = re.compile(r"utf-?8|us-ascii|ascii|latin-?1|iso-8859-\d\d?|(?:windows-|cp)125\d")


class Order(NamedTuple):
    """All stories in order of time: the day and number of each, and where it is."""

    days: Ints
    numbers: Longs
    files: Ints  # the index of the file
    members: Ints  # the index of the member, if the file is a zip file


class NewsmlStories:
    """The stories by date and number, each read on demand."""

    topics: Sequence[str] = ()  # topics are discovered

    def __init__(self, path: Path, files: OpenableFiles) -> None:
        self._path = path
        self._files = files
        self._names = [name for name in files.names if is_story(name) or is_zip(name)]
        self._opened: tuple[str, Zip] | None = None

    def has_any(self) -> bool:
        """Whether there is any story, judging by the names of files and members."""
        return any(is_story(name) or self._zip(name).stories for name in self._names)

    @property
    def total(self) -> int:
        """The number of stories."""
        return len(self._order.numbers)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the document events."""
        order = self._order
        for file, member in zip(order.files, order.members, strict=True):
            where, raw = self._read(self._names[file], int(member))
            yield event(decoded(raw), where)

    @cached_property
    def _order(self) -> Order:
        """The order of all stories; finding it reads the head of each story once."""
        places = np.fromiter(self._places(), np.dtype("i4,i8,i4,i4"))
        days, numbers, files, members = (places[field] for field in ("f0", "f1", "f2", "f3"))
        every = np.lexsort((numbers, days))
        order = Order(days[every], numbers[every], files[every], members[every])
        self._refuse_twins(order)
        return order

    def _places(self) -> Iterator[tuple[int, int, int, int]]:
        for file, name in enumerate(self._names):
            if is_story(name):
                where, raw = self._read(name, 0)
                yield (*identity(decoded(raw[:HEAD_BYTES]), where), file, 0)
                continue
            pack = self._zip(name)
            for member in pack.stories:
                where, raw = self._read(name, member)
                yield (*identity(decoded(raw[:HEAD_BYTES]), where), file, member)

    def _refuse_twins(self, order: Order) -> None:
        numbers = np.sort(order.numbers)
        twice = numbers[:-1][numbers[1:] == numbers[:-1]]
        if len(twice):
            number = int(twice[0])
            places = sorted({self._names[file] for file in order.files[order.numbers == number]})
            raise SourceError(
                f"{self._path}: story {number} occurs several times, in {' and '.join(places)}; "
                "expected it once: keep one of them"
            )

    def _read(self, name: str, member: int) -> tuple[str, bytes]:
        """The name of a story for messages, and its bytes."""
        if is_story(name):
            raw, where = self._files.read(name), f"{self._path}: {name}"
        else:
            inner, raw = self._zip(name).read(member)
            where = f"{self._path}: {name}: {inner}"
        if len(raw) > MAX_STORY_BYTES:
            raise SourceError(
                f"{where} has more than {MAX_STORY_BYTES:,} bytes, more than any story has; check "
                "that this is the right folder"
            )
        return where, raw

    def _zip(self, name: str) -> Zip:
        """The zip file with this name; it stays open until another one is needed."""
        if self._opened is None or self._opened[0] != name:
            if self._opened is not None:
                self._opened[1].close()
            self._opened = name, Zip(self._files, name, f"{self._path}: {name}")
        return self._opened[1]


class Zip:
    """The stories in a zip file."""

    def __init__(self, files: OpenableFiles, name: str, where: str) -> None:
        self._where = where
        with self._damage_reported():
            self._pack = zipfile.ZipFile(files.open(name))
            self._members = self._pack.infolist()
        if len(self._members) > MAX_MEMBERS:
            raise SourceError(
                f"{where} has {len(self._members):,} members; expected the stories of one day, at "
                f"most {MAX_MEMBERS:,}"
            )

    @property
    def stories(self) -> list[int]:
        """The indexes of the members that are stories."""
        return [i for i, member in enumerate(self._members) if is_story(member.filename)]

    def read(self, member: int) -> tuple[str, bytes]:
        """The name of a member, and its content up to one byte beyond the limit."""
        info = self._members[member]
        with self._damage_reported():
            check_compression(info)
            with self._pack.open(info) as file:
                return info.filename, file.read(MAX_STORY_BYTES + 1)

    def close(self) -> None:
        """Close the file."""
        self._pack.close()

    def _damage_reported(self) -> AbstractContextManager[None]:
        start = f"{self._where} cannot be read as a zip file"
        return damage_reported(start, "get the file again")


def is_story(name: str) -> bool:
    """Whether a file is a story, judging by its name."""
    base = PurePosixPath(name).name.lower()  # 2286newsml.xml
    return base.endswith(".xml") and (base[0].isdecimal() or "newsml" in base)


def is_zip(name: str) -> bool:
    """Whether a file may be a zip file of stories."""
    return name.lower().endswith(".zip")


def decoded(raw: bytes) -> str:
    """The text in its declared encoding (Reuters uses iso-8859-1), or in UTF-8."""
    declared = _ENCODING.search(raw[:200])
    encoding = declared[1].decode().lower().replace("_", "-") if declared else "utf-8"
    try:
        return raw.decode(encoding if _ENCODINGS.fullmatch(encoding) else "latin-1")
    except (LookupError, UnicodeDecodeError):
        return raw.decode("latin-1")


def identity(text: str, where: str) -> tuple[int, int]:
    """The day of a story, as an ordinal, and its number."""
    item = opening_tag(text, "newsitem")
    values = attributes(item.attributes) if item else {}
    number, day = values.get("itemid", ""), values.get("date", "")
    try:
        if not (number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS):
            raise ValueError(number)
        return date.fromisoformat(day).toordinal(), int(number)
    except ValueError:
        found = f"itemid={number[:40]!r} and date={day[:40]!r}" if item else "no <newsitem ...>"
        raise SourceError(
            f'{where}: found {found}, expected <newsitem itemid="2286" ... date="1996-08-20" ...>; '
            "this is not a story of RCV1, or it is damaged"
        ) from None


def event(text: str, where: str) -> bytes:
    """The document event of a story; without `topics` if it has none."""
    day, number = identity(text, where)
    if "</newsitem>" not in text:
        raise SourceError(
            f"{where}: expected </newsitem> at the end, found none: the story is cut off; get the "
            "file again"
        )
    fields: dict[str, Any] = {"id": str(number)}
    # <title> is the headline with a country in front, which is a label of another kind.
    title = text_of(element(text, "headline") or element(text, "title") or "")
    if title:
        fields["title"] = title
    # Present even if empty, because an event without content would be a late label.
    fields["text"] = text_of(element(text, "text") or "")
    topics = topics_in(text)
    if topics:
        fields["topics"] = topics
    fields["time"] = f"{date.fromordinal(day).isoformat()}T00:00:00Z"
    return orjson.dumps(fields)


def topics_in(text: str) -> list[str]:
    """The topic codes of a story as listed, without duplicates and without other kinds of codes."""
    topics = dict[str, None]()
    at = 0
    while (opened := opening_tag(text, "codes", at)) is not None:
        at = text.find("</codes>", opened.end)
        if at < 0:
            break
        if attributes(opened.attributes).get("class") == TOPIC_CODES:
            for code in opening_tags(text, "code", opened.end, at):
                name = attributes(code.attributes).get("code", "").strip()
                if name:
                    topics[name] = None
    return list(topics)


def attributes(tag: str) -> dict[str, str]:
    """The attributes of a tag, with entities resolved."""
    return {name: text_of(one or other) for name, one, other in _ATTRIBUTE.findall(tag)}
