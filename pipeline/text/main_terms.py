"""The main terms of tokens: their stems, or the tokens themselves, in compiled code.

What a token becomes is packed into one number: the length of the token and of its stem in bytes,
whether the token begins with the stem, and from which bit on there is the place of its letters. A
stem is rarely stored: nearly all tokens begin with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Longs
from learners.jit import njit, njit_inline
from pipeline.text.sip_hash import Hashes
from pipeline.text.terms import TermTable

BYTE = np.uint64(255)
STEM_LENGTH, IS_BEGINNING, PLACE = np.uint64(8), np.uint64(16), np.uint64(17)  # bits


class MainTerms(NamedTuple):
    """What some tokens of a block become: their stems, or nothing (stop words)."""

    tokens: Longs  # in ascending order
    in_titles: Bools  # per token: whether it occurs in a title
    hashes: Hashes  # per token: that of its stem
    stems: Hashes  # per token: what it becomes, packed
    letters: Bytes  # where the other stems are


@njit_inline
def stem_length(stem: np.uint64) -> int:
    """Return the length of a stem in bytes: 0 for a token that becomes nothing."""
    return int(np.int64(stem >> STEM_LENGTH & BYTE))


@njit_inline
def is_beginning(stem: np.uint64) -> bool:
    """Return whether the token begins with its stem."""
    return bool(stem >> IS_BEGINNING & np.uint64(1))


@njit_inline
def stem_place(stem: np.uint64) -> int:
    """Return where a stem is stored: behind the letters of its token if they are stored."""
    length = int(np.int64(stem & BYTE))
    return int(np.int64(stem >> PLACE)) + (length if length > 8 else 0)


@njit
def unchanged(tokens: TermTable, chosen: Longs, in_titles: Bools) -> MainTerms:
    """Return the chosen tokens as their own main terms."""
    hashes, stems = np.empty(len(chosen), np.uint64), np.empty(len(chosen), np.uint64)
    for i in range(len(chosen)):
        length = np.uint64(tokens.ends[chosen[i] + 1] - tokens.ends[chosen[i]])
        hashes[i] = tokens.hashes[chosen[i]]
        stems[i] = length | length << STEM_LENGTH | np.uint64(1) << IS_BEGINNING
    return MainTerms(chosen, in_titles, hashes, stems, tokens.letters)
