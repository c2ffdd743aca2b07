"""Shards equal one undivided learner: the same scores, rankings, places and model, bit for bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import BrokenBarrierError

import numpy as np
import pytest

from learners.learner import Learner
from learners.options import OptionError
from learners.scores import DenseScores
from learners.segment import Rows, Segment, Steps
from learners.sharding.content_checksum import CHECKSUM_BYTES
from learners.sharding.exchange import APART, DisagreementError, ThreadExchange
from learners.sharding.local_shards import Shards
from learners.sharding.parts import divided_state, joined_state
from learners.sharding.shard_scores import ShardScores
from learners.specs import LEARNERS, parse_spec
from tests.learners.test_twins import SPECS, follow
from tests.support.apart_exchange import ApartExchange
from tests.support.random_streams import Stream, random_stream
from tests.support.shard_rankings import Kept, Rankings, take, whole_rankings

DIVISIBLE = [s for s in SPECS if not parse_spec(s).whole_learner().unshardable]
KINDS = {"any": (), "whole": (-1.0, 1.0, 1.0, 2.0), "tenths": (0.1, 0.2, 0.7, -0.3)}
DIGEST = CHECKSUM_BYTES


def with_shards(spec: str, shards: int) -> Shards:
    learner = parse_spec(spec + ("," if ":" in spec else ":") + f"shards={shards}").build()
    assert isinstance(learner, Shards)
    return learner


def random_cuts(seed: int, stream: Stream) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(len(stream.happenings)) for _ in range(rng.choice((0, 2, 20)))]


def assert_same_model(one: Learner, other: Learner) -> None:
    first, second = one.state(), other.state()
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.tobytes() == second[name].tobytes(), name


@pytest.mark.parametrize("spec", DIVISIBLE)
@pytest.mark.parametrize("kind", KINDS)
def test_shards_equal_an_undivided_learner(spec: str, kind: str) -> None:
    """Whole numbers give ties, which rounding could make or break; tenths give near ties."""
    for seed in range(6):
        stream = random_stream(seed, 100, values=KINDS[kind])
        undivided = parse_spec(spec).build()
        expected = follow(undivided, stream, [])
        for shards in (2, 3, 5, 8):
            divided = with_shards(spec, shards)
            emitted = follow(divided, stream, random_cuts(seed + shards, stream))
            assert emitted == expected, (seed, shards)
            assert_same_model(divided, undivided)


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
        assert emitted == expected, seed
        assert_same_model(learner, undivided)


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


@pytest.mark.parametrize("spec", DIVISIBLE)
def test_shards_forget_terms_too(spec: str) -> None:
    stream = random_stream(5, 90)
    half = len(stream.happenings) // 2
    learners: list[Learner] = [parse_spec(spec).build(), with_shards(spec, 3)]
    for learner in learners:
        follow_between(learner, stream, 0, half)
        learner.forget(np.arange(0, 20, 2, dtype=np.int64))
    assert_same_model(*learners)


def rankings_of(
    spec: str, stream: Stream, shards: int, top: int, edges: list[int]
) -> list[Rankings]:
    """The rankings of each shard."""
    exchange = ThreadExchange(shards)
    found: list[Rankings] = [[] for _ in range(shards)]

    def work(number: int) -> None:
        learner = parse_spec(spec).new_shard(exchange.member(number), top)
        kept: Kept = {}
        for start, stop in pairwise(edges):
            found[number].append(take(learner, stream, start, stop, kept))

    with ThreadPoolExecutor(shards) as pool:
        tasks = [pool.submit(exchange.run, work, number) for number in range(shards)]
    errors = [error for task in tasks if (error := task.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):
        raise error
    return found


@pytest.mark.parametrize("spec", ["mmp:loss=1", "mmp:average=true", "perceptron", "soft-arow"])
@pytest.mark.parametrize("top", [0, 1, 3])
def test_shards_rank_and_measure_as_one(spec: str, top: int) -> None:
    for seed, shards in ((0, 2), (1, 3), (2, 5)):
        stream = random_stream(seed, 60, whole_numbers=seed == 1)
        edges = [0, *sorted(random_cuts(seed, stream)), len(stream.happenings)]
        expected, _ = whole_rankings(spec, stream, edges, top)
        for of_shard in rankings_of(spec, stream, shards, top, edges):
            assert of_shard == expected, (seed, shards)


def test_a_state_divided_and_joined_is_the_same() -> None:
    learner = with_shards("committee:size=3", 3)
    follow(learner, random_stream(1), [])
    state, whole = learner.state(), parse_spec("committee:size=3").whole_learner()
    parts = [divided_state(whole, state, shard, 5) for shard in range(5)]
    again = joined_state(whole, parts)
    assert again.keys() == state.keys()
    assert all(np.array_equal(again[key], state[key]) for key in state)
    parts[2]["rounds"] = np.array(7)
    with pytest.raises(DisagreementError, match="do not agree on rounds"):
        joined_state(whole, parts)


def test_states_that_do_not_fit_together_are_refused() -> None:
    learner = with_shards("arow", 2)
    follow(learner, random_stream(1), [])
    whole = parse_spec("arow").whole_learner()
    parts = [divided_state(whole, learner.state(), shard, 2) for shard in range(2)]
    with pytest.raises(DisagreementError, match="topics of weights"):
        joined_state(whole, [parts[0], {**parts[1], "weights": parts[1]["weights"][:, :-2]}])
    with pytest.raises(DisagreementError, match="terms of weights"):
        joined_state(whole, [parts[0], {**parts[1], "weights": parts[1]["weights"][:-1]}])
    with pytest.raises(ValueError, match="variances is missing"):
        joined_state(whole, [parts[0], {k: v for k, v in parts[1].items() if k != "variances"}])


def test_a_shard_that_fails_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = with_shards("mmp", 3)
    with monkeypatch.context() as patched:
        patched.setattr(learner._parts[1], "begin", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            follow(learner, random_stream(1), [])


def test_learners_that_cannot_be_divided_are_refused() -> None:
    able = ", ".join(name for name, kind in LEARNERS.items() if not kind.unshardable)
    assert able == "arow, committee, frequency, mmp, perceptron, rocchio, soft-arow"
    for spec in ("feature-focus:shards=2", "independent:shards=3", "prank:shards=2"):
        with pytest.raises(OptionError, match=f"cannot be divided .* that can be divided: {able}"):
            parse_spec(spec)


def test_instances_of_a_kernel_cannot_be_divided() -> None:
    with pytest.raises(OptionError, match=r"mmp cannot be divided .* with a kernel"):
        parse_spec("mmp:kernel=poly2,shards=2")


class Forged(ApartExchange):
    """The exchange of shard 0 of 2, whose other shard sends what a function makes of its part."""

    shard, shards = 0, 2

    def __init__(self, forge: Callable[[int, bytes], bytes]) -> None:
        self._forge = forge

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        return [part, part[:DIGEST] + self._forge(number, part)]


def honest(number: int) -> bytes:
    """What shard 1 of 2 sends for two topics of its own, with scores of 2 and 1."""
    if number == 0:
        width, order = np.array(2, np.int32), np.array([1, 3], np.int32)
        return width.tobytes() + order.tobytes() + np.array([2.0, 1.0, 2.0]).tobytes()
    return np.array([[0], [1]], np.int32).tobytes()


def forged(number: int, changed: bytes) -> Callable[[int, bytes], bytes]:
    return lambda exchange, part: changed if exchange == number else honest(exchange)


def found(order: list[int], values: list[float], width: int | None = None) -> bytes:
    head = np.array(len(order) if width is None else width, np.int32).tobytes()
    return head + np.array(order, np.int32).tobytes() + np.array(values).tobytes()


def follow_forged(forge: Callable[[int, bytes], bytes]) -> ShardScores:
    """One document with the topics 0 to 3, of which topic 1 is relevant; shard 0 scores 0."""
    shard = parse_spec("perceptron").new_shard(Forged(forge), 0)
    rows = Rows(np.array([0, 1]), np.array([0], np.int32), np.ones(1))
    steps = Steps(
        np.zeros(2, np.int32), np.array([False, True]), np.full(2, 4, np.int32),
        np.array([0, 0, 1]), np.array([1], np.int32), np.full(2, 4, np.int32),
    )  # fmt: skip
    scores = ShardScores.expect(shard.new_scores(1, 4))
    shard.follow(Segment(rows, steps, 1, 4), scores)
    return scores


def test_an_honest_shard_is_believed() -> None:
    scores = follow_forged(lambda number, part: honest(number))
    order, values = scores.best(np.array([4], np.int32), 4)
    assert order.tolist() == [[1, 3, 0, 2]]
    assert values.tolist() == [[2.0, 1.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("number", "payload", "message"),
    [
        (0, b"", "0 bytes"),
        (0, b"123", "3 bytes"),
        (0, honest(0)[:-8], "28 bytes, expected 36"),
        (0, honest(0) + bytes(8), "44 bytes, expected 36"),
        (0, found([1, 3, 5], [3.0, 2.0, 1.0, 2.0]), "3 places of 2 topics"),
        (0, found([1, 3], [2.0, 1.0, 2.0], width=-1), "-1 places"),
        (0, found([1, 2], [2.0, 1.0, 2.0]), "topics of other shards"),
        (0, found([1, 5], [2.0, 1.0, 2.0]), "unknown ones"),
        (0, found([1, -1], [2.0, 1.0, 2.0]), "gaps"),
        (0, found([3, 1], [1.0, 2.0, 2.0]), "not in order"),
        (0, found([3, 1], [2.0, 2.0, 2.0]), "not in order"),
        (0, found([1, 1], [2.0, 2.0, 2.0]), "not in order"),
        (0, found([1, 3], [np.inf, 1.0, 2.0]), "not finite"),
        (0, found([1, 3], [2.0, 1.0, np.nan]), "not finite"),
        (1, honest(1)[:-1], "7 bytes, expected 8"),
        (1, np.array([3, 1], np.int32).tobytes(), "counts of more topics"),
        # A topic that ranks before itself would have a rank behind the last one.
        (1, np.array([2, 1], np.int32).tobytes(), "counts of more topics"),
        (1, np.array([0, -1], np.int32).tobytes(), "counts of more topics"),
        # Topic 1 scores as high as itself, so a count of 0 leaves -1 irrelevant topics.
        (1, np.array([0, 0], np.int32).tobytes(), "fewer than none"),
    ],
)
def test_payloads_that_cannot_be_are_refused(number: int, payload: bytes, message: str) -> None:
    """A record of the scores topic has a correct checksum, whoever wrote it."""
    with pytest.raises(DisagreementError, match=message):
        follow_forged(forged(number, payload))


def test_no_irrelevant_topic_can_be_counted_if_all_are_relevant() -> None:
    """The losses are divided by the number of pairs, of which there are none."""
    rows = Rows(np.array([0, 1]), np.array([0], np.int32), np.ones(1))
    steps = Steps(
        np.zeros(2, np.int32), np.array([False, True]), np.full(2, 4, np.int32),
        np.array([0, 0, 4]), np.arange(4, dtype=np.int32), np.full(2, 4, np.int32),
    )  # fmt: skip
    counts = np.array([[2, 0, 2, 1], [2, 1, 2, 2]], np.int32)

    def forge(number: int, part: bytes) -> bytes:
        return found([1, 3], [2.0, 1.0, 2.0, 1.0]) if number == 0 else counts.tobytes()

    def follow() -> None:
        shard = parse_spec("perceptron").new_shard(Forged(forge), 0)
        shard.follow(Segment(rows, steps, 1, 4), shard.new_scores(1, 4))

    follow()
    counts[1, 1] = 2  # topic 3, which scores less, is counted with topic 1
    with pytest.raises(DisagreementError, match="more topics than are irrelevant"):
        follow()


def test_shards_that_follow_different_documents_disagree() -> None:
    class Other(Forged):
        def swap(
            self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
        ) -> list[bytes]:
            return [part, bytes(DIGEST) + part[DIGEST:]]

    shard = parse_spec("perceptron").new_shard(Other(lambda number, part: part), 0)
    segment = random_stream(1).segment(0, 40)
    with pytest.raises(DisagreementError, match="do not compute the same, as exchange 0 shows"):
        shard.follow(segment, shard.new_scores(len(segment.rows), segment.topics))
