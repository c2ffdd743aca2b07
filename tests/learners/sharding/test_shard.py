"""Shards learn and rank as one: the same order of topics, the same prototypes to the last bit."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest

from learners.learner import Learner
from learners.options import OptionError
from learners.scores import DenseScores
from learners.sharding import shard as sharded
from learners.sharding.exchange import DisagreementError
from learners.sharding.rounding_bounds import leads_are_certain, order_is_certain, sides_are_certain
from learners.sharding.shard import Shards, shard_state, whole_state
from learners.specs import parse_spec
from tests.learners.test_twins import SPECS, follow
from tests.support.random_streams import Stream, random_stream

DIVISIBLE = [s for s in SPECS if parse_spec(s).build().update_rule]
MODEL = ("rounds", "weights", "lagging")
# How far a score may be from that of an undivided learner, as a share of the largest.
SCORE_BOUND = 1e-12


def with_shards(spec: str, shards: int) -> Shards:
    learner = parse_spec(spec + ("," if ":" in spec else ":") + f"shards={shards}").build()
    assert isinstance(learner, Shards)
    return learner


def random_cuts(seed: int, stream: Stream) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(len(stream.happenings)) for _ in range(rng.choice((0, 2, 20)))]


def orders(emitted: Mapping[int, list[float]]) -> dict[int, list[int]]:
    """Topics best first, ties by index."""
    return {
        row: sorted(range(len(scores)), key=lambda r: (-scores[r], r))
        for row, scores in emitted.items()
    }


def ties(emitted: Mapping[int, list[float]]) -> dict[int, list[list[bool]]]:
    """Which topics are level with which."""
    return {row: [[a == b for a in scores] for b in scores] for row, scores in emitted.items()}


def same_model(one: Learner, other: Learner) -> bool:
    mine, its = one.state(), other.state()
    return all(np.array_equal(mine[key], its[key]) for key in MODEL if key in its)


KINDS = {"any": (), "whole": (-1.0, 1.0, 1.0, 2.0), "tenths": (0.1, 0.2, 0.7, -0.3)}


@pytest.mark.parametrize("spec", DIVISIBLE)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure_every", [3, 256])
def test_shards_are_as_one(
    spec: str, kind: str, measure_every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers make ties, which rounding would make and break; tenths make near ones."""
    monkeypatch.setattr(sharded, "MEASURE_EVERY", measure_every)
    for seed in range(6):
        stream = random_stream(seed, 100, values=KINDS[kind])
        undivided = parse_spec(spec).build()
        expected = with_zero(follow(undivided, stream, []))
        for shards in (2, 3, 8):
            divided = with_shards(spec, shards)
            found = with_zero(follow(divided, stream, random_cuts(seed + shards, stream)))
            assert orders(found) == orders(expected), (seed, shards)
            assert ties(found) == ties(expected), (seed, shards)
            assert same_model(divided, undivided), (seed, shards)
            for row, scores in found.items():
                largest = max(map(abs, expected[row]), default=0.0)
                np.testing.assert_allclose(scores, expected[row], 0, SCORE_BOUND * largest)


def with_zero(emitted: Mapping[int, list[float]]) -> dict[int, list[float]]:
    """With a topic more: one that the labels bring along is measured as if it had scored 0."""
    return {row: [*scores, 0.0] for row, scores in emitted.items()}


