"""From text to counted terms, a block at a time, in compiled code.

Text is brought to composed form (NFC) and lower case, then cut by one of two profiles:

`reuters2000`
    Everything that is not alphanumeric becomes white space: "U.S. oil-price 3.5%" gives
    u s oil price 3 5. No stop-list: it suits any language, and is the default.
`reuters21578`
    Everything that is neither alphanumeric nor white space is discarded, every run of digits
    becomes the one term `<number>`, and a stop-list applies: the same text gives
    us oilprice <number> <number>.

Letters and digits of any script are alphanumeric; a combining mark belongs to the letter before
it. A run of more than 255 bytes is no word and is passed over.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from learners.jit import njit
from learners.segment import Bools, Floats, Ints, Longs
from pipeline.stopwords import STOPWORDS
from pipeline.terms import (
    MAX_TERM_BYTES,
    Bytes,
    TermTable,
    add,
    copied,
    doubled,
    find,
    hash_bytes,
    intern,
    is_full,
    table_of,
)

PROFILES = ("reuters2000", "reuters21578")
NUMBER = "<number>"

SPACE, LETTER, DIGIT, MARK, OTHER = range(5)


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Rows of counted terms, each term a number in the block's own table."""

    table: TermTable
    starts: Longs
    terms: Ints
    values: Floats  # how often the term occurs; of ready-made features, their values


def kind_of(character: str) -> int:
    """What a character is to the tokenizer."""
    if character.isdigit():
        return DIGIT
    if character.isalnum():
        return LETTER
    if character.isspace():
        return SPACE
    return MARK if unicodedata.category(character).startswith("M") else OTHER


@cache
def character_kinds(ascii_only: bool) -> Bytes:
    """The kind of each code point; ASCII has a table of its own, since all take a moment."""
    points = range(128 if ascii_only else 0x110000)
    return np.fromiter((kind_of(chr(point)) for point in points), np.uint8, len(points))


@njit
def decode_point(text: Bytes, at: int) -> tuple[int, int]:
    """The code point that starts at a byte of well-formed UTF-8, and how many bytes it takes."""
    lead = int(text[at])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | (text[at + 1] & 0x3F), 2
    point = (text[at + 1] & 0x3F) << 6 | (text[at + 2] & 0x3F)
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | point, 3
    return (lead & 0x07) << 18 | point << 6 | (text[at + 3] & 0x3F), 4


@njit
def next_token(
    text: Bytes, at: int, end: int, kinds: Bytes, fold: bool, word: Bytes
) -> tuple[int, int]:
    """Read one token from `at` on into `word`; return where to go on and the token's length.

    With `fold` (the `reuters21578` profile) other characters are discarded inside a token, and a
    run of digits is a token of its own, of length -1. Length 0: the text is over.
    """
    length = 0
    while at < end:
        point, width = decode_point(text, at)
        kind = kinds[point]
        if fold and kind == DIGIT:
            if length > 0:
                return at, length
            while at < end and kind == DIGIT:
                at += width
                if at < end:
                    point, width = decode_point(text, at)
                    kind = kinds[point]
            return at, -1
        if kind in (LETTER, DIGIT) or (kind == MARK and length > 0):
            for i in range(width):
                if length + i < len(word):
                    word[length + i] = text[at + i]
            length += width
        elif length > 0 and (kind == SPACE or not fold):
            return at, length
        at += width
    return at, length


@njit
def count_text(
    text: Bytes,
    at: int,
    end: int,
    kinds: Bytes,
    fold: bool,
    passed_over: int,
    table: TermTable,
    last_row: Longs,
    place: Longs,
    row: int,
    terms: Ints,
    values: Floats,
    filled: int,
) -> tuple[int, int]:
    """Count the terms of a text behind the first `filled` entries, until it ends or room does.

    `last_row` says where a term was last seen and `place` at which entry, so that counting needs
    no search. Terms below `passed_over` are the stop-list, and the next one stands for numbers.
    Returns where to go on and how many entries there are.
    """
    word = np.empty(MAX_TERM_BYTES, np.uint8)
    # `is_full`, written out: handing the table to a function costs more than finding a term.
    size, ends = table.size, table.ends
    most, room = len(table.hashes), len(table.letters) - MAX_TERM_BYTES
    while at < end and size[0] < most and ends[size[0]] <= room:
        at, length = next_token(text, at, end, kinds, fold, word)
        if length == 0 or length > MAX_TERM_BYTES:
            continue
        if length < 0:
            term = passed_over
        else:
            hashed = hash_bytes(word, 0, length)
            term = find(table, word, 0, length, hashed)
            if term < 0:
                term = add(table, word, 0, length, hashed, -1 - term)
        if term < passed_over:
            continue
        if last_row[term] == row:
            values[place[term]] += 1.0
            continue
        last_row[term] = row
        place[term] = filled
        terms[filled] = term
        values[filled] = 1.0
        filled += 1
    return at, filled


