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
from pipeline.text.expansion import MainTerms, add_tokens, hashes_of, known_numbers
from pipeline.text.sip_hash import Hashes
from pipeline.text.terms import MAX_TERM_BYTES, TermTable, empty_table

Item = TypeVar("Item", bound=np.generic)

MAX_KNOWN_WORDS = 1 << 17  # of one language: some ten megabytes


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
        self._hashes: Hashes = np.zeros(64, np.uint64)

    def main_terms(self, tokens: TermTable, used: Bools) -> MainTerms:
        """Return what the used tokens of a block become."""
        numbers = known_numbers(tokens, used, self._table)
        missing = np.flatnonzero(used & (numbers < 0))
        if len(missing) and len(self) + len(missing) > MAX_KNOWN_WORDS:
            self._forget()
            missing = np.flatnonzero(used)
        if len(missing):
            numbers[missing] = np.arange(len(self), len(self) + len(missing))
            self._learn(tokens, missing)
        starts = np.where(used, self._ends[numbers], 0)
        ends = np.where(used, self._ends[numbers + 1], 0)
        return MainTerms(self._letters, starts, ends, self._hashes[numbers])

    def _learn(self, tokens: TermTable, missing: Longs) -> None:
        """Add tokens that are not known yet, in this order."""
        words = chosen_words(tokens, missing)
        stems = self._stems(words)
        if not self._stop_words.isdisjoint(words):
            stems = [
                "" if word in self._stop_words else stem
                for word, stem in zip(words, stems, strict=True)
            ]
        letters, lengths = encoded_terms(words, stems)
        first = len(self)
        self._table = add_tokens(tokens, missing, self._table)
        ends = self._ends[first] + np.cumsum(lengths, dtype=np.int64)
        self._ends = longer(self._ends, len(self) + 1)
        self._ends[first + 1 : len(self) + 1] = ends
        self._letters = longer(self._letters, int(ends[-1]))
        self._letters[self._ends[first] : ends[-1]] = np.frombuffer(letters, np.uint8)
        self._hashes = longer(self._hashes, len(self))
        self._hashes[first : len(self)] = hashes_of(
            self._letters, self._ends[first : len(self) + 1], self._key
        )


def chosen_words(tokens: TermTable, chosen: Longs) -> list[str]:
    """Return some tokens of a table as strings."""
    size = int(tokens.size[0])
    letters = tokens.letters[: tokens.ends[size]].tobytes()
    bounds = zip(tokens.ends[chosen].tolist(), tokens.ends[chosen + 1].tolist(), strict=True)
    text = letters.decode("latin-1")  # one character per byte
    words = [text[start:end] for start, end in bounds]
    if text.isascii():
        return words
    return [word if word.isascii() else word.encode("latin-1").decode() for word in words]


def encoded_terms(words: Sequence[str], stems: Sequence[str]) -> tuple[bytes, list[int]]:
    """Return the stems one after another, and their lengths in bytes; words if a stem is too long.

    No token has more bytes than a term may have.
    """
    text = "".join(stems)
    lengths = list(map(len, stems))
    if not text.isascii():
        lengths = [len(stem) if stem.isascii() else len(stem.encode()) for stem in stems]
    if max(lengths) <= MAX_TERM_BYTES:
        return text.encode(), lengths
    terms = [
        word if size > MAX_TERM_BYTES else stem
        for word, stem, size in zip(words, stems, lengths, strict=True)
    ]
    return encoded_terms(words, terms)


def longer(array: npt.NDArray[Item], least: int) -> npt.NDArray[Item]:
    """Return an array of at least this length that begins with the given one."""
    if least <= len(array):
        return array
    return np.concatenate((array, np.zeros(least, array.dtype)))
