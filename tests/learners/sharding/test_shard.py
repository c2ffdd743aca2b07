"""Shards equal one undivided learner: the same rankings, the same prototypes to the last bit."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from learners.learner import Learner
from learners.options import OptionError
from learners.scores import DenseScores
from learners.segment import Rows, Segment, Steps
from learners.sharding import shard as shard_module
from learners.sharding.exchange import DisagreementError
from learners.sharding.local_shards import Shards
from learners.sharding.shard_state import shard_state, whole_state
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
    first, second = one.state(), other.state()
    return all(np.array_equal(first[key], second[key]) for key in MODEL if key in second)


KINDS = {"any": (), "whole": (-1.0, 1.0, 1.0, 2.0), "tenths": (0.1, 0.2, 0.7, -0.3)}


@pytest.mark.parametrize("spec", DIVISIBLE)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure_every", [3, 256])
def test_shards_equal_an_undivided_learner(
    spec: str, kind: str, measure_every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers give ties, which rounding could make or break; tenths give near ties."""
    monkeypatch.setattr(shard_module, "MEASURE_EVERY", measure_every)
    for seed in range(6):
        stream = random_stream(seed, 100, values=KINDS[kind])
        undivided = parse_spec(spec).build()
        expected = with_zero(follow(undivided, stream, []))
        for shards in (2, 3, 8):
            divided = with_shards(spec, shards)
            emitted = with_zero(follow(divided, stream, random_cuts(seed + shards, stream)))
            assert orders(emitted) == orders(expected), (seed, shards)
            assert ties(emitted) == ties(expected), (seed, shards)
            assert same_model(divided, undivided), (seed, shards)
            for row, scores in emitted.items():
                largest = max(map(abs, expected[row]), default=0.0)
                np.testing.assert_allclose(scores, expected[row], 0, SCORE_BOUND * largest)


def with_zero(emitted: Mapping[int, list[float]]) -> dict[int, list[float]]:
    """Add a topic with the score 0, which is the score of topics that the labels introduce."""
    return {row: [*scores, 0.0] for row, scores in emitted.items()}


def test_no_exchange_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many topics, stretches are shorter; nothing else differs."""
    stream = random_stream(4, 60)
    undivided = parse_spec("mmp:average=true").build()
    expected = follow(undivided, stream, [])
    monkeypatch.setattr(shard_module, "MAX_BYTES", 500)
    divided = with_shards("mmp:average=true", 2)
    sizes: list[int] = []
    swap = divided._exchange.swap

    def counted(shard: int, number: int, part: bytes) -> list[bytes]:
        sizes.append(len(part) - shard_module.DIGEST_BYTES)
        return swap(shard, number, part)

    monkeypatch.setattr(divided._exchange, "swap", counted)
    assert orders(follow(divided, stream, [])) == orders(expected)
    assert same_model(divided, undivided)
    assert len(sizes) > 10
    assert max(sizes) <= 500


def test_shards_that_differ_raise_an_error() -> None:
    learner = with_shards("mmp:margin=0.5", 3)
    learner._shards[1].rule = learner._shards[1].rule._replace(margin=0.6)
    with pytest.raises(DisagreementError, match=r"do not compute the same, as exchange \d"):
        follow(learner, random_stream(2), list(range(0, 100, 5)))


def test_stretches_end_where_rounding_could_decide() -> None:
    """These streams have steps that only exact scores decide, and stretches end there."""
    stream = random_stream(3, 120, whole_numbers=True)
    divided = with_shards("mmp:loss=1", 2)
    follow(divided, stream, [])
    assert int(divided.state()["exchanges"]) > 1


@pytest.mark.parametrize("spec", DIVISIBLE)
def test_any_number_of_shards_continues_from_any_other(spec: str) -> None:
    for seed in range(4):
        stream = random_stream(seed, 90, whole_numbers=seed % 2 == 1)
        undivided = parse_spec(spec).build()
        expected = follow(undivided, stream, [])
        learner, emitted = parse_spec(spec).build(), {}
        counts = (1, 3, 2, 1, 8)
        for number, shards in enumerate(counts):
            after = with_shards(spec, shards) if shards > 1 else parse_spec(spec).build()
            after.restore(learner.state())
            learner = after
            start, stop = (len(stream.happenings) * n // len(counts) for n in (number, number + 1))
            emitted.update(follow_between(learner, stream, start, stop))
        assert orders(emitted) == orders(expected), seed
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


def test_shards_forget_terms_too() -> None:
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


def test_a_shard_that_fails_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = with_shards("mmp", 3)
    with monkeypatch.context() as patched:
        patched.setattr(learner._shards[1], "_take", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            follow(learner, random_stream(1), [])


@pytest.mark.parametrize("spec", ["rocchio:shards=2", "frequency:shards=3", "arow:shards=2"])
def test_learners_that_cannot_be_divided_are_refused(spec: str) -> None:
    with pytest.raises(OptionError, match=r"cannot be .* that can be divided: mmp, perc"):
        parse_spec(spec)


def test_instances_of_a_kernel_cannot_be_divided() -> None:
    with pytest.raises(OptionError, match=r"mmp cannot be divided .* with a kernel"):
        parse_spec("mmp:kernel=poly2,shards=2")


class Forged:
    """The exchange of shard 0 of 2, whose other shard sends what a function makes of a part."""

    shard, shards = 0, 2

    def __init__(self, forge: Callable[[bytes], bytes]) -> None:
        self._forge = forge

    def swap(self, number: int, part: bytes) -> list[bytes]:
        return [part, self._forge(part)]


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda part: part[:-8], "bytes in exchange 0"),
        (lambda part: part + bytes(8), "bytes in exchange 0"),
        (lambda part: part[:-3], "bytes in exchange 0"),
        (lambda part: part[:16], "sent 0 bytes in exchange 0"),
        (lambda part: part[:-8] + np.array([np.nan]).tobytes(), "numbers that are not finite"),
        (lambda part: part[:-8] + np.array([np.inf]).tobytes(), "numbers that are not finite"),
        (lambda part: part[:3], "do not compute the same"),
    ],
)
def test_numbers_that_cannot_be_scores_are_refused(
    forge: Callable[[bytes], bytes], message: str, average: bool
) -> None:
    """A record of the scores topic has a correct checksum, whoever wrote it."""
    rule = parse_spec(f"mmp:average={average}".lower()).update_rule()
    shard = shard_module.Shard(rule, Forged(forge))
    rows = Rows(np.array([0, 1]), np.array([0], np.int32), np.ones(1))
    one, zeros = np.ones(1, np.int32), np.zeros(1, np.int32)
    steps = Steps(zeros, np.zeros(1, np.bool_), 4 * one, np.zeros(2, np.int64), zeros, 4 * one)
    with pytest.raises(DisagreementError, match=message):
        shard.follow(Segment(rows, steps, 1, 4), DenseScores(np.zeros((1, 4))))
