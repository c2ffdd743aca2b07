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

from learners.arrays import Bools, Bytes, Floats, Ints, Longs
from learners.jit import njit
from pipeline.errors import UsageError
from pipeline.text.stopwords import STOPWORDS
from pipeline.text.terms import (
    MAX_TERM_BYTES,
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
BLANK = ord(" ")


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
def character_kinds() -> Bytes:
    """The kind of each code point. Planes that hold no characters are passed over, to save time."""
    kinds = np.full(0x110000, OTHER, np.uint8)
    for start, stop in ((0, 0x40000), (0xE0000, 0xE1000)):
        kinds[start:stop] = [kind_of(chr(point)) for point in range(start, stop)]
    return kinds


# ASCII in the `reuters2000` profile needs no more than this table: lower case, the rest blanks.
ASCII_WORDS = bytes(
    ord(chr(c).lower()) if kind_of(chr(c)) in (LETTER, DIGIT) else BLANK for c in range(128)
).ljust(256, b" ")


@njit
def code_point(text: Bytes, at: int) -> tuple[int, int]:
    """The code point at a byte of well-formed UTF-8, and how many bytes it takes."""
    lead = int(text[at])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | int(text[at + 1] & 0x3F), 2
    point = int(text[at + 1] & 0x3F) << 6 | int(text[at + 2] & 0x3F)
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | point, 3
    return (lead & 0x07) << 18 | point << 6 | int(text[at + 3] & 0x3F), 4


@njit
def blanked(text: Bytes, kinds: Bytes, fold: bool, number: Bytes) -> Bytes:
    """Text with one blank or more between tokens, and nothing else that is not part of a token.

    With `fold` (the `reuters21578` profile) a run of digits becomes the token `number`, and other
    characters are discarded instead of parting tokens.
    """
    out = np.empty((len(number) + 2) * len(text) if fold else len(text), np.uint8)
    filled = 0
    at = 0
    inside = False  # a token that a mark can belong to
    while at < len(text):
        point, width = code_point(text, at)
        kind = kinds[point]
        if fold and kind == DIGIT:
            while at < len(text) and kinds[point] == DIGIT:
                at += width
                if at < len(text):
                    point, width = code_point(text, at)
            out[filled] = BLANK
            out[filled + 1 : filled + 1 + len(number)] = number
            out[filled + 1 + len(number)] = BLANK
            filled += len(number) + 2
            inside = False
            continue
        if kind in (LETTER, DIGIT) or (kind == MARK and inside):
            for i in range(width):
                out[filled + i] = text[at + i]
            filled += width
            inside = True
        elif kind == SPACE or not fold:
            out[filled] = BLANK
            filled += 1
            inside = False
        at += width
    return out[:filled]


@njit
def count_text(
    text: Bytes,
    at: int,
    end: int,
    passed_over: int,
    table: TermTable,
    last_row: Longs,
    place: Longs,
    row: int,
    terms: Ints,
    values: Floats,
    filled: int,
) -> tuple[int, int]:
    """Count the tokens of a text behind the first `filled` entries, until it ends or room does.

    `last_row` says where a term was last seen and `place` at which entry, so that counting needs
    no search. Terms below `passed_over` are the stop-list. Returns where to go on and how many
    entries there are.
    """
    # `is_full`, written out: handing the table to a function costs more than finding a term.
    size, ends = table.size, table.ends
    most, room = len(table.hashes), len(table.letters) - MAX_TERM_BYTES
    while at < end and size[0] < most and ends[size[0]] <= room:
        while at < end and text[at] == BLANK:
            at += 1
        start = at
        while at < end and text[at] != BLANK:
            at += 1
        if at == start or at - start > MAX_TERM_BYTES:
            continue
        hashed = hash_bytes(text, start, at)
        term = find(table, text, start, at, hashed)
        if term < 0:
            term = add(table, text, start, at, hashed, -1 - term)
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
                    text, at, end, passed_over, table, last_row, place, row, terms, values, filled
                )
        starts[row + 1] = filled
    return table, starts, terms[:filled].copy(), values[:filled].copy()


class Tokenizer:
    """Counts the terms of blocks of documents by one profile.

    Examples
    --------
    >>> from pipeline.text.terms import words_of
    >>> counts = Tokenizer("reuters2000").count(["Wheat and corn: wheat!"])
    >>> words_of(counts.table), counts.values.tolist()
    (['wheat', 'and', 'corn'], [2.0, 1.0, 1.0])

    """

    def __init__(self, profile: str = "reuters2000") -> None:
        if profile not in PROFILES:
            raise UsageError(f"The profile must be one of {', '.join(PROFILES)}. Got {profile!r}.")
        self.profile = profile
        self._fold = profile == "reuters21578"
        stopped = STOPWORDS if self._fold else ()
        self._passed_over = len(stopped)
        self._first = table_of(stopped)  # the stop-list comes first in every block's table
        self._room = (256, 2048)  # terms and letters; follows the blocks, to save growing

    def count(self, documents: Sequence[str | Mapping[str, float]]) -> TermCounts:
        """Count the terms of texts; a mapping is taken as ready-made features."""
        parts: list[bytes] = []
        lengths: list[int] = []
        names: list[int] = []
        amounts: list[float] = []
        for document in documents:
            if isinstance(document, str):
                parts.append(self._blanked(document))
                lengths.append(len(parts[-1]))
            else:
                encoded = [name.encode() for name in document]
                names.extend(map(len, encoded))
                amounts.extend(document.values())
                parts.extend(encoded)
                lengths.append(sum(map(len, encoded)))
        if names and not 0 < min(names) <= max(names) <= MAX_TERM_BYTES:
            raise ValueError(f"a feature's name must have 1 to {MAX_TERM_BYTES} bytes")
        starts = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        size = int(self._first.size[0])
        table, row_starts, terms, values = count_rows(
            np.frombuffer(bytearray(b"".join(parts)), np.uint8),
            starts,
            np.array([not isinstance(document, str) for document in documents], np.bool_),
            np.array(names, np.int64),
            np.array(amounts, np.float64),
            self._passed_over,
            copied(self._first, np.arange(size), *self._room),
        )
        used = int(table.size[0])
        self._room = (used + used // 4 + 64, int(table.ends[used]) * 5 // 4 + 1024)
        return TermCounts(table, row_starts, terms, values)

    def _blanked(self, text: str) -> bytes:
        """The tokens of a text with blanks between them."""
        if not self._fold and text.isascii():
            return text.encode().translate(ASCII_WORDS)
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        encoded = np.frombuffer(bytearray(text.lower().encode("utf-8", "replace")), np.uint8)
        number = np.frombuffer(bytearray(NUMBER.encode()), np.uint8)
        return blanked(encoded, character_kinds(), self._fold, number).tobytes()