def test_no_exchange_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many topics there are; stretches are shorter then, and nothing else is different."""
    stream = random_stream(4, 60)
    undivided = parse_spec("mmp:average=true").build()
    expected = follow(undivided, stream, [])
    monkeypatch.setattr(sharded, "MOST_BYTES", 500)
    divided = with_shards("mmp:average=true", 2)
    given: list[int] = []
    swap = divided._meeting.swap

    def counted(shard: int, number: int, mine: bytes) -> list[bytes]:
        given.append(len(mine) - sharded.DIGEST_BYTES)
        return swap(shard, number, mine)

    monkeypatch.setattr(divided._meeting, "swap", counted)
    assert orders(follow(divided, stream, [])) == orders(expected)
    assert same_model(divided, undivided)
    assert len(given) > 10
    assert max(given) <= 500


def test_shards_that_differ_say_so() -> None:
    learner = with_shards("mmp:margin=0.5", 3)
    learner._shards[1].whole = learner._shards[1].whole._replace(margin=0.6)
    with pytest.raises(DisagreementError, match=r"do not compute the same, as exchange \d"):
        follow(learner, random_stream(2), list(range(0, 100, 5)))


def test_rounding_is_asked_for_its_opinion() -> None:
    """These streams do have steps that only exact scores decide, and stretches end there."""
    stream = random_stream(3, 120, whole_numbers=True)
    divided = with_shards("mmp:loss=1", 2)
    follow(divided, stream, [])
    assert int(divided.state()["exchanges"]) > 1


@pytest.mark.parametrize("spec", DIVISIBLE)
def test_any_number_of_shards_goes_on_from_any_other(spec: str) -> None:
    for seed in range(4):
        stream = random_stream(seed, 90, whole_numbers=seed % 2 == 1)
        undivided = parse_spec(spec).build()
        expected = follow(undivided, stream, [])
        learner, found = parse_spec(spec).build(), {}
        counts = (1, 3, 2, 1, 8)
        for number, shards in enumerate(counts):
            after = with_shards(spec, shards) if shards > 1 else parse_spec(spec).build()
            after.restore(learner.state())
            learner = after
            start, stop = (len(stream.happenings) * n // len(counts) for n in (number, number + 1))
            found.update(follow_between(learner, stream, start, stop))
        assert orders(found) == orders(expected), seed
        assert same_model(learner, undivided), seed


def follow_between(
    learner: Learner, stream: Stream, start: int, stop: int
) -> dict[int, list[float]]:
    segment = stream.segment(start, stop)
    scores = DenseScores.new(len(segment.rows), segment.topics)
    learner.follow(segment, scores)
    rows = stream.rows(start, stop)
    return {
        h.row: scores.matrix[rows.index(h.row), : len(h.known)].tolist()
        for h in stream.happenings[start:stop]
        if h.topics is None
    }


def test_forgetting_terms_divides_too() -> None:
    stream = random_stream(5, 90)
    half = len(stream.happenings) // 2
    learners: list[Learner] = [parse_spec("mmp:average=true").build()]
    learners.append(with_shards("mmp:average=true", 3))
    for learner in learners:
        follow_between(learner, stream, 0, half)
        terms = len(learner.state()["weights"])
        learner.forget(np.arange(0, terms, 2, dtype=np.int64))
    assert same_model(*learners)


def test_a_state_divided_and_joined_is_the_same() -> None:
    learner = with_shards("perceptron:average=true", 3)
    follow(learner, random_stream(1), [])
    state = learner.state()
    parts = [shard_state(state, shard, 5) for shard in range(5)]
    again = whole_state(parts)
    assert again.keys() == state.keys()
    assert all(np.array_equal(again[key], state[key]) for key in state)
    parts[2]["rounds"] = np.array(7)
    with pytest.raises(DisagreementError, match="do not agree on rounds"):
        whole_state(parts)


def test_a_shard_that_fails_takes_the_others_along(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = with_shards("mmp", 3)
    with monkeypatch.context() as patched:
        patched.setattr(learner._shards[1], "_take", lambda *given: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            follow(learner, random_stream(1), [])


@pytest.mark.parametrize("spec", ["rocchio:shards=2", "frequency:shards=3", "arow:shards=2"])
def test_what_cannot_be_divided_says_so(spec: str) -> None:
    with pytest.raises(OptionError, match=r"cannot be .* that can be divided: mmp, perc"):
        parse_spec(spec)


def test_instances_of_a_kernel_cannot_be_divided() -> None:
    with pytest.raises(OptionError, match=r"mmp cannot be divided .* with a kernel"):
        parse_spec("mmp:kernel=poly2,shards=2")


def test_what_is_certain_no_rounding_changes() -> None:
    """Scores moved by anything within their slack decide the same, or nobody was certain."""
    certain = [0, 0, 0]
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        known = int(rng.integers(1, 40))
        past = rng.integers(0, known, known)  # topics with the same past have all else in common
        history = past.astype(np.uint64)
        noise = rng.normal(0, 1e-9, known) * rng.integers(0, 2, known)
        values = (rng.integers(-3, 4, known) + noise)[past]
        touched = (rng.random(known) < rng.random())[past]
        slack = np.where(touched, 10.0 ** rng.integers(-12, -7), 0.0)
        moved = values + slack * rng.uniform(-1, 1, known)[past]
        relevant = np.flatnonzero(rng.random(known) < 0.2).astype(np.int32)
        margin = float(rng.choice((0.0, 1.0)))
        if order_is_certain(values, known, touched, slack, history):
            certain[0] += 1
            before, after = (np.sign(scores[:, None] - scores) for scores in (values, moved))
            assert np.array_equal(before, after)
        if leads_are_certain(values, known, relevant, margin, touched, slack, history):
            certain[1] += 1
            one, two = (scores[relevant][:, None] - scores <= margin for scores in (values, moved))
            assert np.array_equal(one, two)
        if sides_are_certain(values, known, margin, touched, slack):
            certain[2] += 1
            assert np.array_equal(np.abs(values) <= margin, np.abs(moved) <= margin)
    assert all(100 < count < 2900 for count in certain), certain
