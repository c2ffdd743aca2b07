"""What words become, in blocks and over a stream: as plain Python says."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import Stemmer as snowball  # noqa: N813 - a module in spite of its name

from pipeline.text.english_stemmer import LONGEST
from pipeline.text.expander import folded_stop_words, numbered_by_appearance
from pipeline.text.known_words import KnownWords
from pipeline.text.language import LANGUAGES
from pipeline.text.main_terms import is_beginning, stem_length, stem_place
from pipeline.text.profile import parse_profile
from pipeline.text.sip_hash import PROCESS_KEY
from pipeline.text.splitting import Splitter
from pipeline.text.stemming import Stemmer
from pipeline.text.stop_words import stop_words
from pipeline.text.terms import MAX_TERM_BYTES, copied, table_of
from pipeline.text.word_table import ROOM

LETTERS = "abcdefghijklmnopqrstuvwxyz" * 2 + "eeesssingldyt0123456789éß東"


def main_words(known: KnownWords, words: list[str]) -> list[str]:
    """What distinct words become as one block, empty for stop words."""
    given = table_of(words)
    table = copied(given, np.arange(len(words)), 0, 300)  # with room, like that of a block
    main = known.main_terms(table, np.arange(len(words)), np.zeros(len(words), np.bool_))
    became = []
    for stem, start in zip(main.stems, table.ends, strict=False):
        letters, at = (
            (table.letters, start) if is_beginning(stem) else (main.letters, stem_place(stem))
        )
        became.append(letters[at : at + stem_length(stem)].tobytes().decode())
    return became


def doubled(words: Sequence[str]) -> list[str]:
    """A stemmer that makes words longer."""
    return [word + word for word in words]


@pytest.mark.parametrize("stems", [Stemmer("serbian").stems, Stemmer("turkish").stems, doubled])
@pytest.mark.parametrize("letter", ["џ", "g", "東"])
def test_there_is_room_for_stems_that_are_longer_than_their_words(
    stems: Callable[[Sequence[str]], list[str]], letter: str
) -> None:
    most = MAX_TERM_BYTES // len(letter.encode())
    for count in range(1, most // 2):
        known = KnownWords(stems, frozenset(), PROCESS_KEY)
        words = [letter * count, letter * (count + 1)]
        expected = [
            stem if len(stem.encode()) <= MAX_TERM_BYTES else word
            for word, stem in zip(words, stems(words), strict=True)
        ]
        assert main_words(known, words) == expected
        table = known._words
        assert table.used[1] + ROOM <= len(table.letters)


def test_words_are_found_after_a_stemmer_was_interrupted() -> None:
    is_interrupted = True

    def stems(words: Sequence[str]) -> list[str]:
        if is_interrupted:
            raise KeyboardInterrupt
        return [word.upper() for word in words]

    known = KnownWords(stems, frozenset(), PROCESS_KEY)
    words = [f"{'haus' * (i % 9)}tür{chr(97 + i % 26)}{i}" for i in range(500)]
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            main_words(known, words)
    is_interrupted = False
    assert main_words(known, words) == [word.upper() for word in words]


@pytest.mark.parametrize("most", [1 << 17, 500])
@pytest.mark.parametrize(
    ("language", "is_compiled"),
    [("english", True), ("english", False), ("german", False), ("turkish", False)],
)
def test_words_become_what_the_stemmer_says(
    language: str, is_compiled: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.text.known_words.MAX_KNOWN_WORDS", most)
    rng = random.Random(0)
    stops = frozenset({"the", "under", "x", "1990"})
    stems = Stemmer(language).stems
    known = KnownWords(stems, stops, PROCESS_KEY, is_compiled)
    lengths = [1, 2, 3, 5, 7, 8, 9, 15, 16, 24, LONGEST - 1, LONGEST, LONGEST + 1, 64, 65]
    texts = ["".join(rng.choices(LETTERS, k=rng.choice(lengths))) for _ in range(2000)]
    texts += ["".join(rng.choices(LETTERS[:-3], k=rng.choice(lengths))) for _ in range(2000)]
    texts += ["the", "under", "1990", "0", "x" * 255, "ing" * 85, "running", "runs", "run"]
    for _ in range(20):
        words = list(dict.fromkeys(rng.choices(texts, k=300)))
        expected = [
            "" if word in stops else stem if len(stem.encode()) <= MAX_TERM_BYTES else word
            for word, stem in zip(words, stems(words), strict=True)
        ]
        assert main_words(known, words) == expected


def test_a_stem_that_is_empty_or_too_long_is_the_word() -> None:
    became = {"long": "é" * 128, "fits": "é" * 127 + "x", "none": "", "same": "same"}
    known = KnownWords(lambda words: [became[word] for word in words], frozenset(), PROCESS_KEY)
    assert main_words(known, list(became)) == ["long", "é" * 127 + "x", "none", "same"]


@pytest.mark.parametrize("algorithm", snowball.algorithms())
def test_no_stemmer_changes_a_number(algorithm: str) -> None:
    rng = random.Random(0)
    numbers = [str(number) for number in range(3000)]
    numbers += ["".join(rng.choices("0123456789", k=rng.randrange(1, 256))) for _ in range(3000)]
    assert snowball.Stemmer(algorithm, 0).stemWords(numbers) == numbers


@pytest.mark.parametrize(
    "written", ["news", "news:fold=accents", "news:split=join,numbers=one", "reuters2000"]
)
def test_stop_words_are_folded_one_by_one(written: str) -> None:
    profile = parse_profile(written)
    splitter = Splitter(replace(profile, unspaced="none"))
    for language in sorted(LANGUAGES):
        split = map(splitter.tokens, stop_words(language))
        expected = frozenset(tokens[0] for tokens in split if len(tokens) == 1)
        assert folded_stop_words(profile, language) == expected


def test_groups_are_numbered_by_first_appearance() -> None:
    groups, order = numbered_by_appearance(np.array([5, 2, 5, 0, 2], np.int32), 6)
    assert groups.tolist() == [0, 1, 0, 2, 1]
    assert order.tolist() == [5, 2, 0]
    assert len(numbered_by_appearance(np.empty(0, np.int32), 6)[1]) == 0
