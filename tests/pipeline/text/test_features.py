"""Vectors: the formula, running and frozen statistics, the ceiling, any block size."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from learners.learner import State
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.slow.features import SlowVocabulary
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.features import Vocabulary
from pipeline.text.terms import words_of
from pipeline.text.tokenizer import Tokenizer

Content = str | dict[str, float]
TOKENIZER = Tokenizer()


def vectors(
    vocabulary: Vocabulary,
    contents: Sequence[Content],
    block: int,
    tokenizer: Tokenizer = TOKENIZER,
) -> list[dict[str, float]]:
    """Return the vectors by term, each read while its numbering is valid."""
    by_term = []
    for start in range(0, len(contents), block):
        part = contents[start : start + block]
        events = [Event(i, content, None, None, None) for i, content in enumerate(part)]
        made = make_block(events, tokenizer)
        for numbered in vocabulary.vectors(made.counts, made.ready):
            words = words_of(vocabulary.table)
            for i in range(len(numbered.rows)):
                terms, values = numbered.rows.row(i)
                by_term.append({words[t]: v for t, v in zip(terms, values.tolist(), strict=True)})
    return by_term


def random_contents(seed: int, length: int, words: int = 400) -> list[Content]:
    rng = random.Random(seed)
    contents: list[Content] = []
    for i in range(length):
        names = [f"w{int(words * rng.random() ** 3) + i // 4}" for _ in range(rng.randrange(25))]
        if rng.random() < 0.1:
            contents.append({name: rng.choice((0.0, 1.5, -2.0)) for name in names})
        else:
            contents.append(" ".join(names))
    return contents


def test_the_keys_of_hashes_do_not_matter() -> None:
    """Neither in the tokenizer nor in the vocabulary, nor after a restart with another key."""
    settings = FeatureSettings(max_terms=150)
    contents = random_contents(5, 300)
    expected = vectors(Vocabulary(settings), contents, 7)
    one, other = np.array([1, 2], np.uint64), np.array([3, 2**63], np.uint64)
    for first, second in ((one, one), (one, other), (other, one)):
        vocabulary = Vocabulary(settings, first)
        made = vectors(vocabulary, contents[:140], 7, Tokenizer(key=first))
        resumed = Vocabulary(settings, second)
        resumed.restore(vocabulary.state())
        made += vectors(resumed, contents[140:], 7, Tokenizer(key=first))
        assert made == expected


def test_formula_by_hand() -> None:
    first, second = vectors(Vocabulary(), ["wheat wheat corn", "corn oil oil oil oil"], 2)
    assert first == {}  # one document: every term is in all of them
    # Second: 2 distinct terms, 5 in all; pivot 2; corn is in both, oil in one of two.
    tf = (1 + math.log(4)) / (1 + math.log(5 / 2)) / (0.7 + 0.3 * 2 / 2)
    assert second == {"oil": tf * math.log(2 / 1)}


SETTINGS = [
    {},
    {"min_df": 2},
    {"min_df": 3, "max_terms": 120},
    {"max_terms": 60},
    {"max_terms": 16},
    {"slope": 0.0},
    {"pivot": 7.5},
    {"norm": "l2"},
    {"norm": "l2", "pivot": 3.0, "min_df": 2, "max_terms": 60},
]


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_equals_its_twin_for_every_block_size(options: dict[str, float], seed: int) -> None:
    contents = random_contents(seed, 250)
    twin = SlowVocabulary(**options)  # type: ignore[arg-type]
    expected = [twin.vector(content, "reuters2000") for content in contents]
    for block in (1, 7, 64, 1000):
        vocabulary = Vocabulary(FeatureSettings(**options))  # type: ignore[arg-type]
        assert vectors(vocabulary, contents, block) == expected, block
        assert set(words_of(vocabulary.table)) == set(twin.df)


def test_the_ceiling_holds_and_frequent_terms_stay() -> None:
    rng = random.Random(0)
    vocabulary = Vocabulary(FeatureSettings(max_terms=100))
    contents = [f"market bank {rng.randrange(10**9)} {rng.randrange(10**9)}" for _ in range(2000)]
    for start in range(0, len(contents), 50):
        vectors(vocabulary, contents[start : start + 50], 50)
        assert len(vocabulary) <= 100
    assert {"market", "bank"} <= set(words_of(vocabulary.table))
    assert vocabulary.refused == 0


def test_a_term_that_fell_silent_leaves_in_the_end() -> None:
    """Once frequent is not enough: a stream that drifts must find room for its new words."""
    vocabulary = Vocabulary(FeatureSettings(max_terms=64))
    vectors(vocabulary, ["old news"] * 50, 10)
    vectors(vocabulary, [f"new paper r{i} s{i}" for i in range(5000)], 100)
    words = set(words_of(vocabulary.table))
    assert "new" in words
    assert "old" not in words


def test_one_document_with_more_terms_than_the_ceiling() -> None:
    vocabulary = Vocabulary(FeatureSettings(max_terms=16))
    vectors(vocabulary, [" ".join(f"w{i}" for i in range(40))], 1)
    assert len(vocabulary) == 16
    assert vocabulary.refused == 24


def test_features_do_not_touch_the_statistics_of_text() -> None:
    text = ["wheat corn", "corn oil", "oil wheat gold"]
    mixed: list[Content] = [text[0], {"corn": 1.0}, text[1], {"gold": 3.0, "new": 1.0}, text[2]]
    plain = vectors(Vocabulary(), text, 10)
    assert vectors(Vocabulary(), mixed, 10)[::2] == plain


def test_frozen_statistics_stay_and_unknown_terms_are_passed_over() -> None:
    vocabulary = Vocabulary()
    vectors(vocabulary, ["wheat corn", "corn oil", "oil gold"], 3)
    vocabulary.freeze()
    before = vocabulary.state()
    (first,) = vectors(vocabulary, ["wheat platinum silver"], 1)
    (again,) = vectors(vocabulary, ["wheat"], 1)
    # One known term per document, pivot 2, three documents, one of them with wheat.
    assert first == again == {"wheat": 1 / (0.7 + 0.3 * 1 / 2) * math.log(3 / 1)}
    assert same(before, vocabulary.state())


def test_resume_from_state_equals_a_straight_run() -> None:
    contents = random_contents(9, 300)
    settings = FeatureSettings(max_terms=90)
    straight = Vocabulary(settings)
    expected = vectors(straight, contents, 10)
    first, second = Vocabulary(settings), Vocabulary(settings)
    head = vectors(first, contents[:130], 10)
    second.restore(first.state())
    assert head + vectors(second, contents[130:], 7) == expected
    assert same(straight.state(), second.state())


def same(one: State, other: State) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_terms": 3}, "max_terms"),
        ({"min_df": 0}, "min_df"),
        ({"slope": 1.5}, "slope"),
        ({"pivot": -1}, "pivot"),
        ({"norm": "l1"}, "norm"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FeatureSettings(**options)  # type: ignore[arg-type]
