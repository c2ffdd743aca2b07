"""From tokens to terms, in compiled code: stems, n-grams of letters, and terms of titles.

The tokens of a block are counted first. Then each distinct token becomes its terms, once per block
and language, and the counts of the terms are added up for each document. So the work for stems and
n-grams grows with the distinct tokens of a block, not with its length.

A token becomes its main term (the stem, or the token itself) and the n-grams of its letters. These
have a star where the word goes on: `whe*`, `*hea*` and `*eat` are the 3-grams of wheat. A term of a
title begins with `title:`. No word contains a star or a colon, so nothing is confused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Floats, Ints, Longs
from learners.jit import njit
from pipeline.text.characters import ACCENTED, DIGIT, LETTER, MARK
from pipeline.text.eight_bytes import copy_bytes, copy_word, same_bytes
from pipeline.text.main_terms import MainTerms, is_beginning, stem_length, stem_place
from pipeline.text.scan import code_point
from pipeline.text.sip_hash import sip_hash
from pipeline.text.terms import (
    MAX_TERM_BYTES,
    TermTable,
    add,
    enlarged,
    find,
    intern,
    likely_slot,
)

STAR = ord("*")
TITLE_PREFIX = np.frombuffer(bytearray(b"title:"), np.uint8)
TITLE_WEIGHT = 2.0
PADDING = 8  # bytes behind the letters of a table, so that eight can be read and written anywhere


class Expansion(NamedTuple):
    """The terms of each token, and the n-grams of all tokens one after another.

    Token i of group g is at `g * tokens + i`. Terms are -1 where there are none. Only what can be
    used is written: tokens of the group, their terms of titles if they are in titles, and their
    n-grams if the group has any.
    """

    main_terms: Ints
    title_terms: Ints
    has_ngrams: Bools  # per group
    firsts: Longs  # the n-grams of a token are `ngrams[firsts[i]:lasts[i]]`
    lasts: Longs
    ngrams: Ints


class CountedTokens(NamedTuple):
    """Rows of counted tokens, one for each part of a document.

    With two parts per document, row 2 i is the title of document i and row 2 i + 1 its text.
    """

    starts: Longs
    tokens: Ints
    values: Floats
    parts: int


@njit
def with_room(table: TermTable, terms: int, letters: int) -> TermTable:
    """Return the table, or a larger one if it lacks room for this many terms and letters."""
    size = table.size[0]
    letters += PADDING
    if size + terms <= len(table.hashes) and table.ends[size] + letters <= len(table.letters):
        return table
    return enlarged(table, size + terms, int(table.ends[size]) + letters)


@njit
def chosen_tokens(
    counted: CountedTokens, groups: Ints, group: int, is_only: bool, first: int, tokens: int
) -> tuple[Longs, Bools]:
    """Return the tokens of a group of documents from `first` on, and which are in titles.

    With `is_only` there is no other group, so all tokens are of this one.
    """
    starts, parts, counted_tokens = counted.starts, counted.parts, counted.tokens
    used = np.full(tokens, is_only, np.bool_)
    in_titles = np.zeros(tokens, np.bool_)
    for document in range(len(groups)):
        if groups[document] != group:
            continue
        body = parts * (document + 1) - 1
        for token in counted_tokens[starts[parts * document] : starts[body]]:
            in_titles[token] = used[token] = True
        if not is_only:
            for token in counted_tokens[starts[body] : starts[body + 1]]:
                used[token] = True
    chosen = np.empty(tokens + 1, np.int64)
    filled = 0
    for token in range(first, tokens):
        chosen[filled] = token
        filled += used[token]
    chosen = chosen[:filled].copy()
    return chosen, in_titles[chosen]


@njit
def letter_bounds(letters: Bytes, start: int, end: int, kinds: Bytes, bounds: Longs) -> int:
    """Write where the letters of a token begin, each with its marks; return their number.

    0 if the token is not a word: characters of a script without spaces, or the token for numbers.
    """
    count = 0
    at = start
    while at < end:
        point, width = code_point(letters, at)
        kind = kinds[point]
        if kind in (LETTER, DIGIT, ACCENTED):
            bounds[count] = at
            count += 1
        elif kind != MARK or count == 0:
            return 0
        at += width
    bounds[count] = end
    return count


@njit
def add_main_terms(
    tokens: TermTable, main: MainTerms, base: int, table: TermTable, terms: Ints
) -> TermTable:
    """Return the table with the main terms; write that of token i to `terms[base + i]`."""
    table = with_room(table, len(main.tokens), MAX_TERM_BYTES)
    done = 0
    while done < len(main.tokens):
        # A table that changes inside a loop is slow there, so it changes only if it is full.
        done = put_main_terms(tokens, main, done, base, table, terms)
        if done < len(main.tokens):
            table = with_room(table, len(main.tokens), len(table.letters) + MAX_TERM_BYTES)
    return table


@njit
def put_main_terms(
    tokens: TermTable, main: MainTerms, done: int, base: int, table: TermTable, terms: Ints
) -> int:
    """Write the main terms of the tokens behind the first ones, until the table may be full.

    Returns how many tokens are done then.
    """
    slots, hashes, ends, letters, size = (
        table.slots, table.hashes, table.ends, table.letters, table.size
    )  # fmt: skip
    token_ends, token_letters = tokens.ends, tokens.letters
    chosen, main_hashes, stems, stem_letters = main.tokens, main.hashes, main.stems, main.letters
    room = len(letters) - MAX_TERM_BYTES
    while done < len(chosen) and ends[size[0]] <= room:
        stem, hashed, token = stems[done], main_hashes[done], chosen[done]
        length = stem_length(stem)
        term = np.int64(-1)
        if length > 0:
            # The stem is written behind the others, where it stays if it is new.
            offset = ends[size[0]]
            if is_beginning(stem):
                copy_word(token_letters, token_ends[token], letters, offset, length)
            else:
                copy_word(stem_letters, stem_place(stem), letters, offset, length)
            slot = likely_slot(slots, hashes, hashed)
            term = np.int64(slots[slot])
            if term < 0:
                term = size[0]
                hashes[term] = hashed
                ends[term + 1] = offset + length
                slots[slot] = term
                size[0] = term + 1
            elif ends[term + 1] - ends[term] != length or not same_bytes(
                letters, ends[term], letters, offset, length
            ):
                term = np.int64(intern(table, letters, offset, offset + length))
        terms[base + token] = term
        done += 1
    return done


@njit
def add_letter_ngrams(
    tokens: TermTable, main: MainTerms, kinds: Bytes, shortest: int, longest: int, base: int,
    first: int, table: TermTable, expansion: Expansion,
) -> tuple[TermTable, Ints]:  # fmt: skip
    """Return the table with main terms and n-grams of letters, and the n-grams of all tokens.

    The n-grams have from `shortest` to `longest` letters. The whole word is not among them. Writes
    which are those of token i at `base + i`, if `first` n-grams come before them.
    """
    lengths = longest - shortest + 1
    most = 0
    for token in main.tokens:
        most += lengths * (tokens.ends[token + 1] - tokens.ends[token])
    ngrams = np.empty(most, np.int32)
    done, filled = 0, 0
    while done < len(main.tokens):
        done, filled = put_terms(
            tokens, main, kinds, shortest, longest, base, first, table, done, filled, expansion,
            ngrams,
        )  # fmt: skip
        if done < len(main.tokens):
            table = with_room(table, 2 * (int(table.size[0]) + 1024), len(table.letters) + 65536)
    return table, ngrams[:filled].copy()


@njit
def put_terms(
    tokens: TermTable, main: MainTerms, kinds: Bytes, shortest: int, longest: int, base: int,
    before: int, table: TermTable, done: int, filled: int, expansion: Expansion, ngrams: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Write the terms of the tokens behind the first `done` ones.

    Stops before a token whose terms may not fit into the table. Returns how many tokens are done
    then, and the number of n-grams.
    """
    bounds = np.empty(MAX_TERM_BYTES + 1, np.int64)
    gram = np.empty(MAX_TERM_BYTES + 2, np.uint8)
    letters, ends, key = tokens.letters, tokens.ends, table.key
    lengths = longest - shortest + 1
    while done < len(main.tokens):
        token, stem = main.tokens[done], main.stems[done]
        if stem_length(stem) == 0:
            expansion.main_terms[base + token] = -1
            expansion.firsts[base + token] = expansion.lasts[base + token] = before + filled
            done += 1
            continue
        size = table.size[0]
        width = ends[token + 1] - ends[token]
        room = stem_length(stem) + lengths * width * (longest + 2) + PADDING
        if (
            size + 1 + lengths * width > len(table.hashes)
            or table.ends[size] + room > len(table.letters)
        ):  # fmt: skip
            return done, filled
        if is_beginning(stem):
            start = ends[token]
            term = intern(table, letters, start, start + stem_length(stem))
        else:
            start = stem_place(stem)
            term = intern(table, main.letters, start, start + stem_length(stem))
        expansion.main_terms[base + token] = term
        expansion.firsts[base + token] = before + filled
        count = letter_bounds(letters, ends[token], ends[token + 1], kinds, bounds)
        for length in range(shortest, min(longest, count - 1) + 1):
            for first in range(count - length + 1):
                size = 0
                if first > 0:
                    gram[0] = STAR
                    size = 1
                for i in range(bounds[first], bounds[first + length]):
                    gram[size] = letters[i]
                    size += 1
                if first + length < count:
                    gram[size] = STAR
                    size += 1
                if size > MAX_TERM_BYTES:
                    continue
                hashed = sip_hash(gram, 0, size, key)
                term = find(table, gram, 0, size, hashed)
                if term < 0:
                    term = add(table, gram, 0, size, hashed, -1 - term)
                ngrams[filled] = term
                filled += 1
        expansion.lasts[base + token] = before + filled
        done += 1
    return done, filled


