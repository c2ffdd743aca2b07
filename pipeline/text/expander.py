"""From the counted tokens of a block to its counted terms, by the ingredients of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np

from learners.arrays import Floats, Ints, Longs
from pipeline.text.characters import character_tables
from pipeline.text.encoded_documents import Documents
from pipeline.text.expansion import (
    TITLE_PREFIX,
    TITLE_WEIGHT,
    CountedTokens,
    Expansion,
    MainTerms,
    add_title_terms,
    expand,
    used_tokens,
)
from pipeline.text.known_words import KnownWords
from pipeline.text.language import READ_CHARACTERS, UNKNOWN, language_name, language_of
from pipeline.text.language_votes import LanguageVotes, Sample
from pipeline.text.merging import merged
from pipeline.text.profile import Profile, letter_lengths
from pipeline.text.sip_hash import Hashes
from pipeline.text.splitting import Splitter
from pipeline.text.stemming import Stemmer, stemmer_language
from pipeline.text.stop_words import stop_words
from pipeline.text.terms import TermTable, empty_table
from pipeline.text.word_ngrams import RowTerms, add_word_ngrams, is_run

READY = "ready-made features"  # the group of documents whose tokens stay as they are
ANY = "any language"  # the group of all others, if the profile does not ask for the language


def is_expanded(profile: Profile) -> bool:
    """Return whether the terms of a profile are more or other than the tokens of a text."""
    own = profile.stop_words not in ("none", "papers") or profile.stem != "none"
    return own or profile.letters != "none" or profile.title != "text" or profile.words > 1


class Expander:
    """Turns counted tokens into counted terms."""

    def __init__(self, profile: Profile, key: Hashes) -> None:
        self._key = key
        self._kinds = character_tables(profile.fold, profile.unspaced != "none").kinds
        self._parts = 1 if profile.title == "text" else 2
        self._has_title_terms = profile.title == "terms"
        self._profile = profile
        self._votes = LanguageVotes(key)
        self._is_auto = "auto" in (profile.stem, profile.stop_words, profile.letters)
        # At the beginning of a document, for its language.
        self.sampled_bytes = READ_CHARACTERS if self._is_auto else 0
        self._known: dict[str, KnownWords | None] = {READY: None}
        self._room = (256, 2048)  # terms and letters of the last block

    def expanded(
        self, table: TermTable, starts: Longs, tokens: Ints, values: Floats,
        documents: Documents, languages: Sequence[str | None] | None, sample: Sample,
        stop_words: int, sequence: RowTerms | None,
    ) -> tuple[TermTable, Longs, Ints, Floats]:  # fmt: skip
        """Return the terms of the documents: their table, and starts, terms and values of rows.

        The first `stop_words` tokens become nothing in texts. Terms of several words need the
        tokens in order, as a `sequence`.
        """
        found: Sequence[int] = ()
        if self._is_auto:
            found = self._votes.found(table, starts, tokens, sample)
        numbers: dict[str, int] = {}
        groups = np.array(
            [
                numbers.setdefault(name, len(numbers))
                for name in self._groups(documents, languages, found)
            ],
            np.int32,
        )
        counted = CountedTokens(starts, tokens, values, self._parts)
        terms = empty_table(*self._room, self._key)
        expansions: list[Expansion] = []
        for name, group in numbers.items():
            terms, expansion = self._expansion(
                name, group, table, counted, groups, stop_words, terms
            )
            expansions.append(expansion)
        size = int(table.size[0])
        expansion = joined(expansions)
        more = RowTerms(np.zeros(len(starts), np.int64), np.empty(0, np.int32))
        if sequence is not None:
            rows_to_tokens = np.repeat(groups.astype(np.int64) * size, self._parts)
            separates = is_run(table, self._kinds)
            words = self._profile.words
            terms, more = add_word_ngrams(
                sequence, rows_to_tokens, expansion, separates, words, terms
            )
        used = int(terms.size[0])
        self._room = (used + used // 4 + 64, int(terms.ends[used]) * 5 // 4 + 1024)
        return terms, *merged(counted, groups, size, expansion, used, TITLE_WEIGHT, *more)

    def _expansion(
        self, name: str, group: int, table: TermTable, counted: CountedTokens, groups: Ints,
        stop_words: int, terms: TermTable,
    ) -> tuple[TermTable, Expansion]:  # fmt: skip
        """Return the table with the terms of one group, and what its tokens become."""
        size = int(table.size[0])
        in_titles = used_tokens(counted, groups, group, 0, size)
        if name != READY and not groups.any():  # there is no other group
            used = np.ones(size, np.bool_)
        elif self._parts > 1:
            used = in_titles | used_tokens(counted, groups, group, 1, size)
        else:
            used = in_titles
        if name != READY:
            used[:stop_words] = in_titles[:stop_words] = False
        if name not in self._known:
            self._known[name] = known_words(self._profile, name, self._key)
        known = self._known[name]
        if known is None:
            ends = table.ends[: size + 1]
            main = MainTerms(table.letters, ends[:-1], ends[1:], table.hashes[:size])
        else:
            main = known.main_terms(table, used)
        lengths = None if name == READY else letter_lengths(self._profile.letters, name)
        shortest, longest = lengths or (1, 0)
        terms, starts, expansion = expand(table, used, main, self._kinds, shortest, longest, terms)
        title_terms = np.full(size, -1, np.int32)
        if self._has_title_terms and name != READY:
            terms, title_terms = add_title_terms(in_titles, main, TITLE_PREFIX, terms)
        return terms, Expansion(starts, expansion, title_terms)

    def _groups(
        self, documents: Documents, languages: Sequence[str | None] | None, found: Sequence[int]
    ) -> Iterator[str]:
        """Yield the group of each document: its language, as far as that matters."""
        if not self._is_auto:
            return (ANY if isinstance(document, str) else READY for document in documents)
        given = languages or repeat(None, len(documents))
        names = self._votes.names
        return (
            names[number]
            if number >= 0 and language is None
            else language_or_guess(document, language)
            if isinstance(document, str)
            else READY
            for document, language, number in zip(documents, given, found, strict=True)
        )


def language_or_guess(text: str, language: str | None) -> str:
    """Return the name of the language of a text, as given or as it looks."""
    return language_of(text) if language is None else language_name(language) or UNKNOWN


def folded_stop_words(profile: Profile, language: str) -> frozenset[str]:
    """Return the stop words of a language in the form that tokens of the profile have.

    Those that the profile splits in two are left out: their parts can be other words.
    """
    splitter = Splitter(replace(profile, unspaced="none"))
    split = map(splitter.tokens, stop_words(language))
    return frozenset(tokens[0] for tokens in split if len(tokens) == 1)


def known_words(profile: Profile, language: str, key: Hashes) -> KnownWords | None:
    """Return what becomes of the words of a language; None if they stay as they are."""
    stemmer = language if profile.stem == "auto" else profile.stem
    stopped = language if profile.stop_words == "auto" else profile.stop_words
    stops = frozenset() if stopped == "papers" else folded_stop_words(profile, stopped)
    if not stops and stemmer_language(stemmer) is None:
        return None
    return KnownWords(Stemmer(stemmer).stems, stops, key)


def joined(expansions: Sequence[Expansion]) -> Expansion:
    """Return the expansions of all groups one after another."""
    if len(expansions) == 1:
        return expansions[0]
    starts, offset = [np.zeros(1, np.int64)], 0
    for expansion in expansions:
        starts.append(expansion.starts[1:] + offset)
        offset += len(expansion.terms)
    return Expansion(
        np.concatenate(starts),
        np.concatenate([np.zeros(0, np.int32), *(one.terms for one in expansions)]),
        np.concatenate([np.zeros(0, np.int32), *(one.title_terms for one in expansions)]),
    )
