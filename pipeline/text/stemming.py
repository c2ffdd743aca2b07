"""Stems of words, by the stemmers of the Snowball project.

A stem stands for the forms of a word: `prices`, `price` and `priced` are all `price`. The rules are
those of the library PyStemmer, which is Snowball's own code in C.
"""

from __future__ import annotations

from collections.abc import Sequence

import Stemmer as snowball  # noqa: N813 - a module in spite of its name

from pipeline.text.language import language_name

NOT_CACHED = 0  # whoever stems keeps the stems; a full cache of the library is slow
# Variants of a language that Snowball has beside the recommended stemmer.
VARIANTS = ("dutch_porter", "porter")
STEMMED = tuple(name for name in snowball.algorithms() if name not in VARIANTS)


def stemmer_language(text: str) -> str | None:
    """Return the stemmer of a language, given by name or code; None if there is none.

    >>> stemmer_language("de"), stemmer_language("porter"), stemmer_language("thai")
    ('german', 'porter', None)
    """
    name = text if text in VARIANTS else language_name(text)
    return name if name in (*STEMMED, *VARIANTS) else None


class Stemmer:
    """Cuts the words of one language to their stems; words of other languages stay as they are.

    Examples
    --------
    >>> Stemmer("english").stems(["prices", "rose", "sharply"])
    ['price', 'rose', 'sharpli']
    >>> Stemmer("thai").stems(["ราคา"])
    ['ราคา']

    """

    def __init__(self, language: str) -> None:
        self.language = language
        name = stemmer_language(language)
        self._stemmer = None if name is None else snowball.Stemmer(name, NOT_CACHED)

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word. A word whose stem would be empty stays as it is."""
        if self._stemmer is None:
            return list(words)
        stems: list[str] = self._stemmer.stemWords(words)
        if "" not in stems:
            return stems
        return [stem or word for stem, word in zip(stems, words, strict=True)]
