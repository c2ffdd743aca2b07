"""Text of any script: folding, scripts without spaces, n-grams; equal to the plain twin."""

# ruff: noqa: RUF001 - letters that look alike are what is tested

from __future__ import annotations

import random
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.slow.tokenizer import slow_terms, slow_tokens
from pipeline.text.characters import DROPPED, STACKERS, character_tables
from pipeline.text.folding import folded_text
from pipeline.text.language import language_of
from pipeline.text.profile import parse_profile
from pipeline.text.splitting import Splitter
from pipeline.text.terms import words_of
from pipeline.text.tokenizer import Tokenizer

PROFILES = (
    "reuters2000:fold=compatibility,unspaced=1-2",
    "reuters2000:fold=accents,unspaced=2,letters=3-5,title=terms",
    "reuters21578:fold=accents,unspaced=2-3,letters=2,title=twice",
    "reuters2000:split=join,unspaced=1-3",
    "reuters2000:numbers=one,letters=1-8",
    "reuters21578:title=terms",
    "news",
    "news:stem=german,stop_words=de,letters=3",
    "multilingual:stop_words=auto,stem=auto",
    "reuters21578:words=3,unspaced=2",
    "news:words=2,letters=4,stop_words=auto",
)
TOKENIZERS = {profile: Tokenizer(profile) for profile in PROFILES}

# Letters, marks, digits and signs of many scripts, with what is special about them.
ALPHABET = (
    "aZéßſŁıİœﬁ e\u0301\u0323\u0307σΣςΐώ\u0345ЁйЇ"  # Latin, Greek, Cyrillic
    "\u05db\u05b8\u05bc\ufb2a\u05be\u0627\u0622\u0640\u064b\ufefb\u0629\u0649\u06cc\u06a9\u0663"
    "\u0915\u094d\u200d\u0937\u093f\u200c\u0bb8\u0bcd\u0d15\u09ce"  # Indic
    "\u0e01\u0e33\u0e48\u0e40\u0e51\u0e81\u0ec8\u1780\u17d2\u1798\u17c2\u1019\u103c\u1039\u1010"
    "日本語々〇カー\uff76\uff9eぱひ\u3099한글\u1100\u1161ㄅ𠮷Ａ９"  # East Asia
    "19 .,-'_*:\n\u00ad\u200b\ufeff\u2060😀\ufe0f\u0f73\u20dd½²"
)


def counted(
    documents: list[str], profile: str, titles: list[int] | None = None
) -> list[dict[str, float]]:
    counts = TOKENIZERS[profile].count(documents, titles)
    words = words_of(counts.table)
    return [
        dict(zip((words[t] for t in counts.terms[a:b]), counts.values[a:b].tolist(), strict=True))
        for a, b in pairwise(counts.starts.tolist())
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("iPhone15を買う", "iphone15 を 買 う を買 買う"),
        ("我", "我"),
        ("ｶﾞﾗｽ ＡＢＣ１２", "ガ ラ ス ガラ ラス abc12"),  # half and full width
        ("東京,大阪", "東 京 東京 大 阪 大阪"),  # signs end a run
        ("ที่นี่", "ที่ นี่ ที่นี่"),  # marks stay with their letters
        ("ខ្មែរ", "ខ្មែ រ ខ្មែរ"),  # so do consonants below
        ("한국어 신문", "한국어 신문"),
        ("क्\u200dष हिन्दी", "क्ष हिन्दी"),  # joiners neither stay nor separate
        ("سـلام سَلامٌ ﺳﻼم", "سلام سلام سلام"),
        ("إسلام آية على", "اسلام اية علي"),
        ("שָׁלוֹם עַל־פִּי", "שלום על פי"),
        ("İstanbul ISTANBUL ılık", "istanbul istanbul ılık"),
        ("Straße ﬁne ΟΔΟΣ Ⅻ", "strasse fine οδοσ xii"),
        ("٣٤ ४५ ๒", "34 45 2"),
        ("co\u00adoperate", "cooperate"),
        ("ព\u200bភ", "ព ភ"),  # the space of no width is a space
    ],
)
def test_compatibility(text: str, tokens: str) -> None:
    profile = "reuters2000:fold=compatibility,unspaced=1-2"
    assert Splitter(parse_profile(profile)).tokens(text) == tokens.split()
    assert slow_tokens(text, profile) == tokens.split()


