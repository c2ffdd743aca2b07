"""The tokenizer: both profiles, any script, equal to its twin for any block."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.slow.tokenizer import slow_tokens
from pipeline.text.terms import words_of
from pipeline.text.tokenizer import PROFILES, Tokenizer

TOKENIZERS = {profile: Tokenizer(profile) for profile in PROFILES}


def counted(documents: Sequence[str | dict[str, float]], profile: str) -> list[dict[str, float]]:
    counts = TOKENIZERS[profile].count(documents)
    words = words_of(counts.table)
    starts = counts.starts.tolist()
    return [
        {words[t]: v for t, v in zip(counts.terms[a:b], counts.values[a:b].tolist(), strict=True)}
        for a, b in pairwise(starts)
    ]


@pytest.mark.parametrize(
    ("text", "tokens2000", "tokens21578"),
    [
        ("U.S. oil-price 3.5%", "u s oil price 3 5", "us oilprice <number> <number>"),
        ("The wheat AND the Corn", "the wheat and the corn", "wheat corn"),
        ("abc123def 1,234", "abc123def 1 234", "abc <number> def <number> <number>"),
        ("don't", "don t", ""),
        ("", "", ""),
        ("... --- !!!", "", ""),
        ("naïve Müller ŁÓDŹ", "naïve müller łódź", "naïve müller łódź"),
        ("cafe\u0301", "café", "café"),  # decomposed: composed first
        ("ΟΔΟΣ ὈΔΥΣΣΕΎΣ", "οδος ὀδυσσεύς", "οδος ὀδυσσεύς"),  # the final sigma
        ("हिन्दी ไทย", "हिन्दी ไทย", "हिन्दी ไทย"),  # marks belong to their letters
        ("\u0301abc", "abc", "abc"),  # a mark with no letter before it
        ("北京2024 東京", "北京2024 東京", "北京 <number> 東京"),
        ("٣٤ \uff15", "٣٤ \uff15", "<number> <number>"),
        ("İstanbul", "i\u0307stanbul", "i\u0307stanbul"),
        ("😀 smile\u00a0now", "smile now", "smile"),
        ("snake_case", "snake case", "snakecase"),
        ("a\x00b", "a b", "ab"),  # discarded, not a space
    ],
)
def test_examples(text: str, tokens2000: str, tokens21578: str) -> None:
    for profile, expected in (("reuters2000", tokens2000), ("reuters21578", tokens21578)):
        assert counted([text], profile) == [dict(Counter(expected.split()))], profile


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), max_size=5))
def test_equals_its_twin_on_any_text(profile: str, texts: list[str]) -> None:
    expected = [dict(Counter(slow_tokens(text, profile))) for text in texts]
    assert counted(texts, profile) == expected


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("abcAB12 .-é", max_size=400), max_size=5))
def test_equals_its_twin_on_texts_of_few_characters(profile: str, texts: list[str]) -> None:
    expected = [dict(Counter(slow_tokens(text, profile))) for text in texts]
    assert counted(texts, profile) == expected


def test_a_run_too_long_for_a_word_is_ignored() -> None:
    assert counted(["a" * 255 + " b"], "reuters2000") == [{"a" * 255: 1.0, "b": 1.0}]
    assert counted(["a" * 256 + " b"], "reuters2000") == [{"b": 1.0}]
    assert counted(["a" * 100_000], "reuters21578") == [{}]


def test_ready_made_features_are_taken_as_they_are() -> None:
    documents: list[str | dict[str, float]] = [{"The": 2.0, "a b": -1.5}, "a b", {}, {"b": 0.25}]
    assert counted(documents, "reuters2000") == [
        {"The": 2.0, "a b": -1.5},
        {"a": 1.0, "b": 1.0},
        {},
        {"b": 0.25},
    ]


def test_the_block_does_not_matter() -> None:
    texts = [f"word{i % 7} other{i} é{i % 3}" for i in range(300)]
    whole = counted(texts, "reuters2000")
    assert whole == [counted([text], "reuters2000")[0] for text in texts]


def test_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no profile 'rcv1'\. Known: reuters2000, reuters21578"):
        Tokenizer("rcv1")


def test_blocks_of_every_kind_after_each_other() -> None:
    """Room adapts to the last block; the next may have more words, or only more letters."""
    tokenizer = Tokenizer()
    rng = random.Random(0)
    blocks = [
        [" ".join(f"w{rng.randrange(9000)}" for _ in range(200)) for _ in range(30)],
        ["文" * 80 + " " + "字" * 84, "x" * 255 + " " + "y" * 254],
        ["a b c"],
        [" ".join("z" * 250 + str(n) for n in range(40))],
        [""],
        [" ".join(f"v{rng.randrange(9000)}" for _ in range(200)) for _ in range(30)],
    ]
    for _ in range(40):
        texts = rng.choice(blocks)
        counts = tokenizer.count(texts)
        assert counts.values.sum() == sum(len(slow_tokens(text)) for text in texts)


@pytest.mark.parametrize("name", ["", "x" * 256, "é" * 128])
def test_names_that_do_not_fit_never_reach_a_kernel(name: str) -> None:
    with pytest.raises(ValueError, match="must have 1 to 255 bytes"):
        Tokenizer().count([{"a": 1.0, name: 2.0, "b": 3.0}])
