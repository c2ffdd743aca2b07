"""Stop words by language: frequent words that say little about what a text is about.

The lists are those of the package stopwordsiso (MIT licence), which collects published lists of
many languages. They are in lower case and composed form (NFC), like text before it is split, so
whoever folds text further must fold them too.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

from pipeline.text.language import CODES, language_name

CACHED_LISTS = 16


@cache
def listed() -> dict[str, str]:
    """Return the codes of all languages with a list, by name."""
    import stopwordsiso  # noqa: PLC0415 - reads all lists

    return {name: code for code, name in CODES.items() if stopwordsiso.has_lang(code)}


def stop_word_language(text: str) -> str | None:
    """Return a language with stop words, given by name or code; None if there is none.

    >>> stop_word_language("de"), stop_word_language("lao")
    ('german', None)
    """
    name = language_name(text)
    return name if name in listed() else None


@lru_cache(CACHED_LISTS)
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language; none if there is no list.

    >>> "the" in stop_words("english"), stop_words("unknown")
    (True, frozenset())
    """
    import stopwordsiso  # noqa: PLC0415 - reads all lists

    name = stop_word_language(language)
    if name is None:
        return frozenset()
    words = "\n".join(stopwordsiso.stopwords(listed()[name]))  # at once, which is faster
    return frozenset(unicodedata.normalize("NFC", words.lower()).split("\n"))
