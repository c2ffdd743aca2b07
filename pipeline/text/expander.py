"""From the counted tokens of a block to its counted terms, by the ingredients of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from pipeline.text.characters import character_tables
from pipeline.text.encoded_documents import Documents
from pipeline.text.expansion import (
    TITLE_PREFIX,
    TITLE_WEIGHT,
    CountedTokens,
    Expansion,
    add_letter_ngrams,
    add_main_terms,
    add_title_terms,
    chosen_tokens,
)
from pipeline.text.known_words import KnownWords
from pipeline.text.language import READ_CHARACTERS, UNKNOWN, language_name, language_of
from pipeline.text.language_votes import ELSEWHERE, LanguageVotes, Sample
from pipeline.text.main_terms import MainTerms, unchanged
from pipeline.text.merging import merged
from pipeline.text.profile import Profile, letter_lengths
from pipeline.text.sip_hash import Hashes
from pipeline.text.splitting import Splitter
from pipeline.text.stemming import Stemmer, stemmer_language
from pipeline.text.stop_words import stop_words
from pipeline.text.terms import TermTable, empty_table
from pipeline.text.word_ngrams import RowTerms, add_word_ngrams, is_run

READY = "ready-made features"  # the group of documents whose tokens stay as they are
BETWEEN_STOP_WORDS = "x" * 8  # no stop word
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
        self._names = list(self._votes.names) if self._is_auto else [ANY]  # of groups, by code
        self._room = (256, 2048)  # terms and letters of the last block

    def expanded(
        self, table: TermTable, starts: Longs, tokens: Ints, values: Floats,
        documents: Documents, is_ready: Bools, languages: Sequence[str | None] | None,
        sample: Sample, stop_words: int, sequence: RowTerms | None,
    ) -> tuple[TermTable, Longs, Ints, Floats]:  # fmt: skip
        """Return the terms of the documents: their table, and starts, terms and values of rows.

        Documents that are ready are features. The first `stop_words` tokens become nothing in
        texts. Terms of several words need the tokens in order, as a `sequence`.
        """
        codes = np.zeros(len(documents), np.int32)
        if self._is_auto:
            codes = self._votes.found(table, starts, tokens, sample)
        self._find_other_groups(documents, languages, is_ready, codes)
        groups, order = numbered_by_appearance(codes, len(self._names))
        counted = CountedTokens(starts, tokens, values, self._parts)
        size = int(table.size[0])
        count = len(order) * size
        expansion = Expansion(
            np.empty(count, np.int32),
            np.empty(count, np.int32) if self._has_title_terms else np.full(count, -1, np.int32),
            np.zeros(len(order), np.bool_),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(0, np.int32),
        )
        terms = empty_table(*self._room, self._key)
        ngrams: list[Ints] = []
        for group, code in enumerate(order.tolist()):
            name = self._names[code]
            is_only = len(order) == 1 and name != READY
            first = 0 if name == READY else stop_words
            stopped = slice(group * size, group * size + first)
            expansion.main_terms[stopped] = expansion.title_terms[stopped] = -1
            expansion.firsts[stopped] = expansion.lasts[stopped] = 0
            chosen = chosen_tokens(counted, groups, group, is_only, first, size)
            main = self._main_terms(name, table, *chosen)
            terms = self._add_terms(name, group, main, table, terms, expansion, ngrams)
        if ngrams:
            expansion = expansion._replace(ngrams=np.concatenate(ngrams))
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

    def _main_terms(
        self, name: str, table: TermTable, chosen: Longs, in_titles: Bools
    ) -> MainTerms:
        """Return what the chosen tokens become in a group."""
        if name not in self._known:
            self._known[name] = known_words(self._profile, name, self._key)
        known = self._known[name]
        if known is None:
            return unchanged(table, chosen, in_titles)
        return known.main_terms(table, chosen, in_titles)

    def _add_terms(
        self, name: str, group: int, main: MainTerms, table: TermTable, terms: TermTable,
        expansion: Expansion, ngrams: list[Ints],
    ) -> TermTable:  # fmt: skip
        """Return the table with the terms of one group. Writes what its tokens become."""
        base = group * int(table.size[0])
        lengths = None if name == READY else letter_lengths(self._profile.letters, name)
        if lengths is None:
            terms = add_main_terms(table, main, base, terms, expansion.main_terms)
        else:
            first = sum(map(len, ngrams))
            terms, more = add_letter_ngrams(
                table, main, self._kinds, *lengths, base, first, terms, expansion
            )
            ngrams.append(more)
            expansion.has_ngrams[group] = True
        if self._has_title_terms and name != READY:
            terms = add_title_terms(main, TITLE_PREFIX, base, terms, expansion)
        return terms

    def _find_other_groups(
        self, documents: Documents, languages: Sequence[str | None] | None, is_ready: Bools,
        codes: Ints,
    ) -> None:  # fmt: skip
        """Write the groups of documents whose language was given, or not found by votes."""
        if is_ready.any():
            codes[is_ready] = self._code(READY)
        if not self._is_auto:
            return
        is_open = codes == ELSEWHERE
        if languages:
            given = [name is not None for name, _ in zip(languages, documents, strict=True)]
            is_open |= np.array(given, np.bool_) & ~is_ready
        for number in np.flatnonzero(is_open).tolist():
            language = languages[number] if languages else None
            codes[number] = self._code(language_or_guess(str(documents[number]), language))

    def _code(self, name: str) -> int:
        """Return the code of a group. There are not many more groups than languages."""
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)


@njit
def numbered_by_appearance(codes: Ints, most: int) -> tuple[Ints, Ints]:
    """Return the number of each code in order of first appearance, and the codes in that order."""
    numbers = np.full(most, -1, np.int32)
    order = np.empty(most, np.int32)
    groups = np.empty(len(codes), np.int32)
    count = 0
    for i in range(len(codes)):
        if numbers[codes[i]] < 0:
            numbers[codes[i]] = count
            order[count] = codes[i]
            count += 1
        groups[i] = numbers[codes[i]]
    return groups, order[:count].copy()


def language_or_guess(text: str, language: str | None) -> str:
    """Return the name of the language of a text, as given or as it looks."""
    return language_of(text) if language is None else language_name(language) or UNKNOWN


def folded_stop_words(profile: Profile, language: str) -> frozenset[str]:
    """Return the stop words of a language in the form that tokens of the profile have.

    Those that the profile splits in two are left out: their parts can be other words.
    """
    listed = stop_words(language)
    plain = frozenset(word for word in listed if word.isascii() and word.isalpha())
    splitter = Splitter(replace(profile, unspaced="none"))
    # All others in one text, which takes a tenth of the time.
    split: list[list[str]] = [[]]
    for token in splitter.tokens(f" {BETWEEN_STOP_WORDS} ".join(sorted(listed - plain))):
        if token == BETWEEN_STOP_WORDS:
            split.append([])
        else:
            split[-1].append(token)
    return plain | {tokens[0] for tokens in split if len(tokens) == 1}


def known_words(profile: Profile, language: str, key: Hashes) -> KnownWords | None:
    """Return what becomes of the words of a language; None if they stay as they are."""
    stemmer = language if profile.stem == "auto" else profile.stem
    stopped = language if profile.stop_words == "auto" else profile.stop_words
    stops = frozenset() if stopped == "papers" else folded_stop_words(profile, stopped)
    if not stops and stemmer_language(stemmer) is None:
        return None
    is_english = stemmer_language(stemmer) == "english"
    return KnownWords(Stemmer(stemmer).stems, stops, key, is_english)
