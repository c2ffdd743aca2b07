"""The languages of ASCII texts, in compiled code: what `language.language_of` finds, but faster.

The tokenizer has the words of such texts with blanks between them, in one array. Each frequent word
votes once for the languages that have it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.arrays import Bytes, Ints, Longs
from learners.jit import njit
from pipeline.text.characters import BLANK
from pipeline.text.language import LATIN, LEAST_VOTES, READ_CHARACTERS, votes_of
from pipeline.text.sip_hash import Hashes, sip_hash
from pipeline.text.terms import TermTable, find, table_of


@njit
def leaders(
    text: Bytes, starts: Longs, ends: Longs, table: TermTable, votes: Longs, least: int
) -> Ints:
    """Return the language with most votes for each text, or -1 if it is not clear.

    Text i is `text[starts[i]:ends[i]]`. Word w of the table has the votes `votes[w]`, one number
    per language.
    """
    found = np.full(len(starts), -1, np.int32)
    longest = 0  # bytes of a word that votes
    for word in range(len(votes)):
        longest = max(longest, table.ends[word + 1] - table.ends[word])
    scores = np.empty(votes.shape[1], np.int64)
    last_row = np.full(len(votes), -1, np.int64)
    key = table.key
    for row in range(len(starts)):
        scores[:] = 0
        at, end = starts[row], ends[row]
        while at < end:
            while at < end and text[at] == BLANK:
                at += 1
            start = at
            while at < end and text[at] != BLANK:
                at += 1
            if not start < at <= start + longest:
                continue
            word = find(table, text, start, at, sip_hash(text, start, at, key))
            if word >= 0 and last_row[word] != row:
                last_row[word] = row
                for language in range(len(scores)):
                    scores[language] += votes[word, language]
        best, times = 0, 0
        for language in range(len(scores)):
            if scores[language] > best:
                best, times = scores[language], 1
                found[row] = language
            elif scores[language] == best:
                times += 1
        if best < least or times > 1:
            found[row] = -1
    return found


class LanguageVotes:
    """Finds the languages of ASCII texts."""

    def __init__(self, key: Hashes) -> None:
        votes = votes_of(LATIN)
        words = [word for word in votes.words if word.isascii()]
        self._table = table_of(words, key)
        self._votes = np.array([votes.counted(votes.words[word]) for word in words], np.int64)
        self._languages = votes.languages

    def found(self, text: Bytes, starts: Longs, ends: Longs) -> Sequence[str | None]:
        """Return the language of each text, None if it is not clear. They are in lower case."""
        ends = np.minimum(ends, starts + READ_CHARACTERS)
        chosen = leaders(text, starts, ends, self._table, self._votes, LEAST_VOTES)
        names = (*self._languages, None)
        return [names[number] for number in chosen.tolist()]
