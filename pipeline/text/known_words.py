"""The main terms of words that have been seen: their stems, or nothing for stop words.

A stemmer takes half a microsecond per word, a search in a table of this kind a tenth of that. The
number of words has a ceiling. What a word becomes does not depend on what is known here.

In a stream new words keep coming. English ones are stemmed by the kernel that finds them to be new.
Words of other languages, and words with other letters than those of ASCII, go through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from learners.arrays import Bools, Bytes, Longs
from learners.jit import njit, njit_inline
from pipeline.text.characters import BLANK
from pipeline.text.eight_bytes import (
    HIGHEST_BITS,
    LOWEST_BITS,
    at_least,
    copy_bytes,
    eight_bytes,
    first_bytes,
)
from pipeline.text.english_stemmer import LONGEST, english_stem
from pipeline.text.letter_places import FIRST
from pipeline.text.main_terms import MainTerms
from pipeline.text.sip_hash import Hashes
from pipeline.text.terms import MAX_TERM_BYTES, TermTable, find, likely_slot, table_of
from pipeline.text.word_table import (
    FIRST_LETTERS,
    HASH,
    MAX_KNOWN_WORDS,
    ROOM,
    STEM,
    STEM_HASH,
    WordTable,
    enlarged,
    is_word,
    put_stem,
    word_table,
)

PADDING = " " * 8  # behind the stems, so that eight bytes can be read anywhere
TOGETHER = 64  # tokens that are looked up at once
FILLED = np.uint64(ord("a")) * LOWEST_BITS


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
def find_words(
    tokens: TermTable, chosen: Longs, known: WordTable, hashes: Hashes, stems: Hashes
) -> Longs:
    """Write what the chosen tokens become if they are known; return the positions of new words.

    The keys of the tables must be equal. New words get the next numbers, for which there must be
    room. What they become has to be written next.
    """
    slots, words, known_letters, used = known.slots, known.words, known.letters, known.used
    ends, letters, token_hashes = tokens.ends, tokens.letters, tokens.hashes
    last, one = np.uint64(len(slots) - 1), np.uint64(1)
    new = np.empty(len(chosen), np.int64)
    likely = np.empty(TOGETHER, np.uint64)  # the words in the first slots of some tokens
    is_found = np.empty(TOGETHER, np.bool_)
    before, count = used[0], 0
    for first in range(0, len(chosen), TOGETHER):
        # The memory is slow, but it can be asked for many places at once. So the slots of some
        # tokens are read first, and then their words, without branches that could be guessed wrong.
        size = min(TOGETHER, len(chosen) - first)
        for i in range(size):
            word = slots[token_hashes[np.uint64(chosen[np.uint64(first + i)])] & last]
            # Tokens of a block differ, so that only a word from before can be the same.
            likely[np.uint64(i)] = word if word < before else 0
        for i in range(size):
            token = np.uint64(chosen[np.uint64(first + i)])
            start, hashed = ends[token], token_hashes[token]
            length = ends[token + one] - start
            is_found[np.uint64(i)] = is_word(
                words, known_letters, likely[np.uint64(i)], letters, start, length, hashed
            )
        for i in range(size):
            position, word = np.uint64(first + i), likely[np.uint64(i)]
            if not is_found[np.uint64(i)]:
                token = np.uint64(chosen[position])
                start, hashed = ends[token], token_hashes[token]
                length = ends[token + one] - start
                slot = hashed & last
                word = np.uint64(slots[slot])
                while word > np.uint64(0) and not (
                    word < np.uint64(before)
                    and is_word(words, known_letters, word, letters, start, length, hashed)
                ):
                    slot = (slot + one) & last
                    word = np.uint64(slots[slot])
                if word == np.uint64(0):
                    word = np.uint64(before + count)
                    slots[slot] = word
                    eight = eight_bytes(letters, start)
                    words[word, HASH] = hashed
                    words[word, STEM] = 0  # like no word, if what it becomes is never written
                    words[word, FIRST_LETTERS] = first_bytes(eight, length) if length < 8 else eight
                    new[count] = position
                    count += 1
                    continue
            hashes[position] = words[word, np.uint64(STEM_HASH)]
            stems[position] = words[word, np.uint64(STEM)]
    used[0] = before + count
    return new[:count]


@njit
def put_stems(
    tokens: TermTable, chosen: Longs, new: Longs, is_english: bool, stop_words: TermTable,
    known: WordTable, hashes: Hashes, stems: Hashes,
) -> tuple[Longs, Longs]:  # fmt: skip
    """Write what new words become, except where a stem needs Python.

    The new words are the last ones of the table, which must have room. Returns the words that need
    Python, and their positions.
    """
    words, known_letters, used = known.words, known.letters, known.used
    ends, letters, key = tokens.ends, tokens.letters, tokens.key
    stop_slots, stop_hashes = stop_words.slots, stop_words.hashes
    missing, positions = np.empty(len(new), np.int64), np.empty(len(new), np.int64)
    count = 0
    stem = np.zeros(FIRST + MAX_TERM_BYTES + ROOM, np.uint8)
    first = used[0] - len(new)
    for i in range(len(new)):
        word, position = first + i, new[i]
        token = chosen[position]
        start = ends[token]
        length = ends[token + 1] - start
        stem_length = length
        copy_bytes(letters, start, stem, FIRST, length)
        if is_english and length <= LONGEST and is_plain(letters, start, start + length):
            stem_length = english_stem(stem, FIRST + length) - FIRST
        elif not is_number(letters, start, start + length):
            missing[count] = word
            positions[count] = position
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
        hashes[position] = words[word, STEM_HASH]
        stems[position] = words[word, STEM]
    return missing[:count].copy(), positions[:count].copy()


@njit
def main_terms(
    tokens: TermTable, chosen: Longs, is_english: bool, stop_words: TermTable, known: WordTable
) -> tuple[Hashes, Hashes, Longs, Longs]:
    """Return what the chosen tokens become, as hashes and packed stems.

    Those of new words whose stems need Python are not written: their words and positions come
    last. There must be room.
    """
    hashes, stems = np.empty(len(chosen), np.uint64), np.empty(len(chosen), np.uint64)
    new = find_words(tokens, chosen, known, hashes, stems)
    missing, positions = put_stems(
        tokens, chosen, new, is_english, stop_words, known, hashes, stems
    )
    return hashes, stems, missing, positions


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
    tokens: TermTable, chosen: Longs, missing: Longs, positions: Longs, text: Bytes,
    stop_words: TermTable, known: WordTable, hashes: Hashes, stems: Hashes,
) -> None:  # fmt: skip
    """Write what new words become whose stems are in the text, each with a blank behind it.

    There must be room.
    """
    words, known_letters, used = known.words, known.letters, known.used
    ends, letters, key = tokens.ends, tokens.letters, tokens.key
    stop_slots, stop_hashes = stop_words.slots, stop_words.hashes
    stem = np.zeros(FIRST + MAX_TERM_BYTES + ROOM, np.uint8)
    at = 0
    for i in range(len(missing)):
        word, position = missing[i], positions[i]
        start, end = ends[chosen[position]], ends[chosen[position] + 1]
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
        hashes[position] = words[word, STEM_HASH]
        stems[position] = words[word, STEM]


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
        self._stop_words = table_of(tuple(stop_words), key)
        self._is_english = is_english  # whether the stems are those of the English stemmer
        self._words = word_table(64, 512)

    def __len__(self) -> int:
        return int(self._words.used[0]) - 1

    def main_terms(self, tokens: TermTable, chosen: Longs, in_titles: Bools) -> MainTerms:
        """Return what the chosen tokens of a block become."""
        if len(self) > MAX_KNOWN_WORDS:
            self._words = word_table(64, 512)
        # Some letters are stored twice: those of a word, and those of its stem.
        self._make_room(len(chosen), 2 * int(tokens.ends[tokens.size[0]]))
        hashes, stems, missing, positions = main_terms(
            tokens, chosen, self._is_english, self._stop_words, self._words
        )
        if len(missing):
            text = words_to_stem(tokens, chosen[positions]).tobytes()
            given = self._stemmer(text.decode().split(" ")[:-1])
            stemmed = np.frombuffer(bytearray(" ".join((*given, PADDING)).encode()), np.uint8)
            self._make_room(0, len(text) + len(stemmed))  # in bytes; stems may be longer than words
            put_given_stems(
                tokens, chosen, missing, positions, stemmed, self._stop_words, self._words,
                hashes, stems,
            )  # fmt: skip
        return MainTerms(chosen, in_titles, hashes, stems, self._words.letters)

    def _make_room(self, words: int, letters: int) -> None:
        """Replace the table by a larger one if it lacks room for more words and letters."""
        size, filled = self._words.used.tolist()
        if size + words > len(self._words.words) or (
            filled + letters + ROOM > len(self._words.letters)
        ):
            self._words = enlarged(self._words, words, letters)
