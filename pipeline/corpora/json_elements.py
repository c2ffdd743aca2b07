"""The elements of a JSON array of any size, or JSON objects one after another, one at a time.

The scanner only finds where each element ends: it follows brackets and strings, and leaves it to
the event decoder to judge an element. The time is linear, and only one element is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.corpora.packed import Chunks
from pipeline.corpora.source import SourceError

# Each expression is possessive, so that it never goes back.
_BETWEEN = re.compile(rb"[\s,]*+")
_SCALAR = re.compile(rb"[^\s,\[\]{}\"]*+")
# To the next bracket, past whole strings. A string that does not end in the chunk is read twice.
_TO_BRACKET = re.compile(rb"(?:[^\[\]{}\"]++|\"(?:[^\"\\]++|\\.)*+\")*+", re.DOTALL)
_IN_STRING = re.compile(rb"(?:[^\"\\]++|\\.)*+", re.DOTALL)

BETWEEN, SCALAR, NESTED, STRING = range(4)  # where in the text the scanner is
ARRAY, END_OF_ARRAY, QUOTE = b'[]"'
OPENING = b"[{"


def json_elements(chunks: Chunks, longest: int, name: str) -> Iterator[bytes]:
    """The elements of outermost arrays, and values in no array; each cut at `longest` bytes.

    An empty element says that no more input is available for now. `name` is for messages.
    """
    element = BoundedElement(longest)
    state, depth = BETWEEN, 0  # depth: the brackets of the element that are open
    in_array = escaped = False  # escaped: the last chunk ended with the backslash of an escape
    for chunk in chunks:
        if not chunk:
            yield b""
            continue
        at = begin = 0  # begin: where the part of the element in this chunk begins
        end = len(chunk)
        while at < end:
            if state == NESTED:
                at = _end(_TO_BRACKET, chunk, at)
                if at == end:
                    break
                sign = chunk[at]
                at += 1
                if sign == QUOTE:
                    state = STRING
                    continue
                depth += 1 if sign in OPENING else -1
                if depth:
                    continue
            elif state == STRING:
                at = _end(_IN_STRING, chunk, at + escaped)
                escaped = at < end and chunk[at] != QUOTE
                at += 1
                if at > end or escaped:
                    break
                state = NESTED
                if depth:
                    continue
            elif state == SCALAR:
                at = _end(_SCALAR, chunk, at)
                if at == end:
                    break
            else:
                at = begin = _end(_BETWEEN, chunk, at)
                if at == end:
                    break
                sign = chunk[at]
                at += 1
                if sign == (END_OF_ARRAY if in_array else ARRAY):
                    in_array = not in_array
                elif sign in OPENING:
                    state, depth = NESTED, 1
                else:
                    state = STRING if sign == QUOTE else SCALAR
                continue
            yield element.finish(chunk[begin:at])
            state = BETWEEN
        if state != BETWEEN:
            element.add(chunk[begin:])
    if state == SCALAR and not in_array:
        yield element.finish(b"")
    elif state != BETWEEN or in_array:
        raise SourceError(
            f"{name} ends within element {element.finished + 1:,} of its JSON, or before the ] at "
            "its end. It is cut off, or a bracket or quote is not closed there. Everything before "
            "that element was processed."
        )


def _end(expression: re.Pattern[bytes], chunk: bytes, at: int) -> int:
    """Where the match of an expression ends that matches anywhere."""
    found = expression.match(chunk, at)
    return at if found is None else found.end()


class BoundedElement:
    """Collects the parts of an element, and counts the elements that are finished."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self.finished = 0

    def add(self, part: bytes) -> None:
        """Add a part, unless the element is too long already."""
        if self._size < self._longest:
            self._parts.append(part)
            self._size += len(part)

    def finish(self, part: bytes) -> bytes:
        """Add the last part, and return the element."""
        self.finished += 1
        if not self._parts:
            return part[: self._longest]
        self.add(part)
        element = b"".join(self._parts)[: self._longest]
        self._parts, self._size = [], 0
        return element
