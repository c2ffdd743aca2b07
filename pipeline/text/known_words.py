"""The main terms of words that have been seen: their stems, or nothing for stop words.

A stemmer takes about a microsecond per word, a search in a table of this kind a twentieth of that.
The number of words has a ceiling. What a word becomes does not depend on what is known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Bytes, Longs
from pipeline.text.expansion import MainTerms, add_tokens, known_numbers
from pipeline.text.sip_hash import Hashes
from pipeline.text.terms import MAX_TERM_BYTES, TermTable, empty_table, word_of

Item = TypeVar("Item", bound=np.generic)

MAX_KNOWN_WORDS = 1 << 16  # of one language


class KnownWords:
    """The words of one language, and what they become."""

    def __init__(
        self, stems: Callable[[Sequence[str]], list[str]], stop_words: frozenset[str], key: Hashes
    ) -> None:
        self._stems = stems
        self._stop_words = stop_words
        self._key = key
        self._forget()

    def __len__(self) -> int:
        return int(self._table.size[0])

    def _forget(self) -> None:
        self._table = empty_table(64, 512, self._key)
        self._letters: Bytes = np.empty(512, np.uint8)  # of the main terms; longer than in use
        self._ends: Longs = np.zeros(65, np.int64)

    def main_terms(self, tokens: TermTable, used: Bools) -> MainTerms:
        """Return what the used tokens of a block become."""
        numbers = known_numbers(tokens, used, self._table)
        missing = np.flatnonzero(used & (numbers < 0))
        if len(missing) and len(self) + len(missing) > MAX_KNOWN_WORDS:
            self._forget()
            missing = np.flatnonzero(used)
        if len(missing):
            self._learn(tokens, missing)
            numbers = known_numbers(tokens, used, self._table)
        starts = np.where(used, self._ends[numbers], 0)
        ends = np.where(used, self._ends[numbers + 1], 0)
        return MainTerms(self._letters, starts, ends)

    def _learn(self, tokens: TermTable, missing: Longs) -> None:
        """Add tokens that are not known yet."""
        words = [word_of(tokens, int(token)) for token in missing]
        terms = [
            b"" if word in self._stop_words else self._main_term(word, stem)
            for word, stem in zip(words, self._stems(words), strict=True)
        ]
        first = len(self)
        self._table = add_tokens(tokens, missing, self._table)
        ends = self._ends[first] + np.cumsum(list(map(len, terms)), dtype=np.int64)
        self._ends = longer(self._ends, len(self) + 1)
        self._ends[first + 1 : len(self) + 1] = ends
        self._letters = longer(self._letters, int(ends[-1]))
        self._letters[self._ends[first] : ends[-1]] = np.frombuffer(b"".join(terms), np.uint8)

    def _main_term(self, word: str, stem: str) -> bytes:
        encoded = stem.encode()
        return encoded if len(encoded) <= MAX_TERM_BYTES else word.encode()


def longer(array: npt.NDArray[Item], least: int) -> npt.NDArray[Item]:
    """Return an array of at least this length that begins with the given one."""
    if least <= len(array):
        return array
    return np.concatenate((array, np.zeros(least, array.dtype)))
