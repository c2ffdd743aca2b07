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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Bytes, Floats, Ints, Longs
from learners.jit import njit
from pipeline.text.characters import BLANK
from pipeline.text.eight_bytes import bytes_before_blank, eight_bytes, first_bytes
from pipeline.text.encoded_documents import Documents, EncodedDocuments, encode_documents
from pipeline.text.expander import Expander, is_expanded
from pipeline.text.language_votes import Sample
from pipeline.text.profile import PLAIN_PROFILE, Profile, parse_profile
from pipeline.text.sip_hash import PROCESS_KEY, Hashes, sip_hash, sip_hash_short
from pipeline.text.splitting import Splitter
from pipeline.text.stopwords import STOPWORDS
from pipeline.text.terms import (
    MAX_TERM_BYTES,
    TermTable,
    copied,
    doubled,
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


@njit
def count_text(
    text: Bytes, at: int, end: int, first: int, stop_words: int, table: TermTable, entries: Longs,
    terms: Ints, values: Floats, filled: int,
) -> tuple[int, int]:  # fmt: skip
    """Count the tokens of `text[at:end]` behind the first `filled` entries.

    The entries of the row begin at `first`, and `entries` holds the last entry of each term. The
    first `stop_words` terms of the table are the stop-list. There must be 8 bytes behind `end`.
    Stops at `end`, or when the table may be full. Returns where it stopped and the number of
    entries.
    """
    # `is_full`, `find` and `add`, written out: passing the table to a function takes longer than
    # finding a term.
    slots, hashes, ends, letters = table.slots, table.hashes, table.ends, table.letters
    size, key = table.size, table.key
    most, room, last = len(hashes), len(letters) - MAX_TERM_BYTES, np.uint64(len(slots) - 1)
    while at < end and size[0] < most and ends[size[0]] <= room:
        eight = eight_bytes(text, at)
        length = bytes_before_blank(eight)
        if length == 0:
            at += 1
            continue
        start = at
        if length < 8:
            at = min(start + length, end)
            length = at - start
            eight = first_bytes(eight, length)
            hashed = sip_hash_short(eight, length, key)
            slot = hashed & last
            term = np.int64(slots[slot])
            while term >= 0 and not (
                hashes[term] == hashed
                and ends[term + 1] - ends[term] == length
                and first_bytes(eight_bytes(letters, ends[term]), length) == eight
            ):
                slot = (slot + np.uint64(1)) & last
                term = np.int64(slots[slot])
        else:
            while length == 8 and at + 8 < end:
                at += 8
                length = bytes_before_blank(eight_bytes(text, at))
            at = min(at + length, end)
            length = at - start
            if length > MAX_TERM_BYTES:
                continue
            hashed = sip_hash(text, start, at, key)
            slot = hashed & last
            term = np.int64(slots[slot])
            while term >= 0:
                if hashes[term] == hashed and ends[term + 1] - ends[term] == length:
                    offset = ends[term] - start
                    i = start
                    while i < at and letters[offset + i] == text[i]:
                        i += 1
                    if i == at:
                        break
                slot = (slot + np.uint64(1)) & last
                term = np.int64(slots[slot])
        if term < 0:
            term = size[0]
            offset = ends[term]
            for i in range(length):
                letters[offset + i] = text[start + i]
            hashes[term] = hashed
            ends[term + 1] = offset + length
            slots[slot] = term
            size[0] = term + 1
        if term < stop_words:
            continue
        entry = entries[term]
        if entry >= first:
            values[entry] += 1.0
            continue
        entries[term] = filled
        terms[filled] = term
        values[filled] = 1.0
        filled += 1
    return at, filled


@njit
def sample_end(text: Bytes, start: int, most: int, end: int) -> int:
    """Return where the last word ends of those that are whole in `text[start:most]`."""
    at = min(most, end)
    if at < end and text[at] != BLANK:
        while at > start and text[at - 1] != BLANK:
            at -= 1
    return max(at, start)


@njit
def count_rows(
    documents: EncodedDocuments,
    stop_words: int,
    sampled_bytes: int,
    is_kept: bool,
    table: TermTable,
) -> tuple[TermCounts, Longs]:
    """Count the terms of each row. The first `stop_words` terms of the table are not counted.

    With `is_kept` the counts are copies. Otherwise they are parts of much larger arrays.

    Returns also how many of the entries of each row have their first word in the sample: the whole
    words of the first bytes of a document, as many as `sampled_bytes` says.
    """
    text, ready = documents.text, documents.ready
    rows_per_document = len(ready) // max(1, len(documents.is_plain))
    starts = np.zeros(len(ready) + 1, np.int64)
    sampled = np.zeros(len(ready), np.int64)
    terms = np.empty(len(text), np.int32)  # a token has at least one byte
    values = np.empty(len(text), np.float64)
    entries = np.full(len(table.hashes), -1, np.int64)
    filled = 0
    name = 0
    for row in range(len(ready)):
        at, end, first = documents.starts[row], documents.starts[row + 1], filled
        sample = at
        if sampled_bytes > 0:
            most = documents.starts[row - row % rows_per_document] + sampled_bytes
            sample = sample_end(text, at, most, end)
        while at < end:
            if is_full(table):
                table = doubled(table)
                more = len(table.hashes) - len(entries)
                entries = np.concatenate((entries, np.full(more, -1, np.int64)))
            if ready[row]:
                length = documents.name_lengths[name]
                terms[filled] = intern(table, text, at, at + length)
                values[filled] = documents.name_values[name]
                at += length
                filled += 1
                name += 1
            else:
                stop = sample if at < sample else end
                at, filled = count_text(
                    text, at, stop, first, stop_words, table, entries, terms, values, filled
                )
                if at <= sample:
                    sampled[row] = filled - first
        starts[row + 1] = filled
    if is_kept:
        return TermCounts(table, starts, terms[:filled].copy(), values[:filled].copy()), sampled
    return TermCounts(table, starts, terms[:filled], values[:filled]), sampled


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
        documents: Documents,
        title_lengths: Sequence[int] | None = None,
        languages: Sequence[str | None] | None = None,
    ) -> TermCounts:
        """Count the terms of texts. A mapping holds ready-made features, by name.

        The first characters of a text may be its title, as many as `title_lengths` says. The
        profile decides what titles and languages are used for. The language of a text is found if
        it is needed and not given.
        """
        encoded = encode_documents(documents, title_lengths, self._splitter, self._has_titles)
        table = copied(self._first, np.arange(len(self._first.hashes)), *self._room)
        expander = self._expander
        # Stop words count for the language, so it is the expander that leaves them out.
        stop_words = self._stop_words if expander is None else 0
        sampled_bytes = 0 if expander is None else expander.sampled_bytes
        counts, sampled = count_rows(encoded, stop_words, sampled_bytes, expander is None, table)
        used = int(counts.table.size[0])
        self._room = (used + used // 4 + 64, int(counts.table.ends[used]) * 5 // 4 + 1024)
        if expander is None:
            return counts
        sequence = None
        if self.ingredients.words > 1:
            sequence = token_sequence(*encoded[:3], self._stop_words, counts.table)
        sample = Sample(encoded.text, encoded.starts, encoded.is_plain, sampled)
        is_ready = encoded.ready[1::2] if self._has_titles else encoded.ready
        return TermCounts(
            *expander.expanded(
                *counts, documents, is_ready, languages, sample, self._stop_words, sequence
            )
        )
