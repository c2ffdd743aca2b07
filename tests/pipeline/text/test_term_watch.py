"""Warnings about terms that can teach nothing: when, with which cause, and how often."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence

import numpy as np
import pytest

from pipeline.checking.findings import describe
from pipeline.checking.sample import Sample
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.events.event import Event, parse_event
from pipeline.events.record import Record
from pipeline.log.block import make_block
from pipeline.replay.settings import parse_lanes
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.term_watch import TermStatistics, term_problems
from pipeline.text.tokenizer import Tokenizer
from tests.support.own_messages import own_messages

RNG = random.Random(0)
CLAUSES = [
    "\u3002".join("".join(RNG.choices("\u65e5\u672c\u8a9e\u6587\u5b57", k=12)) for _ in range(5))
    for _ in range(300)
]
# As titles in Chinese: short, and often mixed with Latin names.
TITLES = [
    " ".join(
        "".join(map(chr, RNG.choices(range(0x4E00, 0x5A00), k=RNG.randrange(1, 7))))
        + RNG.choice(("", "", "qt", "x11"))
        for _ in range(3)
    )
    for _ in range(300)
]
CODES = [" ".join(f"{RNG.randrange(1 << 40):x}" for _ in range(9)) for _ in range(300)]
FORMS = [
    " ".join("".join(RNG.choices("abcdefghijk", k=9)) for _ in range(9)) for _ in range(300)
]  # fmt: skip
NEWS = [str(parse_event(event).content) for event in SyntheticNewswire(documents=300)]
SHORT = ["wheat"] * 300


def problems(texts: Sequence[str], profile: str = "reuters2000") -> list[str]:
    counts = Tokenizer(profile).count(texts)
    df = np.bincount(counts.terms, minlength=int(counts.table.size[0])).astype(np.int64)
    mean = len(counts.terms) / len(texts)
    return list(term_problems(TermStatistics(len(texts), mean, df, counts.table)))


@pytest.mark.parametrize(
    ("texts", "cause"),
    [
        (CLAUSES, "in a script without spaces"),
        (TITLES, "in a script without spaces"),
        (CODES, "codes or numbers"),
        (FORMS, "a profile with stems or n-grams"),
        (SHORT, "only 1.0 terms each"),
    ],
)
def test_problems_have_their_cause(texts: Sequence[str], cause: str) -> None:
    (problem,) = problems(texts)
    assert cause in problem


def test_no_problem() -> None:
    assert problems(NEWS) == []
    assert problems(CLAUSES, "reuters2000:unspaced=1-2") == []  # the remedy helps
    assert problems(CLAUSES[:100]) == []  # too early to tell


@pytest.mark.parametrize("profile", ["news", "multilingual"])
def test_ngrams_are_not_taken_for_clauses(profile: str) -> None:
    """Unique n-grams were taken for clauses, with the advice to use the profile in use."""
    rng = random.Random(1)
    texts = ["".join(map(chr, rng.choices(range(0x4E00, 0x9FA0), k=99))) for _ in range(300)]
    (problem,) = problems(texts, profile)
    assert "in a script without spaces" not in problem
    assert "is it not encoded or encrypted" in problem


def warnings(
    caplog: pytest.LogCaptureFixture, texts: Sequence[str], max_terms: int = 1 << 17
) -> list[str]:
    caplog.set_level(logging.WARNING)  # another test may have raised it
    settings = EngineSettings(features=FeatureSettings(max_terms=max_terms))
    engine, tokenizer = Engine(parse_lanes(["perceptron"]), settings=settings), Tokenizer()
    events = [Event(str(n), text, ("a",), None, None) for n, text in enumerate(texts)]
    for start in range(0, len(events), 50):
        for _ in engine.process(make_block(events[start : start + 50], tokenizer)):
            pass
    engine.close()
    return own_messages(caplog)


def test_the_engine_warns_early_and_more_rarely_later(caplog: pytest.LogCaptureFixture) -> None:
    messages = warnings(caplog, SHORT * 6)
    assert [message.split()[0] for message in messages] == ["200", "400", "800", "1,600"]


def test_a_full_vocabulary_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = warnings(caplog, NEWS, max_terms=1000)
    assert "the vocabulary is full after" in message
    assert "max_terms" in message


def test_a_usual_stream_has_no_warnings(caplog: pytest.LogCaptureFixture) -> None:
    assert warnings(caplog, NEWS) == []


def test_check_shows_the_problem() -> None:
    sample = Sample(frozenset(), 0)
    for number, text in enumerate(CLAUSES):
        event = Event(str(number), text, None, None, None)
        sample.add(Record(b"{}"), lambda event=event: event)  # type: ignore[misc]
    lines = list(describe(sample, "reuters2000", False))
    assert [line for line in lines if line.startswith("warning: ")]
    assert not [line for line in describe(sample, "news", False) if line.startswith("warning: ")]
