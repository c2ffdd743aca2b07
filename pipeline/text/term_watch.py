"""Find out early that the terms of a stream can teach nothing, and say why and what helps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Longs
from pipeline.text.characters import UNSPACED_BLOCKS
from pipeline.text.features import DISTINCT, TEXTS, Vocabulary
from pipeline.text.terms import TermTable, word_of

log = logging.getLogger(__name__)

LEAST_TEXTS = 200  # before that, unique terms are no surprise
# Of the terms of a text, the share that no other text has: about 0.3 for 200 descriptions, 0.5 for
# 200 titles, and less for more texts. Clauses that are read as words: 0.7 for 200 Japanese texts,
# 0.5 for 1,000; cut into n-grams 0.1.
UNIQUE_SHARE = 0.6
UNIQUE_CLAUSES = 0.4
LEAST_TERMS = 2.0  # per text
SHORTEST_CLAUSE = 5  # letters of a script without spaces; usual n-grams have fewer
CLAUSE_SHARE = 0.05  # of the words in such a script: those that no usual n-gram is as long as
LOOKED_AT = 500  # unique terms that are looked at to find the cause


class TermStatistics(NamedTuple):
    """What is known about the terms of some texts."""

    texts: int
    terms_per_text: float
    df: Longs  # per term: texts that have it
    table: TermTable


def unspaced_letters(word: str) -> int:
    """Return how many letters of a word belong to a script without spaces.

    >>> unspaced_letters("東京都は雨です"), unspaced_letters("Qt開発"), unspaced_letters("Tokyo")
    (7, 2, 0)
    """
    points = [ord(character) for character in word]
    return sum(first <= point <= last for point in points for first, last in UNSPACED_BLOCKS)


def are_clauses(words: Sequence[str]) -> bool:
    """Return whether most words are clauses in a script without spaces, and not n-grams of one.

    Clauses of titles can be as short as n-grams, but some are longer.

    >>> are_clauses(["東京都は雨です", "東京", "晴れ", "iPhone"]), are_clauses(["東京", "京都"])
    (True, False)
    """
    lengths = [length for length in map(unspaced_letters, words) if length > 0]
    long = sum(length >= SHORTEST_CLAUSE for length in lengths)
    return 2 * len(lengths) > len(words) and long > CLAUSE_SHARE * len(lengths)


def most(words: Sequence[str], test: Callable[[str], bool]) -> bool:
    """Return whether more than half of the words pass a test."""
    return 2 * sum(map(test, words)) > len(words)


def unique_term_cause(statistics: TermStatistics, share: float) -> str | None:
    """Return why so many terms may be in one text only, and what helps; None if that is usual."""
    unique = np.flatnonzero(statistics.df == 1)[:LOOKED_AT]
    words = [word_of(statistics.table, int(term)) for term in unique]
    if share > UNIQUE_CLAUSES and are_clauses(words):
        return (
            "The texts are in a script without spaces, and whole clauses are read as words. Use a "
            "profile that cuts them into n-grams, such as news or multilingual"
        )
    if share <= UNIQUE_SHARE:
        return None
    if most(words, lambda word: any(map(str.isdigit, word))):
        return "Most of them have digits. Is the text read from a field with codes or numbers?"
    return (
        "Is the text read from the right field, and is it not encoded or encrypted? For a language "
        "with many forms of each word, use a profile with stems or n-grams, such as multilingual"
    )


def term_problems(statistics: TermStatistics) -> Iterator[str]:
    """Yield what is wrong with the terms, with the likely cause and the remedy."""
    texts = statistics.texts
    if texts < LEAST_TEXTS:
        return
    if statistics.terms_per_text < LEAST_TERMS:
        yield (
            f"{texts:,} texts have only {statistics.terms_per_text:.1f} terms each on average: is "
            "the text read from the right field, and does min_df not leave out too much? "
            "`wirerank check` shows what is read"
        )
        return
    share = int((statistics.df == 1).sum()) / max(1, int(statistics.df.sum()))
    cause = unique_term_cause(statistics, share)
    if cause is not None:
        yield (
            f"{share:.0%} of the terms of a text are in no other of {texts:,} texts, so there is "
            f"little to learn from. {cause}"
        )


def full_vocabulary(max_terms: int, texts: int) -> str:
    """Return what it means that the vocabulary is full, and what helps."""
    return (
        f"the vocabulary is full after {texts:,} texts: a quarter of its {max_terms:,} terms is "
        "dropped, with their weights, now and whenever it is full again. Raise max_terms if there "
        "is memory, or use a profile with fewer n-grams, or a higher min_df"
    )


class TermWatch:
    """Warns in the log about the terms of a stream: early, and more rarely as time goes on."""

    def __init__(self) -> None:
        self._next = LEAST_TEXTS
        self._was_full = False

    def check(self, vocabulary: Vocabulary, has_dropped: bool) -> None:
        """Warn if something is wrong. Call it after a block; say whether terms were dropped."""
        texts = int(vocabulary.arrays.totals[TEXTS])
        if has_dropped and not self._was_full:
            self._was_full = True
            log.warning("%s", full_vocabulary(vocabulary.settings.max_terms, texts))
        if texts < self._next or vocabulary.frozen:
            return
        self._next = 2 * texts
        mean = int(vocabulary.arrays.totals[DISTINCT]) / texts
        df = vocabulary.arrays.df[: len(vocabulary)]
        for problem in term_problems(TermStatistics(texts, mean, df, vocabulary.table)):
            log.warning("%s", problem)
