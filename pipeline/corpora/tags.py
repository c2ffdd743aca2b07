"""Finds elements in SGML and XML by text search, in time linear in the text.

Expressions such as `<D>(.*?)</D>` look for the closing tag of every opening tag, each time up to
the end of the text. Where closing tags are missing, that takes quadratic time. Here a search that
reached the end of the text is the last one: what it did not find is not behind a later tag either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Element(NamedTuple):
    """The attributes of an opening tag, as text, and what is up to the next closing tag."""

    attributes: str
    content: str


class OpeningTag(NamedTuple):
    """The attributes of an opening tag, as text, and the place behind it."""

    attributes: str
    end: int


def elements(text: str, opening: str, closing: str) -> Iterator[Element]:
    """Yield all elements; `opening` is the beginning of a tag, such as `<TEXT`.

    >>> list(elements("<D a=1>x<D>y</D>z<D>", "<D", "</D>"))
    [Element(attributes=' a=1', content='x<D>y')]
    """
    at = 0
    while (start := text.find(opening, at)) >= 0:
        start += len(opening)
        inside = text.find(">", start)
        end = text.find(closing, inside + 1) if inside >= 0 else -1
        if end < 0:
            return
        yield Element(text[start:inside], text[inside + 1 : end])
        at = end + len(closing)


def contents(text: str, tag: str) -> Iterator[str]:
    """Yield the contents of all elements whose opening tag has no attributes.

    >>> list(contents("<D>grain</D><D>ship</D><D>", "D"))
    ['grain', 'ship']
    """
    at = 0
    opening, closing = f"<{tag}>", f"</{tag}>"
    while (start := text.find(opening, at)) >= 0:
        start += len(opening)
        end = text.find(closing, start)
        if end < 0:
            return
        yield text[start:end]
        at = end + len(closing)


def without_elements(text: str, *tags: str) -> str:
    """Return a text with each of these elements replaced by a blank.

    >>> without_elements("a<B>b</B>c<C>d", "B", "C")
    'a c<C>d'
    """
    parts: list[str] = []
    done = 0
    unclosed = set[str]()  # tags without a closing tag in the rest of the text
    for opened in _opening_of(tags).finditer(text):
        tag = opened[1]
        if opened.start() < done or tag in unclosed:
            continue
        end = text.find(f"</{tag}>", opened.end())
        if end < 0:
            unclosed.add(tag)
            continue
        parts += text[done : opened.start()], " "
        done = end + len(f"</{tag}>")
    return "".join((*parts, text[done:]))


@cache
def _opening_of(tags: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"<({'|'.join(tags)})>")


@cache
def _start_of(tag: str) -> re.Pattern[str]:
    return re.compile(rf"<{tag}(?=[\s>])")


def opening_tag(text: str, tag: str, start: int = 0, stop: int | None = None) -> OpeningTag | None:
    """Return the first opening tag of this name, with attributes or without.

    >>> opening_tag("<codes><code code='M14'/>", "code")
    OpeningTag(attributes=" code='M14'/", end=25)
    """
    stop = len(text) if stop is None else stop
    opened = _start_of(tag).search(text, start, stop)
    end = text.find(">", opened.end(), stop) if opened else -1
    return OpeningTag(text[opened.end() : end], end + 1) if opened and end >= 0 else None


def opening_tags(text: str, tag: str, start: int, stop: int) -> Iterator[OpeningTag]:
    """Yield all opening tags of this name between two places."""
    while (opened := opening_tag(text, tag, start, stop)) is not None:
        yield opened
        start = opened.end


def element(text: str, tag: str) -> str | None:
    """Return the text between the first opening tag and the next closing tag."""
    opened = opening_tag(text, tag)
    end = text.find(f"</{tag}>", opened.end) if opened else -1
    return text[opened.end : end] if opened and end >= 0 else None