@njit
def add_title_terms(
    main: MainTerms, prefix: Bytes, base: int, table: TermTable, expansion: Expansion
) -> TermTable:
    """Return the table with the terms of titles, for which the main terms must be there.

    Writes that of token i to `expansion.title_terms[base + i]`.
    """
    count, letters = 0, 0
    for i in range(len(main.tokens)):
        length = stem_length(main.stems[i])
        if main.in_titles[i] and length > 0:
            count += 1
            letters += len(prefix) + length
    table = with_room(table, count, letters)
    put_title_terms(main, prefix, base, table, expansion.main_terms, expansion.title_terms)
    return table


@njit
def put_title_terms(
    main: MainTerms, prefix: Bytes, base: int, table: TermTable, main_terms: Ints, terms: Ints
) -> None:
    """Write the terms of titles. The table must have room."""
    slots, hashes, ends, letters, size = (
        table.slots, table.hashes, table.ends, table.letters, table.size
    )  # fmt: skip
    tokens, in_titles = main.tokens, main.in_titles
    key, width = table.key, len(prefix)
    written = np.empty(MAX_TERM_BYTES + PADDING, np.uint8)
    written[:width] = prefix
    for i in range(len(tokens)):
        if not in_titles[i]:
            continue
        place = base + tokens[i]
        term = np.int64(main_terms[place])
        terms[place] = -1
        if term < 0:
            continue
        length = ends[term + 1] - ends[term]
        if width + length > MAX_TERM_BYTES:
            continue
        copy_bytes(letters, ends[term], written, width, length)
        length += width
        hashed = sip_hash(written, 0, length, key)
        slot = likely_slot(slots, hashes, hashed)
        term = np.int64(slots[slot])
        if term < 0:
            term = size[0]
            offset = ends[term]
            copy_bytes(written, 0, letters, offset, length)
            hashes[term] = hashed
            ends[term + 1] = offset + length
            slots[slot] = term
            size[0] = term + 1
        elif ends[term + 1] - ends[term] != length or not same_bytes(
            letters, ends[term], written, 0, length
        ):
            term = np.int64(intern(table, written, 0, length))
        terms[place] = term