@pytest.mark.parametrize("nouns", ["الحكومة حكومة الحكومات", "الجامعة جامعة الجامعات"])
def test_arabic_nouns_have_one_stem_with_and_without_the_article(nouns: str) -> None:
    """Teh marbuta was folded to heh, which the stemmer does not remove behind an article."""
    counts = Tokenizer("news:letters=none,stem=arabic").count([nouns])
    assert len(words_of(counts.table)) == 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Café Łódź Ærø ılık", "cafe lodz æro ilik"),
        ("Tiếng Việt đường", "tieng viet duong"),
        ("ёлка Київ й", "елка киів и"),
        ("Ὀδυσσεύς ΐ", "οδυσσευσ ι"),
        ("हिन्दी が", "हिन्दी が"),  # the marks of other scripts are vowels
        ("q\u0307\u0323x", "qx"),
    ],
)
def test_accents(text: str, tokens: str) -> None:
    profile = "reuters2000:fold=accents,unspaced=2"
    assert Splitter(parse_profile(profile)).tokens(text) == tokens.split()


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(st.sampled_from(ALPHABET) | st.characters(exclude_categories=["Cs"]), max_size=50),
        max_size=4,
    ),
    st.integers(0, 20),
)
def test_equals_its_twin_on_any_script(profile: str, texts: list[str], title: int) -> None:
    expected = [dict(slow_terms(text, profile, title)) for text in texts]
    assert counted(texts, profile, [title] * len(texts)) == expected


@pytest.mark.parametrize("profile", PROFILES)
def test_every_character_equals_its_twin(profile: str) -> None:
    points = [*range(0x3400), *range(0xA000, 0xD800, 7), *range(0xF900, 0x11000), 0x20BB7, 0xE0001]
    points = [point for point in points if not 0xD800 <= point < 0xE000]
    text = " ".join(f"a{chr(point)}b \u4e00{chr(point)}\u4e00" for point in points)
    assert counted([text], profile) == [dict(slow_terms(text, profile))]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_block_does_not_matter(profile: str) -> None:
    texts = [f"Wörter{i % 7} 東京{i} é{i % 3} กา{i % 5}" for i in range(100)]
    titles = [i % 9 for i in range(100)]
    whole = counted(texts, profile, titles)
    alone = [counted([text], profile, [n])[0] for text, n in zip(texts, titles, strict=True)]
    assert whole == alone
    assert [list(row) for row in whole] == [list(row) for row in alone]  # in the same order


@pytest.mark.parametrize("profile", PROFILES)
def test_ready_made_features_are_taken_as_they_are(profile: str) -> None:
    tokenizer = TOKENIZERS[profile]
    counts = tokenizer.count(["wheat", {"Wheats": 2.0, "the": -1.5}, "the wheats"], [5, 0, 3])
    words = words_of(counts.table)
    a, b = counts.starts[1:3]
    assert {words[t]: v for t, v in zip(counts.terms[a:b], counts.values[a:b], strict=True)} == {
        "Wheats": 2.0, "the": -1.5
    }  # fmt: skip


@pytest.mark.parametrize("fold", ["compatibility", "accents"])
def test_folding_never_takes_more_bytes(fold: str) -> None:
    """The scan has room for as many bytes as the text."""
    folded = character_tables(fold, True).folded
    changed = np.flatnonzero(folded != np.arange(len(folded)))
    for point in changed.tolist():
        assert len(chr(folded[point]).encode()) <= len(chr(point).encode())


def test_signs_that_stack_consonants_are_marks() -> None:
    assert {unicodedata.category(chr(point)) for point in STACKERS} == {"Mn"}
    kinds = character_tables("compatibility", True).kinds
    assert not (kinds[list(STACKERS)] == DROPPED).any()


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from(ALPHABET), max_size=40))
def test_folded_text_is_composed(text: str) -> None:
    folded = folded_text(text, "compatibility")
    assert unicodedata.is_normalized("NFKC", folded)


def test_n_grams_too_long_for_a_term_are_ignored() -> None:
    profile = "reuters2000:fold=compatibility,unspaced=1-2"
    cluster = "ก" + "\u0e48" * 90
    assert counted([f"{cluster}กข"], profile) == [{"ก": 1.0, "ข": 1.0, "กข": 1.0}]
    text = "文" * 10_000  # a run has no limit
    assert counted([text], profile) == [{"文": 10_000.0, "文文": 9_999.0}]


