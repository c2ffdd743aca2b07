"""The main terms of words that have been seen: their stems, or nothing for stop words.

A stemmer takes half a microsecond per word, a search in a table of this kind a tenth of that. The
number of words has a ceiling. What a word becomes does not depend on what is known here.

In a stream new words keep coming. English ones are stemmed by the kernel that finds them to be new.
Words of other languages, and words with other letters than those of ASCII, go through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Ints, Longs
from learners.jit import njit, njit_inline
from pipeline.text.characters import BLANK
from pipeline.text.eight_bytes import (
    HIGHEST_BITS,
    LOWEST_BITS,
    at_least,
    copy_bytes,
    eight_bytes,
    first_bytes,
    same_bytes,
)
from pipeline.text.english_stemmer import LONGEST, english_stem
from pipeline.text.expansion import MainTerms
from pipeline.text.letter_places import FIRST
from pipeline.text.sip_hash import Hashes, sip_hash
from pipeline.text.terms import MAX_TERM_BYTES, TermTable, find, likely_slot, table_of

MAX_KNOWN_WORDS = 1 << 17  # of one language, before a block: some ten megabytes
PADDING = " " * 8  # behind the stems, so that eight bytes can be read anywhere
NOTHING = -1  # what a stop word becomes
ROOM = 8  # bytes behind the letters, so that eight can be read and written anywhere

# The columns of a word: all that is needed to find it and its stem is in one place of the memory.
HASH, FIRST_LETTERS, STEM_HASH, LENGTHS = range(4)
# The lengths of the word and of its stem, in bytes, whether the word begins with the stem, and from
# which bit on there is the place of its letters.
STEM_LENGTH, IS_BEGINNING, PLACE = np.uint64(8), np.uint64(16), np.uint64(17)
BYTE = np.uint64(255)
FILLED = np.uint64(ord("a")) * LOWEST_BITS


class WordTable(NamedTuple):
    """A hash table of words with their stems.

    The letters of a word are stored if it has more than eight, and those of a stem if the word does
    not begin with it.
    """

    slots: Ints  # the number of a word, or -1 if the slot is empty; a power of two of them
    words: Hashes  # a row per word
    letters: Bytes
    used: Longs  # how many words and letters there are


@njit
def word_table(words: int, letters: int) -> WordTable:
    """Return a table with room for this many words and letters."""
    slots = 16
    while slots < 2 * words:
        slots *= 2
    return WordTable(
        np.full(slots, -1, np.int32),
        np.empty((words, 4), np.uint64),
        np.empty(letters + ROOM, np.uint8),
        np.zeros(2, np.int64),
    )


@njit
def with_room(known: WordTable, words: int, letters: int) -> WordTable:
    """Return the table, or one of twice the size if it lacks room for more words and letters."""
    size, filled = known.used[0], known.used[1]
    if size + words <= len(known.words) and filled + letters + ROOM <= len(known.letters):
        return known
    larger = word_table(2 * size + words, 2 * filled + letters)
    larger.words[:size] = known.words[:size]
    larger.letters[:filled] = known.letters[:filled]
    larger.used[:] = known.used
    slots, last = larger.slots, np.uint64(len(larger.slots) - 1)
    for word in range(size):  # all words differ, so the first free slot is the right one
        slot = known.words[word, HASH] & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = word
    return larger


@njit_inline
def is_number(letters: Bytes, start: int, end: int) -> bool:
    """Return whether a token has no other characters than 0 to 9: no stemmer changes it."""
    at = start
    while at < end and ord("0") <= letters[at] <= ord("9"):
        at += 1
    return at == end


@njit_inline
def is_plain(letters: Bytes, start: int, end: int) -> bool:
    """Return whether a token has only letters of ASCII, of lower case, and digits.

    Eight bytes must be there in any case.
    """
    are_plain = HIGHEST_BITS
    for at in range(start, end, 8):
        eight = eight_bytes(letters, at)
        if end - at < 8:
            eight = first_bytes(eight, end - at) | FILLED & ~first_bytes(FILLED, end - at)
        are_plain &= ~eight & (
            at_least(eight, ord("a")) & ~at_least(eight, ord("z") + 1)
            | at_least(eight, ord("0")) & ~at_least(eight, ord("9") + 1)
        )
    return bool(are_plain == HIGHEST_BITS)


@njit
def find_words(tokens: TermTable, chosen: Longs, known: WordTable) -> tuple[Ints, Longs]:
    """Return the word of each chosen token, and the positions of those that are new.

    The keys of the tables must be equal. New words get numbers, for which there must be room; what
    they become has to be written next.
    """
    slots, words, known_letters, used = known.slots, known.words, known.letters, known.used
    ends, letters, hashes = tokens.ends, tokens.letters, tokens.hashes
    last = np.uint64(len(slots) - 1)
    found = np.empty(len(chosen), np.int32)
    new = np.empty(len(chosen) + 1, np.int64)
    count, before = 0, used[0]
    for i in range(len(chosen)):
        token = chosen[i]
        start, hashed = ends[token], hashes[token]
        length = ends[token + 1] - start
        first_letters = eight_bytes(letters, start)
        if length < 8:
            first_letters = first_bytes(first_letters, length)
        slot = hashed & last
        word = np.int64(slots[slot])
        while word >= 0:
            # Tokens of a block differ, so that only a word from before can be the same.
            if (
                words[word, HASH] == hashed
                and words[word, FIRST_LETTERS] == first_letters
                and word < before
            ):
                lengths = words[word, LENGTHS]
                if np.int64(lengths & BYTE) == length and (
                    length <= 8
                    or same_bytes(
                        known_letters, int(np.int64(lengths >> PLACE)), letters, start, length
                    )
                ):
                    break
            slot = (slot + np.uint64(1)) & last
            word = np.int64(slots[slot])
        if word < 0:
            word = before + count
            slots[slot] = word
            words[word, HASH] = hashed
            words[word, FIRST_LETTERS] = first_letters
            new[count] = i
            count += 1
        found[i] = word
    used[0] = before + count
    return found, new[:count].copy()


@njit_inline
def put_stem(
    words: Hashes, known_letters: Bytes, used: Longs, word: int, letters: Bytes, start: int,
    length: int, stem: Bytes, stem_length: int, is_stop_word: bool, key: Hashes,
) -> None:  # fmt: skip
    """Write what a new word becomes: its stem, which begins at 8. There must be room.

    The arrays are those of a table. To pass the table takes longer than to write a word.
    """
    place = used[1]
    filled = place
    if length > 8:
        copy_bytes(letters, start, known_letters, filled, length)
        filled += length
    is_beginning = stem_length <= length and same_bytes(stem, FIRST, letters, start, stem_length)
    stem_hash = words[word, HASH]
    if not is_beginning or stem_length < length:
        stem_hash = sip_hash(stem, FIRST, FIRST + stem_length, key)
    if is_stop_word:
        stem_length = 0
    elif not is_beginning:
        copy_bytes(stem, FIRST, known_letters, filled, stem_length)
        filled += stem_length
    words[word, STEM_HASH] = stem_hash
    words[word, LENGTHS] = (
        np.uint64(length)
        | np.uint64(stem_length) << STEM_LENGTH
        | np.uint64(is_beginning) << IS_BEGINNING
        | np.uint64(place) << PLACE
    )
    used[1] = filled


@njit
def put_stems(
    tokens: TermTable, chosen: Longs, found: Ints, new: Longs, is_english: bool,
    stop_words: TermTable, known: WordTable,
) -> Longs:  # fmt: skip
    """Write what new words become, except where a stem needs Python; return those positions.

    There must be room.
    """
    words, known_letters, used = known.words, known.letters, known.used
    ends, letters, key = tokens.ends, tokens.letters, tokens.key
    stop_slots, stop_hashes = stop_words.slots, stop_words.hashes
    missing = np.empty(len(new), np.int64)
    count = 0
    stem = np.zeros(FIRST + MAX_TERM_BYTES + ROOM, np.uint8)
    for i in new:
        word, start = int(found[i]), ends[chosen[i]]
        length = ends[chosen[i] + 1] - start
        stem_length = length
        copy_bytes(letters, start, stem, FIRST, length)
        if is_english and length <= LONGEST and is_plain(letters, start, start + length):
            stem_length = english_stem(stem, FIRST + length) - FIRST
        elif not is_number(letters, start, start + length):
            missing[count] = i
            count += 1
            continue
        hashed = words[word, HASH]
        is_stop_word = (
            stop_slots[likely_slot(stop_slots, stop_hashes, hashed)] >= 0
            and find(stop_words, letters, start, start + length, hashed) >= 0
        )
        put_stem(
            words, known_letters, used, word, letters, start, length, stem, stem_length,
            is_stop_word, key,
        )  # fmt: skip
    return missing[:count].copy()


@njit
def words_to_stem(tokens: TermTable, chosen: Longs) -> Bytes:
    """Return the chosen tokens, each with a blank behind it."""
    ends, letters = tokens.ends, tokens.letters
    most = 0
    for token in chosen:
        most += ends[token + 1] - ends[token] + 1
    text = np.empty(most, np.uint8)
    filled = 0
    for token in chosen:
        for i in range(ends[token], ends[token + 1]):
            text[filled] = letters[i]
            filled += 1
        text[filled] = BLANK
        filled += 1
    return text


@njit
def put_given_stems(
    tokens: TermTable, chosen: Longs, found: Ints, missing: Longs, text: Bytes,
    stop_words: TermTable, known: WordTable,
) -> None:  # fmt: skip
    """Write what new words become whose stems are in the text, each with a blank behind it.

    There must be room.
    """
    words, known_letters, used = known.words, known.letters, known.used
    ends, letters, key = tokens.ends, tokens.letters, tokens.key
    stop_slots, stop_hashes = stop_words.slots, stop_words.hashes
    stem = np.zeros(FIRST + MAX_TERM_BYTES + ROOM, np.uint8)
    at = 0
    for i in missing:
        word, start, end = int(found[i]), ends[chosen[i]], ends[chosen[i] + 1]
        first = at
        while text[at] != BLANK:
            at += 1
        length = at - first
        at += 1
        if 0 < length <= MAX_TERM_BYTES:
            copy_bytes(text, first, stem, FIRST, length)
        else:
            length = end - start
            copy_bytes(letters, start, stem, FIRST, length)
        hashed = words[word, HASH]
        is_stop_word = (
            stop_slots[likely_slot(stop_slots, stop_hashes, hashed)] >= 0
            and find(stop_words, letters, start, end, hashed) >= 0
        )
        put_stem(
            words, known_letters, used, word, letters, start, end - start, stem, length,
            is_stop_word, key,
        )  # fmt: skip


@njit
def stems_in_order(
    tokens: TermTable, chosen: Longs, found: Ints, known: WordTable
) -> tuple[TermTable, Ints]:
    """Return the stems of words one after another, and the number of each or -1 for nothing.

    The table of the stems has no slots: nothing is looked up in it.
    """
    words, known_letters = known.words, known.letters
    token_ends, token_letters = tokens.ends, tokens.letters
    count = len(chosen)
    most = ROOM
    for i in range(count):
        most += int(np.int64(words[found[i], LENGTHS] >> STEM_LENGTH & BYTE))
    hashes = np.empty(count, np.uint64)
    ends = np.empty(count + 1, np.int64)
    letters = np.empty(most, np.uint8)
    numbers = np.empty(count, np.int32)
    filled = 0
    for i in range(count):
        word = found[i]
        lengths = words[word, LENGTHS]
        length = int(np.int64(lengths >> STEM_LENGTH & BYTE))
        hashes[i] = words[word, STEM_HASH]
        ends[i] = filled
        numbers[i] = i if length > 0 else NOTHING
        if lengths >> IS_BEGINNING & np.uint64(1):
            copy_bytes(token_letters, token_ends[chosen[i]], letters, filled, length)
        else:
            place = int(np.int64(lengths >> PLACE))
            word_length = int(np.int64(lengths & BYTE))
            if word_length > 8:
                place += word_length
            copy_bytes(known_letters, place, letters, filled, length)
        filled += length
    ends[count] = filled
    table = TermTable(
        np.empty(0, np.int32), hashes, ends, letters, np.full(1, count, np.int64), tokens.key
    )
    return table, numbers


class KnownWords:
    """The words of one language, and what they become."""

    def __init__(
        self,
        stems: Callable[[Sequence[str]], list[str]],
        stop_words: frozenset[str],
        key: Hashes,
        is_english: bool = False,
    ) -> None:
        self._stemmer = stems
        self._stop_words = table_of(sorted(stop_words), key)
        self._is_english = is_english  # whether the stems are those of the English stemmer
        self._words = word_table(64, 512)

    def __len__(self) -> int:
        return int(self._words.used[0])

    def main_terms(self, tokens: TermTable, chosen: Longs, in_titles: Bools) -> MainTerms:
        """Return what the chosen tokens of a block become."""
        if len(self) > MAX_KNOWN_WORDS:
            self._words = word_table(64, 512)
        # Some letters are stored twice: those of a word, and those of its stem.
        letters = 2 * int(tokens.ends[tokens.size[0]])
        self._words = with_room(self._words, len(chosen), letters)
        found, new = find_words(tokens, chosen, self._words)
        missing = put_stems(
            tokens, chosen, found, new, self._is_english, self._stop_words, self._words
        )
        if len(missing):
            self._learn(tokens, chosen, found, missing)
        return MainTerms(chosen, in_titles, *stems_in_order(tokens, chosen, found, self._words))

    def _learn(self, tokens: TermTable, chosen: Longs, found: Ints, missing: Longs) -> None:
        """Write what new words become whose stems need Python."""
        text = words_to_stem(tokens, chosen[missing]).tobytes().decode()
        stems = self._stemmer(text.split(" ")[:-1])
        stemmed = np.frombuffer(bytearray(" ".join((*stems, PADDING)).encode()), np.uint8)
        self._words = with_room(self._words, 0, len(text) + len(stemmed))
        put_given_stems(tokens, chosen, found, missing, stemmed, self._stop_words, self._words)
