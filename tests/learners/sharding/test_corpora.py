"""Divided lanes on real corpora: the results do not depend on shards or block sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from learners.arrays import Floats
from learners.specs import parse_spec
from pipeline.corpora import open_source
from pipeline.engine.engine import Engine
from pipeline.events.event import Event, parse_event
from pipeline.log.block import make_block
from pipeline.text.tokenizer import Tokenizer

LANES = ("mmp:loss=1", "mmp:loss=3,margin=0.5,norm=l2", "perceptron:average=true")
CORPORA = ("synthetic", "reuters21578", "newsgroups")
SOME, MORE = 400, 6_000
SCORE_BOUND = 1e-12
MODEL = ("rounds", "weights", "lagging")


class Outcome(NamedTuple):
    """Everything that lanes computed for a stream."""

    orders: list[list[list[int]]]  # for each lane and document: the topics, best first
    scores: list[list[Floats]]
    models: list[bytes]
    curves: list[bytes]


@cache
def events_of(source: str, documents: int) -> list[Event]:
    return [parse_event(raw) for raw in islice(open_source(source), documents)]


def outcome(events: list[Event], shards: int, block: int) -> Outcome:
    specs = [parse_spec(f"{lane},shards={shards}") for lane in LANES]
    engine, tokenizer = Engine(specs), Tokenizer()
    scores: list[list[Floats]] = [[] for _ in specs]
    for start in range(0, len(events), block):
        for ranked in engine.process(make_block(events[start : start + block], tokenizer)):
            for kept, lane in zip(scores, ranked.scores, strict=True):
                kept += [
                    lane.row(row, known) for row, known in enumerate(ranked.known_topics.tolist())
                ]
    engine.close()
    orders = [[np.argsort(-row, kind="stable").tolist() for row in lane] for lane in scores]
    states = [lane.learner.state() for lane in engine.lanes]
    models = [state[name].tobytes() for state in states for name in MODEL if name in state]
    return Outcome(orders, scores, models, [lane.curve.tally().tobytes() for lane in engine.lanes])


def assert_same(actual: Outcome, expected: Outcome) -> None:
    assert actual.orders == expected.orders
    assert actual.models == expected.models
    assert actual.curves == expected.curves
    pairs = zip(chain(*actual.scores), chain(*expected.scores), strict=True)
    for row, expected_row in pairs:
        largest = np.abs(expected_row).max(initial=0.0)
        np.testing.assert_allclose(row, expected_row, rtol=0, atol=SCORE_BOUND * largest)


@pytest.fixture(params=CORPORA)
def source(request: pytest.FixtureRequest, shared_corpus: Callable[[str], Path]) -> str:
    if request.param == "synthetic":
        return f"synthetic:{MORE}"
    return f"{request.param}:{shared_corpus(request.param)}"


def test_any_number_of_shards_and_any_block(source: str) -> None:
    events = events_of(source, SOME)
    expected = outcome(events, 1, 512)
    for shards in (1, 2, 3, 8):
        for block in (1, 16, 512):
            assert_same(outcome(events, shards, block), expected)


def test_many_documents(source: str) -> None:
    events = events_of(source, MORE)
    assert_same(outcome(events, 3, 512), outcome(events, 1, 512))
