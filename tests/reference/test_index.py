"""The index lanes against an independent implementation, on random streams.

Scores agree to the last digits and rankings in every place, ties too: votes are sums of positive
numbers in the order of the document's features, here and there.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from learners.index.base import IndexLearner
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.events.event import parse_event
from pipeline.log.block import make_block
from pipeline.text.terms import words_of
from pipeline.text.tokenizer import Tokenizer
from tests.reference.index import Connections, FeatureFocus, Independent
from tests.reference.stream import Result, replay
from tests.reference.test_stream import KINDS, TOPICS, check_stream, stream
from tests.reference.vectors import Event

LANES = (
    "feature-focus",
    "feature-focus:margin=0.1",
    "feature-focus:margin=0.5,norm=none",
    "feature-focus:margin=1,boolean=true",
    "feature-focus:margin=7,boolean=true,norm=none,name=both ways to say it",
    "feature-focus:w_min=0.3",
    "feature-focus:w_min=0.6,leak=false,margin=1,norm=none,boolean=true",
    "feature-focus:w_min=1,margin=1",
    "feature-focus:w_min=1,leak=false,margin=1",
    "feature-focus:leak=false,w_min=0.2,margin=0.5",
    "feature-focus:d_max=1,margin=1",
    "feature-focus:d_max=2,rating=false",
    "feature-focus:d_max=0,w_min=0,margin=0.5",
    "feature-focus:memory=2,margin=0.5",
    "feature-focus:memory=3,leak=false,w_min=0.2,margin=1",
    "feature-focus:memory=0.3,w_min=0,margin=3,boolean=true,rating=false",
    "independent",
    "independent:p_ind=0.3",
    "independent:p_ind=1",
    "independent:p_ind=0.1,norm=l2",
)


def near(value: float, expected: float) -> bool:
    return math.isclose(value, expected, rel_tol=1e-12)


def compare_scores(written: bytes, expected: dict[str, Result]) -> None:
    """Scores once more, by a finer measure than the other lanes can be held to."""
    references = {
        (lane, one["id"]): one["ranking"]
        for lane, result in expected.items()
        for one in result.rankings
    }
    for line in map(json.loads, written.splitlines()):
        reference = references[line["lane"], line["id"]]
        for ours, theirs in zip(line["ranking"], reference, strict=True):
            assert near(ours["score"], theirs["score"]), f"{line['lane']}, {line['id']}: {ours}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20, 22))
def test_random_streams(tmp_path: Path, kind: str, seed: int) -> None:
    outcome, expected = check_stream(
        tmp_path, stream(kind, seed, 120), LANES, declare=seed % 2 == 1
    )
    compare_scores(outcome.rankings, expected)


# Streams that reach the limits


def many_topics(seed: int) -> list[Event]:
    """More topics than the fifty best, now and then more true ones; few features of any value."""
    rng = random.Random(seed)
    events: list[Event] = []
    for number in range(250):
        names = rng.sample("abcde", rng.randint(1, 3))
        many = rng.random() < 0.15
        topics = rng.sample(range(70), rng.randint(52, 69) if many else rng.randint(1, 3))
        features = {name: rng.choice([0.25, 0.5, 1, 2, 3]) for name in names}
        if number % 25 >= 21:  # all level at first: the topic index says which the fifty best are
            features, topics = {f"{number // 25}": 1}, rng.sample(range(5, 65), 60)
        named = [f"t{topic}" for topic in topics]
        events.append({"id": str(number), "features": features, "topics": named})
    return events


def skewed(seed: int) -> list[Event]:
    """Few features, seen hundreds of times with few common and many rare topics."""
    rng = random.Random(seed)
    events: list[Event] = []
    for number in range(700):
        names = rng.sample("abcdefgh", rng.randint(1, 4))
        topics = dict.fromkeys(f"t{int(40 * rng.random() ** 3)}" for _ in range(rng.randint(1, 2)))
        features = {name: 1 if rng.random() < 0.7 else rng.randint(1, 3) for name in names}
        events.append({"id": str(number), "features": features, "topics": list(topics)})
    return events


def far_apart(seed: int) -> list[Event]:
    """Values of which one is nothing beside the other: a gain that leaves a weight as it was."""
    rng = random.Random(seed)
    events: list[Event] = []
    for number in range(150):
        names = rng.sample("abcdef", rng.randint(1, 4))
        features = {name: 10.0 ** rng.choice([-70, -30, 0, 30, 75]) for name in names}
        topics = [f"t{rng.randrange(6)}" for _ in range(rng.randint(1, 2))]
        events.append({"id": str(number), "features": features, "topics": topics})
    return events


LIMITS = (
    "feature-focus:d_max=1,margin=1",
    "feature-focus:d_max=2,rating=false,norm=none",
    "feature-focus:margin=0.5",
    "feature-focus:margin=0,d_max=0,w_min=0",
    "feature-focus:margin=0,d_max=0,w_min=0,boolean=true,rating=false",
    "feature-focus:margin=9,boolean=true",
    "feature-focus:margin=9,boolean=true,leak=false",
    "feature-focus:margin=9,boolean=true,d_max=3,memory=64",
    "feature-focus:margin=0.1,d_max=5,w_min=0.002",
    "independent:p_ind=0.05",
)


@pytest.mark.parametrize(
    "events",
    [many_topics(1), skewed(2), far_apart(3)],
    ids=["many topics", "skewed", "far apart"],
)
def test_limits_of_the_index(tmp_path: Path, events: list[Event]) -> None:
    outcome, expected = check_stream(tmp_path, events, LIMITS, declare=False)
    compare_scores(outcome.rankings, expected)


# What was learned


def indexes(events: Sequence[Event], block: int) -> tuple[list[str], list[dict[str, Connections]]]:
    """Topics, and of each of `LANES` the connections of every feature the product has learned."""
    engine = Engine([parse_spec(lane) for lane in LANES])
    parsed = [parse_event(json.dumps(event).encode()) for event in events]
    tokenizer = Tokenizer()
    for start in range(0, len(parsed), block):
        for _ in engine.process(make_block(parsed[start : start + block], tokenizer)):
            pass
    engine.close()
    words = words_of(engine.vocabulary.table)
    collected = []
    for lane in engine.lanes:
        assert isinstance(lane.learner, IndexLearner)
        collected.append(connections(lane.learner, words))
    return list(engine.topics.names), collected


def connections(learner: IndexLearner, words: Sequence[str]) -> dict[str, Connections]:
    """The state of a learner by the names of features; those it never saw are left out."""
    state = {name: array.tolist() for name, array in learner.state().items()}
    lists: dict[str, Connections] = {}
    at = 0
    for feature, count in enumerate(state["count"]):
        one = slice(at, at + count)
        at += count
        lists[words[feature]] = Connections(
            state["classes"][one],
            state["weights"][one],
            state["total"][feature],
            state["seen"][feature],
        )
    assert at == len(state["classes"]) == len(state["weights"])
    return {name: one for name, one in lists.items() if one.seen or one.total or one.classes}


def compare_index(index: dict[str, Connections], expected: dict[str, Connections]) -> None:
    assert index.keys() == expected.keys()
    for name, one in index.items():
        other = expected[name]
        assert one.seen == other.seen, name
        assert near(one.total, other.total), f"{name}: {one}, not {other}"
        assert one.classes == other.classes, f"{name}: {one}, not {other}"
        assert all(map(near, one.weights, other.weights)), f"{name}: {one}, not {other}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 1000])
def test_connections(kind: str, block: int) -> None:
    events = stream(kind, 30, 150)
    topics, actual = indexes(events, block)
    assert set(topics) <= set(TOPICS)
    results = replay(events, LANES)
    for index, result in zip(actual, results.values(), strict=True):
        if isinstance(result.learner, FeatureFocus):
            compare_index(index, result.learner.features)
        else:
            assert isinstance(result.learner, Independent)
            compare_shares(index, result.learner)


def compare_shares(index: dict[str, Connections], learner: Independent) -> None:
    assert {name: one.total for name, one in index.items()} == learner.documents
    for name, one in index.items():
        assert dict(zip(one.classes, one.weights, strict=True)) == learner.carried[name]