STREAM = [
    ("The prices of wheat were rising in the markets", None),
    ("Die Preise der Häuser sind in den Städten gestiegen", None),
    ("Цены на книги выросли в магазинах и на рынках", None),
    ("prices prices Preise", "de"),
    ("prices prices Preise", "tlh"),
    ("小麦の価格が上がった", None),
    ("我们的价格", None),
    ("", None),
]


@pytest.mark.parametrize("profile", ["news", "news:stop_words=auto,fold=accents", "multilingual"])
def test_languages_of_one_block_do_not_mix(profile: str) -> None:
    texts, languages = [text for text, _ in STREAM], [language for _, language in STREAM]
    counts = Tokenizer(profile).count(texts, [4] * len(texts), languages)
    words = words_of(counts.table)
    for row, (text, language) in enumerate(STREAM):
        a, b = counts.starts[row : row + 2]
        found = {words[t]: v for t, v in zip(counts.terms[a:b], counts.values[a:b], strict=True)}
        assert found == dict(slow_terms(text, profile, 4, language)), text


def test_words_in_a_row() -> None:
    counts = Tokenizer("news:words=3,stop_words=english,title=text,unspaced=1-2").count(
        ["the price of oils 東京 rose rose", "x" * 200 + " " + "v" * 54 + " " + "z" * 54]
    )
    assert words_of(counts.table) == [
        "price", "oil", "東", "京", "東京", "rose", "x" * 200, "v" * 54, "z" * 54,
        "price oil", "rose rose", "x" * 200 + " " + "v" * 54, "v" * 54 + " " + "z" * 54,
    ]  # fmt: skip


def test_many_words_in_a_row() -> None:
    """The table grows several times."""
    rng = random.Random(0)
    texts = [" ".join(f"w{rng.randrange(500)}" for _ in range(300)) for _ in range(30)]
    profile = "reuters21578:words=3,unspaced=2"
    assert counted(texts, profile) == [dict(slow_terms(text, profile)) for text in texts]


def test_stems_and_stop_words() -> None:
    assert counted(["the markets and prices"], "news") == [{"market": 1.0, "price": 1.0}]
    found = counted(["Die Häuser"], "news:stem=german,stop_words=de,letters=3")[0]
    assert found == {"haus": 1.0, "häu*": 1.0, "*äus*": 1.0, "*use*": 1.0, "*ser": 1.0}


def test_n_grams_of_letters_by_language() -> None:
    texts = ["the price of the oil and the market", "der Preis für das Haus und der Markt"]
    english, german = counted(texts, "news")
    assert english == {"price": 1.0, "oil": 1.0, "market": 1.0}
    assert {"pre*", "*rei*", "*eis", "mar*", "*ark*", "*rkt"} <= german.keys()
    swapped = words_of(Tokenizer("news").count(texts, None, ["de", "en"]).table)
    assert "pri*" in swapped
    assert "pre*" not in swapped
    assert slow_terms(texts[1], "news").keys() == german.keys()


def test_words_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.text.known_words.MAX_KNOWN_WORDS", 50)
    tokenizer = Tokenizer("news:stem=english")
    for start in range(0, 200, 20):
        texts = [f"prices{n} the markets {'z' * (n % 9)}s" for n in range(start, start + 20)]
        counts = tokenizer.count(texts)
        expected = {term for text in texts for term in slow_terms(text, "news:stem=english")}
        assert set(words_of(counts.table)) == expected


def test_languages_of_ascii_texts_are_those_of_the_plain_function() -> None:
    """They are found in compiled code, from what was split."""
    rng = random.Random(0)
    words = ["the", "of", "and", "der", "die", "und", "le", "la", "et", "el", "THE,", "it's", "12"]
    texts = [" ".join(rng.choices(words, k=rng.randrange(60))) for _ in range(300)]
    texts += ["", "x" * 400 + " the", "the" * 200, "und " * 100 + "the of and", "1 2 3"]
    texts += ["x" * n + " the und der" for n in range(485, 500)]  # a word is cut in two
    titles = [rng.randrange(30) for _ in texts]
    for profile in ("news", "news:title=text", "news:split=join", "news:stop_words=papers"):
        tokenizer = Tokenizer(profile)
        guessed = tokenizer.count(texts, titles)
        declared = tokenizer.count(texts, titles, [language_of(text) for text in texts])
        assert words_of(guessed.table) == words_of(declared.table)
        assert np.array_equal(guessed.starts, declared.starts)
        assert np.array_equal(guessed.terms, declared.terms)
        assert np.array_equal(guessed.values, declared.values)
