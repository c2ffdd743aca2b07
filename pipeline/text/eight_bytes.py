"""Eight bytes at once, in compiled code: most words have fewer, so they need no loop.

A loop over the bytes of a word ends at another place for every word. Processors guess where, and a
wrong guess takes longer than the work.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Bytes
from learners.jit import njit_inline

BLANKS = np.uint64(0x2020202020202020)
LOWEST_BITS = np.uint64(0x0101010101010101)
HIGHEST_BITS = np.uint64(0x8080808080808080)


@njit_inline
def eight_bytes(letters: Bytes, at: int) -> np.uint64:
    """Return the bytes from `at` on as one number, the first one lowest. All must be there."""
    # Unsigned indices, which cannot be negative, let the compiler make one load of this.
    i = np.uint64(at)
    return np.uint64(
        np.uint64(letters[i])
        | np.uint64(letters[i + np.uint64(1)]) << np.uint64(8)
        | np.uint64(letters[i + np.uint64(2)]) << np.uint64(16)
        | np.uint64(letters[i + np.uint64(3)]) << np.uint64(24)
        | np.uint64(letters[i + np.uint64(4)]) << np.uint64(32)
        | np.uint64(letters[i + np.uint64(5)]) << np.uint64(40)
        | np.uint64(letters[i + np.uint64(6)]) << np.uint64(48)
        | np.uint64(letters[i + np.uint64(7)]) << np.uint64(56)
    )


@njit_inline
def first_bytes(eight: np.uint64, count: int) -> np.uint64:
    """Return the first bytes of eight, fewer than eight of them, with zeros for the others."""
    return np.uint64(eight & ((np.uint64(1) << np.uint64(8 * count)) - np.uint64(1)))


@njit_inline
def at_least(eight: np.uint64, least: int) -> np.uint64:
    """Return numbers whose highest bits say which of eight bytes of ASCII are `least` or more."""
    return np.uint64(eight + np.uint64(0x80 - least) * LOWEST_BITS)


@njit_inline
def bytes_before_blank(eight: np.uint64) -> int:
    """Return how many of eight bytes are before the first blank: 8 if there is none."""
    others = eight ^ BLANKS
    # The lowest bit that is set is the highest of the first zero byte (Warren, Hacker's Delight).
    zeros = (others - LOWEST_BITS) & ~others & HIGHEST_BITS
    if zeros == np.uint64(0):
        return 8
    below = (zeros - np.uint64(1)) & ~zeros & LOWEST_BITS  # one bit per byte up to that one
    return int(np.int64(below * LOWEST_BITS >> np.uint64(56))) - 1


@njit_inline
def put_eight_bytes(letters: Bytes, at: int, eight: np.uint64) -> None:
    """Write eight bytes from `at` on. There must be room for all of them."""
    i = np.uint64(at)
    letters[i] = np.uint8(eight)
    letters[i + np.uint64(1)] = np.uint8(eight >> np.uint64(8))
    letters[i + np.uint64(2)] = np.uint8(eight >> np.uint64(16))
    letters[i + np.uint64(3)] = np.uint8(eight >> np.uint64(24))
    letters[i + np.uint64(4)] = np.uint8(eight >> np.uint64(32))
    letters[i + np.uint64(5)] = np.uint8(eight >> np.uint64(40))
    letters[i + np.uint64(6)] = np.uint8(eight >> np.uint64(48))
    letters[i + np.uint64(7)] = np.uint8(eight >> np.uint64(56))


@njit_inline
def same_bytes(one: Bytes, start: int, other: Bytes, other_start: int, length: int) -> bool:
    """Return whether two words of this length are equal. Eight bytes must be there in any case."""
    if length < 8:
        different = eight_bytes(one, start) ^ eight_bytes(other, other_start)
        return bool(first_bytes(different, length) == np.uint64(0))
    last = length - 8  # the last eight bytes may be compared a second time
    i = 0
    while i < last and eight_bytes(one, start + i) == eight_bytes(other, other_start + i):
        i += 8
    if i < last:
        return False
    return bool(eight_bytes(one, start + last) == eight_bytes(other, other_start + last))


@njit_inline
def copy_bytes(source: Bytes, start: int, target: Bytes, at: int, length: int) -> None:
    """Copy a word. Eight bytes must be there in any case, and as many may be overwritten."""
    if length < 8:
        put_eight_bytes(target, at, eight_bytes(source, start))
        return
    last = length - 8
    for i in range(0, last, 8):
        put_eight_bytes(target, at + i, eight_bytes(source, start + i))
    put_eight_bytes(target, at + last, eight_bytes(source, start + last))


@njit_inline
def is_same_word(one: Bytes, start: int, other: Bytes, other_start: int, length: int) -> bool:
    """Return whether two words are equal. Sixteen bytes must be there in any case.

    Most words have no more, so that this takes no branch which depends on the length.
    """
    first = eight_bytes(one, start) ^ eight_bytes(other, other_start)
    second = eight_bytes(one, start + 8) ^ eight_bytes(other, other_start + 8)
    # Bytes behind the word are moved out.
    first <<= np.uint64(8 * max(8 - length, 0))
    second = second << np.uint64(8 * min(max(16 - length, 0), 7)) if length > 8 else np.uint64(0)
    if length > 16:
        return same_bytes(one, start, other, other_start, length)
    return bool(first | second == np.uint64(0))


@njit_inline
def copy_word(source: Bytes, start: int, target: Bytes, at: int, length: int) -> None:
    """Copy a word. Sixteen bytes must be there in any case, and as many may be overwritten.

    Most words have no more, so that this takes no branch which depends on the length.
    """
    put_eight_bytes(target, at, eight_bytes(source, start))
    put_eight_bytes(target, at + 8, eight_bytes(source, start + 8))
    for i in range(16, length):
        target[np.uint64(at + i)] = source[np.uint64(start + i)]
