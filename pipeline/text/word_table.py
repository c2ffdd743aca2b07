"""A hash table of words with their stems, in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bytes, Ints, Longs
from learners.jit import njit, njit_inline
from pipeline.text.eight_bytes import copy_word, eight_bytes, first_bytes, is_same_word, same_bytes
from pipeline.text.letter_places import FIRST
from pipeline.text.main_terms import BYTE, IS_BEGINNING, PLACE, STEM_LENGTH
from pipeline.text.sip_hash import Hashes, sip_hash

MAX_KNOWN_WORDS = 1 << 17  # of one language, before a block: some ten megabytes
GROWTH = 4
ROOM = 16  # bytes behind the letters, so that sixteen can be read and written anywhere

# The columns of a word: all that is needed to find it and its stem is in one place of the memory.
HASH, FIRST_LETTERS, STEM_HASH, STEM = range(4)


class WordTable(NamedTuple):
    """A hash table of words with their stems.

    The letters of a word are stored if it has more than eight, and those of a stem if the word does
    not begin with it.
    """

    slots: Ints  # the number of a word, or 0 if the slot is empty; a power of two of them
    words: Hashes  # a row per word, from 1 on; row 0 is like no word
    letters: Bytes
    used: Longs  # how many rows and letters there are


@njit
def word_table(words: int, letters: int) -> WordTable:
    """Return a table with room for this many words and letters."""
    slots = 16
    while 2 * slots < 3 * words:
        slots *= 2
    table = WordTable(
        np.zeros(slots, np.int32),
        np.empty((words + 1, 4), np.uint64),
        np.empty(letters + ROOM, np.uint8),
        np.array([1, 0]),
    )
    table.words[0] = 0
    return table


@njit
def enlarged(known: WordTable, words: int, letters: int) -> WordTable:
    """Return a larger table of the same words, with room for this many more words and letters.

    It is much larger, so that a table grows only a few times until it has its greatest size.
    """
    size, filled = known.used[0], known.used[1]
    most = max(size, min(GROWTH * size, MAX_KNOWN_WORDS))
    larger = word_table(most + 2 * words, GROWTH * filled + 2 * letters)
    larger.words[:size] = known.words[:size]
    larger.letters[:filled] = known.letters[:filled]
    larger.used[:] = known.used
    slots, last = larger.slots, np.uint64(len(larger.slots) - 1)
    for word in range(1, size):  # all words differ, so the first free slot is the right one
        slot = known.words[word, HASH] & last
        while slots[slot] > 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = word
    return larger


@njit_inline
def is_word(
    words: Hashes, known_letters: Bytes, word: np.uint64, letters: Bytes, start: int, length: int,
    hashed: np.uint64,
) -> bool:  # fmt: skip
    """Return whether a known word is `letters[start:start + length]`, which has this hash.

    Sixteen bytes must be there in any case. So many are compared without a branch.
    """
    eight = eight_bytes(letters, start)
    eight = first_bytes(eight, length) if length < 8 else eight
    stem = words[word, np.uint64(STEM)]
    place = int(np.int64(stem >> PLACE))
    more = max(length - 8, 0)
    is_same = (
        (words[word, np.uint64(HASH)] == hashed)
        & (words[word, np.uint64(FIRST_LETTERS)] == eight)
        & (np.int64(stem & BYTE) == length)
        & (
            (length <= 8)
            | (eight_bytes(known_letters, place + more) == eight_bytes(letters, start + more))
        )
    )
    if is_same and length > 16:
        return same_bytes(known_letters, place, letters, start, length)
    return bool(is_same)


@njit_inline
def put_stem(
    words: Hashes, known_letters: Bytes, used: Longs, word: int, letters: Bytes, start: int,
    length: int, stem: Bytes, stem_length: int, is_stop_word: bool, key: Hashes,
) -> None:  # fmt: skip
    """Write what a new word becomes: its stem, which begins at 8. There must be room.

    The arrays are those of a table. To pass the table takes longer than to write a word.
    """
    place = used[1]
    copy_word(letters, start, known_letters, place, length)
    filled = place + (length if length > 8 else 0)
    is_beginning = stem_length <= length and is_same_word(stem, FIRST, letters, start, stem_length)
    stem_hash = words[word, HASH]
    if not is_beginning or stem_length < length:
        stem_hash = sip_hash(stem, FIRST, FIRST + stem_length, key)
    if is_stop_word:
        stem_length = 0
    elif not is_beginning:
        copy_word(stem, FIRST, known_letters, filled, stem_length)
        filled += stem_length
    words[word, STEM_HASH] = stem_hash
    words[word, STEM] = (
        np.uint64(length)
        | np.uint64(stem_length) << STEM_LENGTH
        | np.uint64(is_beginning) << IS_BEGINNING
        | np.uint64(place) << PLACE
    )
    used[1] = filled
