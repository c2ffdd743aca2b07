"""From a text to its tokens with blanks between them, by the ingredients of a profile."""

from __future__ import annotations

import numpy as np

from learners.arrays import Bytes
from pipeline.text.characters import ASCII_WORDS, character_kinds, character_tables
from pipeline.text.folding import folded_text
from pipeline.text.profile import Profile, ngram_lengths
from pipeline.text.scan import ScanOptions, blanked, scanned

NUMBER = "<number>"


def encoded(text: str) -> Bytes:
    """Return a text as bytes for kernels. Half characters become question marks."""
    return np.frombuffer(bytearray(text.encode("utf-8", "replace")), np.uint8)


class Splitter:
    """Splits texts by one profile.

    Examples
    --------
    >>> from pipeline.text.profile import parse_profile
    >>> Splitter(parse_profile("reuters2000")).tokens("U.S. oil-price 3.5%")
    ['u', 's', 'oil', 'price', '3', '5']
    >>> Splitter(parse_profile("reuters2000:unspaced=2")).tokens("iPhone15を買う")
    ['iphone15', 'を買', '買う']

    """

    def __init__(self, profile: Profile) -> None:
        self._fold = profile.fold
        self._number = encoded(NUMBER)
        join, one_number = profile.split == "join", profile.numbers == "one"
        lengths = ngram_lengths(profile.unspaced)
        self._options = ScanOptions(join, one_number, *(lengths or (1, 0)))
        self.is_translated = not join and not one_number  # if the text is ASCII
        self._is_blanked = profile.fold == "none" and lengths is None and join == one_number

    def blanked(self, text: str) -> bytes:
        """Return the tokens of a text with one or more blanks between them."""
        if self.is_translated and text.isascii():
            return text.encode().translate(ASCII_WORDS)
        letters = encoded(folded_text(text, self._fold))
        if self._is_blanked:
            join = self._options.join
            return blanked(letters, character_kinds(), join, self._number).tobytes()
        tables = character_tables(self._fold, self._options.longest > 0)
        return scanned(letters, tables, self._options, self._number).tobytes()

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text in order, also those that are too long for a term."""
        return [token.decode() for token in self.blanked(text).split()]
