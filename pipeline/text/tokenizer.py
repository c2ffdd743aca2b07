"""From text to counted terms, one block at a time, in compiled code.

The text is folded and split into tokens (`splitting`), tokens are counted, and each becomes its
terms (`expander`), as the profile says. The profiles of the papers take every token as a term:

`reuters2000`
    Everything that is not alphanumeric becomes white space: "U.S. oil-price 3.5%" gives
    u s oil price 3 5. No stop-list: it suits any language with spaces, and is the default.
`reuters21578`
    Everything that is neither alphanumeric nor white space is discarded, every run of digits
    becomes the one term `<number>`, and a stop-list applies: the same text gives
    us oilprice <number> <number>.

Letters and digits of any script are alphanumeric. A combining mark belongs to the letter before
it. A run of more than 255 bytes is not a word and is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Floats, Ints, Longs
from learners.jit import njit
from pipeline.text.characters import BLANK
from pipeline.text.expander import EncodedRows, Expander, is_expanded
from pipeline.text.profile import PLAIN_PROFILE, Profile, parse_profile
from pipeline.text.sip_hash import PROCESS_KEY, Hashes, sip_hash
from pipeline.text.splitting import Splitter
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
from pipeline.text.word_ngrams import token_sequence

PROFILES = ("reuters2000", "reuters21578")


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

    def __init__(self, profile: str | Profile = PLAIN_PROFILE, key: Hashes = PROCESS_KEY) -> None:
        self.ingredients = parse_profile(profile) if isinstance(profile, str) else profile
        self.profile = self.ingredients.name
        self._splitter = Splitter(self.ingredients)
        self._expander = Expander(self.ingredients, key) if is_expanded(self.ingredients) else None
        self._has_titles = self.ingredients.title != "text"
        stop_words = STOPWORDS if self.ingredients.stop_words == "papers" else ()
        self._stop_words = len(stop_words)
        self._first = table_of(stop_words, key)  # every block's table begins with the stop-list
        self._room = (256, 2048)  # terms and letters; adapts to the last block, so tables grow less

    def count(
        self,
        documents: Sequence[str | Mapping[str, float]],
        title_lengths: Sequence[int] | None = None,
        languages: Sequence[str | None] | None = None,
    ) -> TermCounts:
        """Count the terms of texts. A mapping holds ready-made features, by name.

        The first characters of a text may be its title, as many as `title_lengths` says. The
        profile decides what titles and languages are used for. The language of a text is found if
        it is needed and not given.
        """
        if self._expander is None:
            return self._count_parts(documents)[0]
        parts: Sequence[str | Mapping[str, float]] = documents
        if self._has_titles:
            parts = in_two_parts(documents, title_lengths)
        counts, encoded = self._count_parts(parts)
        sequence = None
        if self.ingredients.words > 1:
            sequence = token_sequence(*encoded[:3], self._stop_words, counts.table)
        text = EncodedRows(encoded.text, encoded.starts)
        return TermCounts(*self._expander.expanded(*counts, documents, languages, text, sequence))

    def _count_parts(
        self, documents: Sequence[str | Mapping[str, float]]
    ) -> tuple[TermCounts, EncodedDocuments]:
        """Count the tokens of texts and of features; return also what was counted."""
        blanked = self._splitter.blanked
        parts: list[bytes] = []
        lengths: list[int] = []
        name_lengths: list[int] = []
        name_values: list[float] = []
        for document in documents:
            if isinstance(document, str):
                parts.append(blanked(document))
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
        return counts, encoded_documents


def in_two_parts(
    documents: Sequence[str | Mapping[str, float]], title_lengths: Sequence[int] | None
) -> list[str | Mapping[str, float]]:
    """Return the title and the rest of each document. Features are all in the second part."""
    parts: list[str | Mapping[str, float]] = []
    for document, length in zip(documents, title_lengths or [0] * len(documents), strict=True):
        if isinstance(document, str):
            parts += document[:length], document[length:]
        else:
            parts += "", document
    return parts
