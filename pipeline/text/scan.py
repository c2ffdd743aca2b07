"""From text to tokens with blanks between them, in compiled code.

`blanked` is for the profiles of the papers. `scanned` is for all others: it folds characters, and
cuts runs of scripts without spaces into n-grams of characters. There a character is a cluster: a
letter with its marks, and with the consonants below it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bytes, Longs
from learners.jit import njit, njit_inline
from pipeline.text.characters import (
    ACCENTED,
    BLANK,
    DIGIT,
    DROPPED,
    LETTER,
    MARK,
    OTHER,
    SPACE,
    STACKERS,
    UNSPACED,
    CharacterTables,
)
from pipeline.text.terms import MAX_TERM_BYTES

OUTSIDE, IN_WORD, IN_NUMBER, IN_RUN = range(4)  # where the scan is


class ScanOptions(NamedTuple):
    """How a profile splits text."""

    join: bool  # characters that belong to no token vanish, instead of separating tokens
    one_number: bool  # a run of digits becomes the token `number`
    shortest: int  # n-gram of a script without spaces
    longest: int


@njit_inline
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


@njit_inline
def put(out: Bytes, filled: int, point: int) -> int:
    """Write a code point as UTF-8 behind the first `filled` bytes; return their number then."""
    if point < 0x80:
        out[filled] = point
        return filled + 1
    if point < 0x800:
        out[filled] = 0xC0 | point >> 6
        out[filled + 1] = 0x80 | (point & 0x3F)
        return filled + 2
    if point < 0x10000:
        out[filled] = 0xE0 | point >> 12
        out[filled + 1] = 0x80 | (point >> 6 & 0x3F)
        out[filled + 2] = 0x80 | (point & 0x3F)
        return filled + 3
    out[filled] = 0xF0 | point >> 18
    out[filled + 1] = 0x80 | (point >> 12 & 0x3F)
    out[filled + 2] = 0x80 | (point >> 6 & 0x3F)
    out[filled + 3] = 0x80 | (point & 0x3F)
    return filled + 4


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
def put_ngrams(
    run: Bytes, bounds: Longs, clusters: int, options: ScanOptions, out: Bytes, filled: int
) -> int:
    """Write the n-grams of a run behind the first `filled` bytes; return their number then.

    Cluster i is `run[bounds[i]:bounds[i + 1]]`. A run shorter than the shortest n-gram is written
    as it is.
    """
    out[filled] = BLANK
    filled += 1
    shortest = min(options.shortest, clusters)
    for length in range(shortest, min(options.longest, clusters) + 1):
        for first in range(clusters - length + 1):
            start, end = bounds[first], bounds[first + length]
            if end - start > MAX_TERM_BYTES:
                continue
            for i in range(start, end):
                out[filled] = run[i]
                filled += 1
            out[filled] = BLANK
            filled += 1
    return filled


@njit
def scanned(text: Bytes, tables: CharacterTables, options: ScanOptions, number: Bytes) -> Bytes:
    """Return the tokens of a text with one or more blanks between them, and nothing else."""
    kinds, folded = tables.kinds, tables.folded
    most = 2 + (len(number) + 1 if options.one_number else 0)  # bytes that a byte can become
    for length in range(options.shortest, options.longest + 1):
        most += length + 1
    out = np.empty(most * len(text) + 2, np.uint8)
    run = np.empty(len(text), np.uint8)
    bounds = np.empty(len(text) + 1, np.int64)
    filled = at = in_run = clusters = 0
    state = OUTSIDE
    bare = False  # whether the last letter goes without its marks
    stacked = False  # whether the next letter belongs to the last cluster of the run
    while at < len(text):
        point, width = code_point(text, at)
        kind = kinds[point]
        point = int(folded[point])
        at += width
        if kind == DROPPED:
            continue
        if kind == MARK:
            if state == IN_WORD:
                if not bare:
                    filled = put(out, filled, point)
                continue
            if state == IN_RUN:
                in_run = put(run, in_run, point)
                stacked = point in STACKERS
                continue
            kind = OTHER  # a mark without a letter
        if kind == UNSPACED:
            if state != IN_RUN:
                in_run = clusters = 0
                stacked = False
                state = IN_RUN
            if not stacked:
                bounds[clusters] = in_run
                clusters += 1
            in_run = put(run, in_run, point)
            stacked = False
            continue
        if kind == OTHER and options.join and state != IN_NUMBER:
            continue
        if state == IN_RUN:
            bounds[clusters] = in_run
            filled = put_ngrams(run, bounds, clusters, options, out, filled)
            state = OUTSIDE
        if kind == DIGIT and options.one_number:
            if state != IN_NUMBER:
                out[filled] = BLANK
                out[filled + 1 : filled + 1 + len(number)] = number
                out[filled + 1 + len(number)] = BLANK
                filled += len(number) + 2
            state = IN_NUMBER
        elif kind in (LETTER, DIGIT, ACCENTED):
            filled = put(out, filled, point)
            state = IN_WORD
            bare = kind == ACCENTED
        else:
            out[filled] = BLANK
            filled += 1
            state = OUTSIDE
    if state == IN_RUN:
        bounds[clusters] = in_run
        filled = put_ngrams(run, bounds, clusters, options, out, filled)
    return out[:filled]
