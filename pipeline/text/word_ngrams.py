"""Terms of several words in a row, in compiled code: `oil price` beside `oil` and `price`.

They consist of main terms, so of stems if there are stems, and stop words are left out before:
"price of oil" gives `price oil`. Characters of scripts without spaces are not among them, and
separate what is before and behind them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Ints, Longs
from learners.jit import njit
from pipeline.text.characters import BLANK, UNSPACED
from pipeline.text.expansion import Expansion, with_room
from pipeline.text.scan import code_point
from pipeline.text.sip_hash import sip_hash
from pipeline.text.terms import MAX_TERM_BYTES, TermTable, add, find


class RowTerms(NamedTuple):
    """Terms or tokens of rows, in order: those of row i are `terms[starts[i]:starts[i + 1]]`."""

    starts: Longs
    terms: Ints


class Window(NamedTuple):
    """Where the search for n-grams is."""

    position: Longs  # row, place in the sequence, number of terms found, number of last words
    words: Ints  # main terms of the last words


ROW, PLACE, FILLED, WORDS = range(4)


@njit
def token_sequence(
    text: Bytes, starts: Longs, ready: Bools, stop_words: int, table: TermTable
) -> RowTerms:
    """Return the tokens of each row in order; all are in the table. Stop words are left out.

    Rows marked `ready` have none.
    """
    row_starts = np.zeros(len(ready) + 1, np.int64)
    tokens = np.empty(len(text) // 2 + len(ready), np.int32)
    filled = 0
    key = table.key
    for row in range(len(ready)):
        at, end = starts[row], starts[row + 1]
        while at < end and not ready[row]:
            while at < end and text[at] == BLANK:
                at += 1
            start = at
            while at < end and text[at] != BLANK:
                at += 1
            if start < at <= start + MAX_TERM_BYTES:
                token = find(table, text, start, at, sip_hash(text, start, at, key))
                if token >= stop_words:
                    tokens[filled] = token
                    filled += 1
        row_starts[row + 1] = filled
    return RowTerms(row_starts, tokens[:filled].copy())


@njit
def is_run(tokens: TermTable, kinds: Bytes) -> Bools:
    """Return which tokens are of a script without spaces."""
    found = np.zeros(tokens.size[0], np.bool_)
    for token in range(len(found)):
        point, _ = code_point(tokens.letters, tokens.ends[token])
        found[token] = kinds[point] == UNSPACED
    return found


@njit
def add_word_ngrams(
    sequence: RowTerms, rows_to_tokens: Longs, expansion: Expansion, separates: Bools, words: int,
    table: TermTable,
) -> tuple[TermTable, RowTerms]:  # fmt: skip
    """Return the table with the n-grams of 2 to `words` words, and those of each row in order.

    The expansions of the tokens of row i begin at `rows_to_tokens[i]`.
    """
    rows = RowTerms(
        np.zeros(len(sequence.starts), np.int64),
        np.empty(len(sequence.terms) * (words - 1), np.int32),
    )
    window = Window(np.zeros(4, np.int64), np.empty(words, np.int32))
    while window.position[ROW] < len(rows_to_tokens):
        # A table that changes inside a loop is slow there, so it changes only if it is full.
        put_word_ngrams(sequence, rows_to_tokens, expansion, separates, words, table, window, rows)
        if window.position[ROW] < len(rows_to_tokens):
            table = with_room(table, 2 * (int(table.size[0]) + 1024), len(table.letters) + 65536)
    return table, RowTerms(rows.starts, rows.terms[: window.position[FILLED]].copy())


@njit
def put_word_ngrams(
    sequence: RowTerms, rows_to_tokens: Longs, expansion: Expansion, separates: Bools, words: int,
    table: TermTable, window: Window, out: RowTerms,
) -> None:  # fmt: skip
    """Write n-grams from the place of the window on, until the table may be full."""
    gram = np.empty(MAX_TERM_BYTES, np.uint8)
    row, at, filled, last = window.position
    size, ends, letters, key = table.size, table.ends, table.letters, table.key
    most, room = len(table.hashes) - words, len(letters) - words * MAX_TERM_BYTES
    while row < len(rows_to_tokens):
        while at < sequence.starts[row + 1] and size[0] < most and ends[size[0]] < room:
            token = sequence.terms[at]
            at += 1
            if separates[token]:
                last = 0
                continue
            main_term = expansion.main_terms[rows_to_tokens[row] + token]
            if main_term < 0:
                continue  # a stop word
            if last == words:
                window.words[:-1] = window.words[1:]
                last -= 1
            window.words[last] = main_term
            last += 1
            for count in range(2, last + 1):
                length = 0
                fits = True
                for word in window.words[last - count : last]:
                    width = ends[word + 1] - ends[word]
                    fits = fits and length + 1 + width <= MAX_TERM_BYTES
                    if fits:
                        if length > 0:
                            gram[length] = BLANK
                            length += 1
                        for i in range(width):
                            gram[length + i] = letters[ends[word] + i]
                        length += width
                if not fits:
                    continue
                hashed = sip_hash(gram, 0, length, key)
                term = find(table, gram, 0, length, hashed)
                if term < 0:
                    term = add(table, gram, 0, length, hashed, -1 - term)
                out.terms[filled] = term
                filled += 1
        window.position[:] = (row, at, filled, last)
        if at < sequence.starts[row + 1]:
            return
        row += 1
        last = 0
        out.starts[row] = filled
        window.position[:] = (row, at, filled, last)
