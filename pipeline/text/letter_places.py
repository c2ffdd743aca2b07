"""Places in a word as bits of a number, in compiled code: its first letter has the lowest bit.

Bits need no loops over letters, which a processor leaves at a wrong guess for nearly every word.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Bytes
from learners.jit import njit_inline
from pipeline.text.eight_bytes import HIGHEST_BITS, LOWEST_BITS, eight_bytes

FIRST = 8  # where a word begins in its array
# Letters as all bytes of a number; those that differ in one bit are compared at once.
ALL_E, ALL_O = np.uint64(ord("e")) * LOWEST_BITS, np.uint64(ord("o")) * LOWEST_BITS
ALL_U, ALL_Y = np.uint64(ord("u")) * LOWEST_BITS, np.uint64(ord("y")) * LOWEST_BITS
A_TO_E = np.uint64(ord("a") ^ ord("e")) * LOWEST_BITS
I_TO_Y = np.uint64(ord("i") ^ ord("y")) * LOWEST_BITS
GATHER = np.uint64(0x0102040810204080)  # moves the lowest bits of eight bytes to the highest byte


@njit_inline
def place(at: int) -> np.uint64:
    """Return the bit of a place in the word."""
    return np.uint64(np.uint64(1) << np.uint64(at - FIRST))


@njit_inline
def gathered(highest: np.uint64) -> np.uint64:
    """Return the highest bits of eight bytes as the lowest eight bits."""
    return np.uint64(((highest & HIGHEST_BITS) >> np.uint64(7)) * GATHER >> np.uint64(56))


@njit_inline
def differs(eight: np.uint64, letters: np.uint64) -> np.uint64:
    """Return numbers whose highest bits say which of eight bytes of ASCII differ from others."""
    return np.uint64((eight ^ letters) + ~HIGHEST_BITS)


@njit_inline
def vowels_of(word: Bytes, end: int) -> tuple[np.uint64, np.uint64]:
    """Return the places of the vowels, each y among them, and those of each y."""
    vowels, ys = np.uint64(0), np.uint64(0)
    for at in range(FIRST, end, 8):
        eight = eight_bytes(word, at)
        others = (
            differs(eight | A_TO_E, ALL_E)
            & differs(eight | I_TO_Y, ALL_Y)
            & differs(eight, ALL_O)
            & differs(eight, ALL_U)
        )
        vowels |= gathered(~others) << np.uint64(at - FIRST)
        ys |= gathered(~differs(eight, ALL_Y)) << np.uint64(at - FIRST)
    inside = place(end) - np.uint64(1)
    return vowels & inside, ys & inside


@njit_inline
def has_vowel(vowels: np.uint64, end: int) -> bool:
    """Return whether there is a vowel before the end."""
    return bool(vowels & (place(end) - np.uint64(1)))


@njit_inline
def region(vowels: np.uint64, start: np.uint64, end: int) -> np.uint64:
    """Return where the region behind the first consonant after a vowel begins."""
    after_vowel = (vowels & ~(start - np.uint64(1))) << np.uint64(1)
    consonants = after_vowel & ~vowels & (place(end) - np.uint64(1))
    if consonants == np.uint64(0):
        return place(end)
    return np.uint64((consonants & (~consonants + np.uint64(1))) << np.uint64(1))
