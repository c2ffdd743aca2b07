"""From text to counted terms, one block at a time, in compiled code.

Text is converted to composed form (NFC) and lower case, then split by one of two profiles:

`reuters2000`
    Everything that is not alphanumeric becomes white space: "U.S. oil-price 3.5%" gives
    u s oil price 3 5. No stop-list: it suits any language, and is the default.
`reuters21578`
    Everything that is neither alphanumeric nor white space is discarded, every run of digits
    becomes the one term `<number>`, and a stop-list applies: the same text gives
    us oilprice <number> <number>.

Letters and digits of any script are alphanumeric. A combining mark belongs to the letter before
it. A run of more than 255 bytes is not a word and is ignored.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Floats, Ints, Longs
from learners.jit import njit
from pipeline.errors import UsageError
from pipeline.text.normal_form import composed
from pipeline.text.sip_hash import PROCESS_KEY, Hashes, sip_hash
from pipeline.text.stopwords import STOPWORDS
from pipeline.text.terms import (
    MAX_TERM_BYTES,
    TermTable,
    add,
    copied,
    doubled,
    find,
    intern,
    is_full,
    table_of,
)

PROFILES = ("reuters2000", "reuters21578")
NUMBER = "<number>"

SPACE, LETTER, DIGIT, MARK, OTHER = range(5)
BLANK = ord(" ")


class TermCounts(NamedTuple):
    """Rows of counted terms; row i is `terms[starts[i]:starts[i + 1]]` and the values there."""

    table: TermTable  # of this block: its own numbers, in order of first appearance
    starts: Longs
    terms: Ints
    values: Floats  # how often the term occurs, or the value of a ready-made feature


class EncodedDocuments(NamedTuple):
    """The documents of a block, encoded as UTF-8 one after another.

    Row i is `text[starts[i]:starts[i + 1]]`: blank-separated tokens or, where `ready` is true, the
    names of ready-made features without anything between them.
    """

    text: Bytes
    starts: Longs
    ready: Bools
    name_lengths: Longs  # bytes of each feature name, in order, over all ready rows
    name_values: Floats


class SeenTerms(NamedTuple):
    """Where each term of the block was last counted, so that counting needs no search."""

    row: Longs
    entry: Longs


def kind_of(character: str) -> int:
    """Return the kind of a character: letter, digit, mark, space or other."""
    if character.isdigit():
        return DIGIT
    if character.isalnum():
        return LETTER
    if character.isspace():
        return SPACE
    return MARK if unicodedata.category(character).startswith("M") else OTHER


@cache
def character_kinds() -> Bytes:
    """Return the kind of each code point. Planes without characters are skipped, to save time."""
    kinds = np.full(0x110000, OTHER, np.uint8)
    for start, stop in ((0, 0x40000), (0xE0000, 0xE1000)):
        kinds[start:stop] = [kind_of(chr(point)) for point in range(start, stop)]
    return kinds


# For ASCII text in the `reuters2000` profile this table does it all: letters in lower case, digits,
# and blanks for everything else.
ASCII_WORDS = bytes(
    ord(chr(c).lower()) if kind_of(chr(c)) in (LETTER, DIGIT) else BLANK for c in range(128)
).ljust(256, b" ")


@njit
def code_point(text: Bytes, at: int) -> tuple[int, int]:
    """Return the code point at a byte of well-formed UTF-8, and its length in bytes."""
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
    """Return the tokens of a text with one or more blanks between them, and nothing else.

    With `fold` (the `reuters21578` profile) a run of digits becomes the token `number`, and
    characters that belong to no token are discarded; without it they separate tokens.
    """
    out = np.empty((len(number) + 2) * len(text) if fold else len(text), np.uint8)
    filled = 0
    at = 0
    inside = False  # whether the last character belongs to a token that a mark can continue
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
    text: Bytes, at: int, end: int, row: int, stop_words: int, table: TermTable, seen: SeenTerms,
    terms: Ints, values: Floats, filled: int,
) -> tuple[int, int]:  # fmt: skip
    """Count the tokens of `text[at:end]` behind the first `filled` entries.

    The first `stop_words` terms of the table are the stop-list. Stops at `end`, or when the table
    may be full. Returns where it stopped and the number of entries.
    """
    # `is_full`, written out: passing the table to a function takes longer than finding a term.
    last_row, entry = seen.row, seen.entry
    size, ends, key = table.size, table.ends, table.key
    most, room = len(table.hashes), len(table.letters) - MAX_TERM_BYTES
    while at < end and size[0] < most and ends[size[0]] <= room:
        while at < end and text[at] == BLANK:
            at += 1
        start = at
        while at < end and text[at] != BLANK:
            at += 1
        if at == start or at - start > MAX_TERM_BYTES:
            continue
        hashed = sip_hash(text, start, at, key)
        term = find(table, text, start, at, hashed)
        if term < 0:
            term = add(table, text, start, at, hashed, -1 - term)
        if term < stop_words:
            continue
        if last_row[term] == row:
            values[entry[term]] += 1.0
            continue
        last_row[term] = row
        entry[term] = filled
        terms[filled] = term
        values[filled] = 1.0
        filled += 1
    return at, filled


@njit
def count_rows(documents: EncodedDocuments, stop_words: int, table: TermTable) -> TermCounts:
    """Count the terms of each row. The first `stop_words` terms of the table are not counted."""
    text, ready = documents.text, documents.ready
    starts = np.zeros(len(ready) + 1, np.int64)
    terms = np.empty(len(text), np.int32)  # a token has at least one byte
    values = np.empty(len(text), np.float64)
    seen = SeenTerms(
        np.full(len(table.hashes), -1, np.int64), np.empty(len(table.hashes), np.int64)
    )
    filled = 0
    name = 0
    for row in range(len(ready)):
        at, end = documents.starts[row], documents.starts[row + 1]
        while at < end:
            if is_full(table):
                table = doubled(table)
                more = len(table.hashes) - len(seen.row)
                seen = SeenTerms(
                    np.concatenate((seen.row, np.full(more, -1, np.int64))),
                    np.concatenate((seen.entry, np.empty(more, np.int64))),
                )
            if ready[row]:
                length = documents.name_lengths[name]
                terms[filled] = intern(table, text, at, at + length)
                values[filled] = documents.name_values[name]
                at += length
                filled += 1
                name += 1
            else:
                at, filled = count_text(
                    text, at, end, row, stop_words, table, seen, terms, values, filled
                )
        starts[row + 1] = filled
    return TermCounts(table, starts, terms[:filled].copy(), values[:filled].copy())


class Tokenizer:
    """Counts the terms of blocks of documents by one profile.

    Examples
    --------
    >>> from pipeline.text.terms import words_of
    >>> counts = Tokenizer("reuters2000").count(["Wheat and corn: wheat!"])
    >>> words_of(counts.table), counts.values.tolist()
    (['wheat', 'and', 'corn'], [2.0, 1.0, 1.0])

    """

    def __init__(self, profile: str = "reuters2000", key: Hashes = PROCESS_KEY) -> None:
        if profile not in PROFILES:
            raise UsageError(f"The profile must be one of {', '.join(PROFILES)}. Got {profile!r}.")
        self.profile = profile
        self._fold = profile == "reuters21578"
        stop_words = STOPWORDS if self._fold else ()
        self._stop_words = len(stop_words)
        self._first = table_of(stop_words, key)  # every block's table begins with the stop-list
        self._room = (256, 2048)  # terms and letters; adapts to the last block, so tables grow less

    def count(self, documents: Sequence[str | Mapping[str, float]]) -> TermCounts:
        """Count the terms of texts. A mapping holds ready-made features, by name."""
        parts: list[bytes] = []
        lengths: list[int] = []
        name_lengths: list[int] = []
        name_values: list[float] = []
        for document in documents:
            if isinstance(document, str):
                parts.append(self._blanked(document))
                lengths.append(len(parts[-1]))
            else:
                encoded = [name.encode() for name in document]
                name_lengths.extend(map(len, encoded))
                name_values.extend(document.values())
                parts.extend(encoded)
                lengths.append(sum(map(len, encoded)))
        if name_lengths and not 0 < min(name_lengths) <= max(name_lengths) <= MAX_TERM_BYTES:
            raise ValueError(f"a feature's name must have 1 to {MAX_TERM_BYTES} bytes")
        starts = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        size = int(self._first.size[0])
        encoded_documents = EncodedDocuments(
            np.frombuffer(bytearray(b"".join(parts)), np.uint8),
            starts,
            np.array([not isinstance(document, str) for document in documents], np.bool_),
            np.array(name_lengths, np.int64),
            np.array(name_values, np.float64),
        )
        table = copied(self._first, np.arange(size), *self._room)
        counts = count_rows(encoded_documents, self._stop_words, table)
        used = int(counts.table.size[0])
        self._room = (used + used // 4 + 64, int(counts.table.ends[used]) * 5 // 4 + 1024)
        return counts

    def _blanked(self, text: str) -> bytes:
        """Return the tokens of a text with blanks between them."""
        if not self._fold and text.isascii():
            return text.encode().translate(ASCII_WORDS)
        encoded = np.frombuffer(
            bytearray(composed(text).lower().encode("utf-8", "replace")), np.uint8
        )
        number = np.frombuffer(bytearray(NUMBER.encode()), np.uint8)
        return blanked(encoded, character_kinds(), self._fold, number).tobytes()