@njit
def count_rows(
    text: Bytes,
    text_starts: Longs,
    ready: Bools,
    name_lengths: Longs,
    name_values: Floats,
    kinds: Bytes,
    fold: bool,
    passed_over: int,
    table: TermTable,
) -> tuple[TermTable, Longs, Ints, Floats]:
    """Count the terms of each row; `ready` rows are names with values instead of text."""
    starts = np.zeros(len(ready) + 1, np.int64)
    terms = np.empty(len(text), np.int32)  # a token takes a byte at least
    values = np.empty(len(text), np.float64)
    last_row = np.full(len(table.hashes), -1, np.int64)
    place = np.empty(len(table.hashes), np.int64)
    filled = 0
    name = 0
    for row in range(len(ready)):
        at, end = text_starts[row], text_starts[row + 1]
        while at < end:
            if is_full(table):
                table = doubled(table)
                more = len(table.hashes) - len(last_row)
                last_row = np.concatenate((last_row, np.full(more, -1, np.int64)))
                place = np.concatenate((place, np.empty(more, np.int64)))
            if ready[row]:
                terms[filled] = intern(table, text, at, at + name_lengths[name])
                values[filled] = name_values[name]
                at += name_lengths[name]
                filled += 1
                name += 1
            else:
                at, filled = count_text(
                    text, at, end, kinds, fold, passed_over, table, last_row, place, row,
                    terms, values, filled,
                )  # fmt: skip
        starts[row + 1] = filled
    return table, starts, terms[:filled].copy(), values[:filled].copy()


class Tokenizer:
    """Counts the terms of blocks of documents by one profile.

    Examples
    --------
    >>> from pipeline.terms import words_of
    >>> counts = Tokenizer("reuters2000").count(["Wheat and corn: wheat!"])
    >>> words_of(counts.table), counts.values.tolist()
    (['wheat', 'and', 'corn'], [2.0, 1.0, 1.0])

    """

    def __init__(self, profile: str = "reuters2000") -> None:
        if profile not in PROFILES:
            raise ValueError(f"The profile must be one of {', '.join(PROFILES)}. Got {profile!r}.")
        self.profile = profile
        self._fold = profile == "reuters21578"
        stopped = STOPWORDS if self._fold else ()
        # The stop-list and the term for numbers come first in every block's table.
        self._passed_over = len(stopped)
        self._first = table_of([*stopped, NUMBER] if self._fold else [])
        self._room = (256, 2048)  # terms and letters; follows the blocks, to save growing

    def count(self, documents: Sequence[str | Mapping[str, float]]) -> TermCounts:
        """Count the terms of texts; a mapping is taken as ready-made features."""
        parts: list[bytes] = []
        lengths: list[int] = []
        names: list[int] = []
        amounts: list[float] = []
        plain = True
        for document in documents:
            if isinstance(document, str):
                text = document
                if not text.isascii():
                    plain = False
                    text = unicodedata.normalize("NFC", text)
                parts.append(text.lower().encode("utf-8", "replace"))
                lengths.append(len(parts[-1]))
            else:
                encoded = [name.encode("utf-8", "replace") for name in document]
                names.extend(map(len, encoded))
                amounts.extend(document.values())
                parts.extend(encoded)
                lengths.append(sum(map(len, encoded)))
        starts = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        size = int(self._first.size[0])
        table, row_starts, terms, values = count_rows(
            np.frombuffer(bytearray(b"".join(parts)), np.uint8),
            starts,
            np.array([not isinstance(document, str) for document in documents], np.bool_),
            np.array(names, np.int64),
            np.array(amounts, np.float64),
            character_kinds(plain),
            self._fold,
            self._passed_over,
            copied(self._first, np.arange(size), *self._room),
        )
        used = int(table.size[0])
        self._room = (used + used // 4 + 64, int(table.ends[used]) * 5 // 4 + 1024)
        return TermCounts(table, row_starts, terms, values)
