"""The languages of ASCII texts, in compiled code: what `language.language_of` finds, but faster.

The tokens of a block are counted anyway. So each distinct token of the block is looked up among the
frequent words once, and a text is judged by its numbers. Each frequent word votes once for the
languages that have it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Bytes, Ints, Longs
from learners.jit import njit
from pipeline.text.characters import BLANK
from pipeline.text.language import (
    LATIN,
    LEAST_VOTES,
    PLAIN_LATIN,
    READ_CHARACTERS,
    UNKNOWN,
    votes_of,
)
from pipeline.text.sip_hash import Hashes, sip_hash
from pipeline.text.terms import TermTable, copied, find, likely_slot, table_of

Votes = npt.NDArray[np.uint16]
PackedVotes = npt.NDArray[np.uint64]  # four languages in each number, which never overflow

COLUMNS = 8  # of four languages each
FREE = 8  # room for words in their table, per word
UNCLEAR = -1
ELSEWHERE = -1  # found by `language_of`: not ASCII, or a word goes on behind the title


class Sample(NamedTuple):
    """The beginnings of the documents of a block, as they were counted."""

    text: Bytes
    starts: Longs  # of rows: one or two per document
    is_plain: Bools  # per document: whether its language can be found here
    entries: Longs  # per row: how many of its entries have their first word in the sample


class FrequentWords(NamedTuple):
    """The words that vote, and the votes of each word for each language."""

    table: TermTable
    votes: PackedVotes
    longest: int  # bytes of a word
    usual: int  # the language of texts with letters if it is not clear
    unknown: int  # the language of texts without letters


@njit
def word_numbers(tokens: TermTable, words: FrequentWords) -> Ints:
    """Return the number of each token among the frequent words, or -1. The keys must be equal."""
    slots, hashes = words.table.slots, words.table.hashes
    ends, token_hashes, longest = tokens.ends, tokens.hashes, words.longest
    numbers = np.full(tokens.size[0], -1, np.int32)
    for token in range(len(numbers)):
        start, end = ends[token], ends[token + 1]
        if end - start <= longest:
            hashed = token_hashes[token]
            if slots[likely_slot(slots, hashes, hashed)] >= 0:
                number = find(words.table, tokens.letters, start, end, hashed)
                numbers[token] = max(number, -1)
    return numbers


@njit
def leaders(
    sample: Sample, starts: Longs, tokens: Ints, numbers: Ints, words: FrequentWords,
    most_bytes: int, least: int,
) -> Ints:  # fmt: skip
    """Return the language of each document: that with most votes, or the usual one.

    It is `unknown` for a document without letters, and -1 for one that cannot be judged here. The
    entries of row i begin at `starts[i]`; `numbers` has the number of each token among the frequent
    words. Of each document the first `most_bytes` are read.
    """
    # Fields as variables: passing them to functions would take longer than the rest.
    votes, row_starts, sampled, text = words.votes, sample.starts, sample.entries, sample.text
    slots, hashes, key, longest = (
        words.table.slots, words.table.hashes, words.table.key, words.longest
    )  # fmt: skip
    found = np.full(len(sample.is_plain), ELSEWHERE, np.int32)
    parts = len(sampled) // max(1, len(found))
    packed = np.empty(COLUMNS, np.uint64)
    scores = packed.view(np.uint16)
    last_document = np.full(len(votes), -1, np.int64)
    voting = np.empty(most_bytes + parts + 1, np.int32)  # a word of the sample has a byte at least
    for document in range(len(found)):
        start, end = row_starts[parts * document], row_starts[parts * (document + 1)]
        title_end = row_starts[parts * document + 1]
        goes_on = (
            start < title_end < end and text[title_end - 1] != BLANK and text[title_end] != BLANK
        )
        if not sample.is_plain[document] or goes_on:
            continue
        packed[:] = 0
        count = 0
        for row in range(parts * document, parts * (document + 1)):
            for entry in range(starts[row], starts[row] + sampled[row]):
                # Other words are written, too, and then overwritten, as in `merging`.
                word = numbers[tokens[np.uint64(entry)]]
                voting[np.uint64(count)] = word
                count += word >= 0
        for word in voting[:count]:
            if last_document[word] != document:
                last_document[word] = document
                for i in range(COLUMNS):
                    packed[i] += votes[word, i]
        sample_end = start + most_bytes
        if sample_end < end and text[sample_end] != BLANK:  # it cuts a word in two
            at = sample_end
            while at > start and sample_end - at <= longest and text[at - 1] != BLANK:
                at -= 1
            if 0 < sample_end - at <= longest:
                hashed = sip_hash(text, at, sample_end, key)
                if slots[likely_slot(slots, hashes, hashed)] >= 0:
                    word = find(words.table, text, at, sample_end, hashed)
                    if word >= 0 and last_document[word] != document:
                        packed += votes[word]
        chosen = leader(scores, least)
        if chosen == UNCLEAR:
            # There are only letters of lower case, digits and blanks.
            has_letters = (text[start : min(end, sample_end)] >= ord("a")).any()
            chosen = words.usual if has_letters else words.unknown
        found[document] = chosen
    return found


@njit
def leader(scores: Votes, least: int) -> int:
    """Return the language with most votes, or -1 if it has too few or is not the only one."""
    best, times, found = np.uint16(0), 0, 0
    for language in range(len(scores)):  # without branches, which would be guessed wrong
        best = max(best, scores[language])
    for language in range(len(scores)):
        is_best = scores[language] == best
        times += is_best
        found += language * is_best
    return UNCLEAR if best < least or times > 1 else found


class LanguageVotes:
    """Finds the languages of ASCII texts."""

    def __init__(self, key: Hashes) -> None:
        votes = votes_of(LATIN)
        words = [word for word in votes.words if word.isascii()]
        counted = np.zeros((len(words), 4 * COLUMNS), np.uint16)
        counted[:, : len(votes.languages)] = [votes.counted(votes.words[word]) for word in words]
        self._words = FrequentWords(
            # Most slots are free, so that most other words are told apart at once.
            copied(table_of(words, key), np.arange(len(words)), FREE * len(words), 0),
            counted.view(np.uint64),
            max(map(len, words)),
            votes.languages.index(PLAIN_LATIN),
            len(votes.languages),
        )
        self.names = (*votes.languages, UNKNOWN)

    def found(self, tokens: TermTable, starts: Longs, counted: Ints, sample: Sample) -> Ints:
        """Return the number of each document's language in `names`, or `ELSEWHERE`."""
        numbers = word_numbers(tokens, self._words)
        return leaders(sample, starts, counted, numbers, self._words, READ_CHARACTERS, LEAST_VOTES)
