"""The main terms of words that have been seen: their stems, or nothing for stop words.

A stemmer takes half a microsecond per word, a search in a table of this kind a tenth of that. The
number of words has a ceiling. What a word becomes does not depend on what is known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from learners.arrays import Bools, Bytes, Ints, Longs
from learners.jit import njit, njit_inline
from pipeline.text.characters import BLANK
from pipeline.text.eight_bytes import copy_bytes, same_bytes
from pipeline.text.expansion import MainTerms, with_room
from pipeline.text.sip_hash import Hashes, sip_hash
from pipeline.text.terms import (
    MAX_TERM_BYTES,
    TermTable,
    empty_table,
    find,
    intern,
    likely_slot,
    table_of,
)

MAX_KNOWN_WORDS = 1 << 17  # of one language: some ten megabytes
PADDING = " " * 8  # behind the stems, so that eight bytes can be read anywhere
NOTHING = -1  # what a stop word becomes


@njit
def known_stems(
    tokens: TermTable, chosen: Longs, known: TermTable, stems: Ints
) -> tuple[Ints, Longs]:
    """Return the stem of each chosen token, and the positions of those that are not known.

    The keys of the tables must be equal. `stems` has the stem of each known word.
    """
    slots, hashes, ends, letters = known.slots, known.hashes, known.ends, known.letters
    token_ends, token_letters, token_hashes = tokens.ends, tokens.letters, tokens.hashes
    found = np.full(len(chosen), NOTHING, np.int32)
    missing = np.empty(len(chosen) + 1, np.int64)
    count = 0
    for i in range(len(chosen)):
        token = chosen[i]
        start, hashed = token_ends[token], token_hashes[token]
        length = token_ends[token + 1] - start
        word = np.int64(slots[likely_slot(slots, hashes, hashed)])
        if word >= 0 and (
            ends[word + 1] - ends[word] != length
            or not same_bytes(letters, ends[word], token_letters, start, length)
        ):
            word = np.int64(find(known, token_letters, start, start + length, hashed))
        missing[count] = i
        if word >= 0:
            found[i] = stems[word]
        else:
            count += 1
    return found, missing[:count].copy()


@njit_inline
def is_number(letters: Bytes, start: int, end: int) -> bool:
    """Return whether a token has no other characters than 0 to 9: no stemmer changes it."""
    at = start
    while at < end and ord("0") <= letters[at] <= ord("9"):
        at += 1
    return at == end


@njit
def words_to_stem(tokens: TermTable, chosen: Longs) -> Bytes:
    """Return the chosen tokens that a stemmer may change, each with a blank behind it."""
    ends, letters = tokens.ends, tokens.letters
    most = 0
    for token in chosen:
        most += ends[token + 1] - ends[token] + 1
    text = np.empty(most, np.uint8)
    filled = 0
    for token in chosen:
        start, end = ends[token], ends[token + 1]
        if not is_number(letters, start, end):
            for i in range(end - start):
                text[filled + i] = letters[start + i]
            filled += end - start
            text[filled] = BLANK
            filled += 1
    return text[:filled]


@njit
def add_words(
    tokens: TermTable, chosen: Longs, text: Bytes, stop_words: TermTable, known: TermTable,
    stems: TermTable, numbers: Ints,
) -> tuple[TermTable, TermTable, Ints]:  # fmt: skip
    """Return the known words with the chosen tokens, the stems, and the number of each word's stem.

    The text has the stems of `words_to_stem`, each with a blank behind it.
    """
    letters = 0
    for token in chosen:
        letters += tokens.ends[token + 1] - tokens.ends[token]
    known = with_room(known, len(chosen), letters)
    # An own word can take the place of its stem, which is too long then.
    stems = with_room(stems, len(chosen), letters + len(text))
    size = known.size[0]
    if len(numbers) < size + len(chosen):
        numbers = np.concatenate((numbers, np.empty(size + len(chosen), np.int32)))
    put_words(tokens, chosen, text, stop_words, known, stems, numbers)
    return known, stems, numbers


@njit
def put_words(
    tokens: TermTable, chosen: Longs, text: Bytes, stop_words: TermTable, known: TermTable,
    stems: TermTable, numbers: Ints,
) -> None:  # fmt: skip
    """Add the chosen tokens to the known words. There must be room."""
    ends, letters, hashes, key = tokens.ends, tokens.letters, tokens.hashes, tokens.key
    slots, known_hashes, known_ends, known_letters = (
        known.slots, known.hashes, known.ends, known.letters
    )  # fmt: skip
    stem_slots, stem_hashes, stem_ends, stem_letters, stem_size = (
        stems.slots, stems.hashes, stems.ends, stems.letters, stems.size
    )  # fmt: skip
    stop_slots, stop_hashes = stop_words.slots, stop_words.hashes
    last_slot = np.uint64(len(slots) - 1)
    word = known.size[0]
    known.size[0] += len(chosen)
    stem = np.empty(MAX_TERM_BYTES + 8, np.uint8)
    at = 0
    for token in chosen:
        start, end, hashed = ends[token], ends[token + 1], hashes[token]
        slot = hashed & last_slot
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last_slot
        copy_bytes(letters, start, known_letters, known_ends[word], end - start)
        known_hashes[word] = hashed
        known_ends[word + 1] = known_ends[word] + end - start
        slots[slot] = word
        length = 0
        if not is_number(letters, start, end):
            first = at
            while text[at] != BLANK:
                at += 1
            length = at - first
            at += 1
            if length <= MAX_TERM_BYTES:
                copy_bytes(text, first, stem, 0, length)
        if length == 0 or length > MAX_TERM_BYTES:
            length = end - start
            copy_bytes(letters, start, stem, 0, length)
        if (
            stop_slots[likely_slot(stop_slots, stop_hashes, hashed)] >= 0
            and find(stop_words, letters, start, end, hashed) >= 0
        ):
            numbers[word] = NOTHING
        else:
            hashed = sip_hash(stem, 0, length, key)
            slot = likely_slot(stem_slots, stem_hashes, hashed)
            number = np.int64(stem_slots[slot])
            if number < 0:
                number = stem_size[0]
                offset = stem_ends[number]
                copy_bytes(stem, 0, stem_letters, offset, length)
                stem_hashes[number] = hashed
                stem_ends[number + 1] = offset + length
                stem_slots[slot] = number
                stem_size[0] = number + 1
            elif stem_ends[number + 1] - stem_ends[number] != length or not same_bytes(
                stem_letters, stem_ends[number], stem, 0, length
            ):
                number = np.int64(intern(stems, stem, 0, length))
            numbers[word] = number
        word += 1


class KnownWords:
    """The words of one language, and what they become."""

    def __init__(
        self, stems: Callable[[Sequence[str]], list[str]], stop_words: frozenset[str], key: Hashes
    ) -> None:
        self._stemmer = stems
        self._stop_words = table_of(sorted(stop_words), key)
        self._key = key
        self._forget()

    def __len__(self) -> int:
        return int(self._words.size[0])

    def _forget(self) -> None:
        self._words = empty_table(64, 512, self._key)
        self._stems = empty_table(64, 512, self._key)
        self._numbers: Ints = np.empty(64, np.int32)  # per word: its stem; longer than in use

    def main_terms(self, tokens: TermTable, chosen: Longs, in_titles: Bools) -> MainTerms:
        """Return what the chosen tokens of a block become."""
        numbers, missing = known_stems(tokens, chosen, self._words, self._numbers)
        if len(missing) and len(self) + len(missing) > MAX_KNOWN_WORDS:
            self._forget()
            missing = np.arange(len(chosen))
        if len(missing):
            first = len(self)
            self._learn(tokens, chosen[missing])
            numbers[missing] = self._numbers[first : len(self)]
        return MainTerms(chosen, in_titles, self._stems, numbers)

    def _learn(self, tokens: TermTable, missing: Longs) -> None:
        """Add tokens that are not known yet, in this order."""
        text = words_to_stem(tokens, missing).tobytes().decode()
        stems = self._stemmer(text.split(" ")[:-1])
        stemmed = np.frombuffer(bytearray(" ".join((*stems, PADDING)).encode()), np.uint8)
        self._words, self._stems, self._numbers = add_words(
            tokens, missing, stemmed, self._stop_words, self._words, self._stems, self._numbers
        )
