"""A kernel that removes tags from HTML: the frequent case of `pipeline.text.markup`.

It knows tags with attributes, and nothing else: no comments, declarations, CDATA, nor elements
whose content is not shown. For markup with these it gives up. `markup.text_pieces` is its twin.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from learners.arrays import Bools, Bytes, Longs
from learners.jit import njit, njit_inline

LESS, GREATER, SLASH, EQUALS, AMPERSAND = ord("<"), ord(">"), ord("/"), ord("="), ord("&")
QUOTE, APOSTROPHE, BLANK, HASH = ord('"'), ord("'"), ord(" "), ord("#")
BANG, QUESTION_MARK, ZERO, NINE = ord("!"), ord("?"), ord("0"), ord("9")
MAX_NAME = 8  # bytes of a name that fits one number
GIVEN_UP = -1
# White space of ASCII, as `\s` has it.
SPACES: Bools = np.array([byte < 0x80 and chr(byte).isspace() for byte in range(256)])


def packed_names(names: Iterable[str]) -> Longs:
    """Return names of at most 8 letters as numbers, sorted."""
    return np.array(sorted(int.from_bytes(name.encode(), "little") for name in names), np.int64)


@njit_inline
def is_letter(byte: int) -> bool:
    """Return whether a byte is a letter of ASCII."""
    return 97 <= byte | 32 <= 122


@njit
def is_among(names: Longs, name: int) -> bool:
    """Return whether a packed name is among some others."""
    place = np.searchsorted(names, name)
    return bool(place < len(names) and names[place] == name)


@njit
def element_name(data: Bytes, start: int) -> tuple[int, int]:
    """Return the name of a tag as a number, in lower case, and where it ends.

    The name is 0 if it is too long for a number. The end is -1 if it has letters outside of ASCII.
    """
    name, at = 0, start
    while at < len(data):
        byte = data[at]
        if SPACES[byte] or byte in (SLASH, GREATER):
            break
        if byte >= 0x80:
            return 0, GIVEN_UP
        if at - start < MAX_NAME:
            letter = int(byte | 32 if is_letter(byte) else byte)
            name |= letter << (8 * (at - start))
        at += 1
    return (name if at - start <= MAX_NAME else 0), at


@njit
def skip_attributes(data: Bytes, at: int) -> int:
    """Return where the tag ends whose attributes begin at `at`; -1 if it is not simple."""
    while at < len(data):
        byte = data[at]
        at += 1
        if byte == GREATER:
            return at
        if byte != EQUALS:
            continue
        while at < len(data) and SPACES[data[at]]:
            at += 1
        if at < len(data) and data[at] >= 0x80:
            return GIVEN_UP  # perhaps white space before a quote
        if at < len(data) and data[at] in (QUOTE, APOSTROPHE):
            close = at + 1
            while close < len(data) and data[close] != data[at]:
                close += 1
            if close == len(data):
                return GIVEN_UP  # every quote would be searched to the end of the text
            at = close + 1
    return at


@njit
def joins_with_tag(data: Bytes, at: int) -> bool:
    """Return whether a tag follows what may be an entity at `at`, without a semicolon.

    Without the tag, the entity would go on with the text behind it.
    """
    at += 1
    while at < len(data) and (is_letter(data[at]) or ZERO <= data[at] <= NINE or data[at] == HASH):
        at += 1
    return bool(at < len(data) and data[at] == LESS)


@njit
def strip_tags(data: Bytes, inline: Longs, hidden: Longs) -> int:
    """Replace markup by its text, with its entities, and return its length; -1 if it is not simple.

    The text is never longer than what was read of the markup, so it is written over the markup.
    Elements in `inline` may stand inside a word, and all others separate words. Those in `hidden`
    have a content that is not shown.
    """
    at = length = 0
    while at < len(data):
        byte = data[at]
        if byte == LESS and at + 1 < len(data):
            closes = data[at + 1] == SLASH
            start = at + 1 + closes
            follows = data[start] if start < len(data) else 0
            if is_letter(follows):
                name, at = element_name(data, start)
                if at < 0 or is_among(hidden, name):
                    return GIVEN_UP
                if not is_among(inline, name):
                    data[length] = BLANK
                    length += 1
                at = skip_attributes(data, at)
                if at < 0:
                    return GIVEN_UP
                continue
            if closes or follows in (BANG, QUESTION_MARK):
                return GIVEN_UP
        elif byte == AMPERSAND and joins_with_tag(data, at):
            return GIVEN_UP
        data[length] = byte
        length += 1
        at += 1
    return length
