"""Shards of MMP equal an undivided MMP to the last bit: every score, and every prototype."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import BrokenBarrierError
from typing import NamedTuple

import numpy as np
import pytest

from learners.arrays import Floats, Longs
from learners.checks import InvalidArrayError
from learners.prototypes.mmp import MMP
from learners.scores import DenseScores
from learners.segment import Rows, Segment, Steps
from learners.sharding import mmp_shard
from learners.sharding.divisible_mmp import divisible_state
from learners.sharding.exchange import APART, DisagreementError, Exchange, ThreadExchange
from learners.sharding.local_shards import learn_apart
from learners.sharding.mmp_shard import MMPShard
from learners.sharding.topic_slice import owned
from tests.support.apart_exchange import ApartExchange
from tests.support.random_streams import Stream, random_stream

KINDS = {"any": (), "whole": (-1.0, 1.0, 1.0, 2.0), "tenths": (0.1, 0.2, 0.7), "ones": (1.0,)}
SHARDS = (1, 2, 3, 5)


class Options(NamedTuple):
    loss: int = 1
    margin: float = 0.0
    average: bool = False


ALL_OPTIONS = [
    Options(loss, margin, average)
    for loss in (1, 2, 3)
    for margin in (0.0, 0.5)
    for average in (False, True)
]


class Together:
    """All shards of one MMP, one thread each."""

    def __init__(self, options: Options, shards: int) -> None:
        self.exchange = ThreadExchange(shards)
        self.shards = [MMPShard(self.exchange.member(i), *options) for i in range(shards)]

    def learn(self, segment: Segment) -> Floats:
        count = len(self.shards)
        parts = [
            np.full((len(segment.rows), owned(segment.topics, i, count)), np.nan)
            for i in range(count)
        ]
        with ThreadPoolExecutor(count) as pool:
            tasks = [
                pool.submit(self.exchange.run, learn_apart, shard, segment, part)
                for shard, part in zip(self.shards, parts, strict=True)
            ]
        for task in tasks:
            task.result()
        scores = np.zeros((len(segment.rows), segment.topics))
        for i, part in enumerate(parts):
            scores[:, i::count] = part
        return scores

    def weights(self, name: str = "weights") -> Floats:
        states = [shard.state() for shard in self.shards]
        whole = np.zeros((len(states[0][name]), len(states[0]["mass"])))
        for i, state in enumerate(states):
            whole[:, i :: len(states)] = state[name]
        return whole


def undivided(options: Options) -> MMP:
    return MMP(loss=options.loss, margin=options.margin, average=options.average)


def ranked_bytes(segment: Segment, scores: Floats) -> list[bytes]:
    """The scores of every ranking step."""
    steps = segment.steps
    return [
        scores[row, :known].tobytes()
        for row, known, learn in zip(steps.row, steps.known, steps.learn, strict=True)
        if not learn
    ]


def follow_both(learner: MMP, together: Together, segment: Segment) -> None:
    scores = DenseScores.new(len(segment.rows), segment.topics)
    learner.follow(segment, scores)
    emitted = together.learn(segment)
    assert ranked_bytes(segment, emitted) == ranked_bytes(segment, scores.matrix)


def assert_same_model(learner: MMP, together: Together) -> None:
    state = learner.state()
    assert [shard.rounds for shard in together.shards] == [learner.rounds] * len(together.shards)
    for name in ("weights", "lagging"):
        if name in state:
            assert together.weights(name).tobytes() == state[name].tobytes()


def random_cuts(seed: int, stream: Stream) -> list[tuple[int, int]]:
    rng, length = random.Random(seed), len(stream.happenings)
    cuts = {rng.randrange(length) for _ in range(rng.choice((0, 2, 20)))}
    return list(pairwise(sorted({0, *cuts, length})))


@pytest.mark.parametrize("options", ALL_OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_shards_equal_an_undivided_learner(
    options: Options, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers give ties, which rounding could make or break; tenths give near ties."""
    for seed in range(2):
        monkeypatch.setattr(mmp_shard, "MEASURE_EVERY", (3, 256)[seed % 2])
        stream = random_stream(seed, 100, values=KINDS[kind])
        for shards in SHARDS:
            learner, together = undivided(options), Together(options, shards)
            for start, stop in random_cuts(10 * seed + shards, stream):
                follow_both(learner, together, stream.segment(start, stop))
            assert_same_model(learner, together)


def topical_segment(seed: int, topics: int, rows: int, first: int = 0) -> Segment:
    """Documents about some of many topics, most topics rare; ranked and learned at once.

    Topics below `first` are known before; the others become known in order, with the label.
    """
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(1.0, topics + 1)
    terms, values, labels = list[Longs](), list[Floats](), list[Longs]()
    known, starts = list[int](), [0]
    seen = first
    for row in range(rows):
        about = rng.choice(topics, rng.integers(0, 4), replace=False, p=chance / chance.sum())
        about = np.unique(np.where(about < seen, about, np.minimum(seen, topics - 1)))
        if row % 50 == 49:
            about = np.arange(seen)
        signals = (5 * about[:3, None] + np.arange(5)).ravel()
        words = np.unique(np.concatenate((signals, rng.integers(0, 5 * topics, 8))))
        terms.append(words[rng.random(len(words)) < 0.7])
        values.append(rng.exponential(1.0, len(terms[-1])) + 0.1)
        starts.append(starts[-1] + len(terms[-1]))
        before, seen = seen, max([seen, *(about + 1)])
        known += [before, seen]
        labels += [about[:0], about]
    ends = np.cumsum([0, *map(len, labels)]).astype(np.int64)
    steps = Steps(
        np.repeat(np.arange(rows, dtype=np.int32), 2),
        np.tile(np.array([False, True]), rows),
        np.array(known, np.int32),
        ends,
        np.concatenate(labels).astype(np.int32),
        np.array(known, np.int32),
    )
    matrix = Rows(
        np.array(starts, np.int64), np.concatenate(terms).astype(np.int32), np.concatenate(values)
    )
    return Segment(matrix, steps, 5 * topics, seen)


@pytest.mark.parametrize("options", [Options(1), Options(3, 0.2, True), Options(2, 1.0)])
@pytest.mark.parametrize("shards", [2, 3])
def test_most_topics_are_never_sent(options: Options, shards: int) -> None:
    """Stretches end for every reason, and the results are those of an undivided learner."""
    learner, together = undivided(options), Together(options, shards)
    known = 0
    for seed in range(6):
        segment = topical_segment(seed, 300, 200, known)
        follow_both(learner, together, segment)
        known = segment.topics
    assert_same_model(learner, together)
    sent = sum(shard.sent_bytes for shard in together.shards)
    assert sent < 8 * 300 * 6 * 200 / 2


@pytest.mark.parametrize("loss", [1, 2, 3])
def test_a_new_lane_needs_few_exchanges(loss: int) -> None:
    """At first nearly all topics are level. Shards know which ones are, to the last bit."""
    options = Options(loss)
    learner, together = undivided(options), Together(options, 2)
    follow_both(learner, together, topical_segment(1, 300, 200, first=300))
    assert_same_model(learner, together)
    assert together.shards[0].exchanges <= 10  # with ties that are not known it is about 56


@pytest.mark.parametrize("options", [Options(1), Options(3, 0.5, True)])
def test_shards_continue_from_their_states(options: Options) -> None:
    """Shards that start from states in the middle, as after a crash, do what the first ones did."""
    learner, together = undivided(options), Together(options, 3)
    for seed in range(3):
        follow_both(learner, together, topical_segment(seed, 60, 80, 60 if seed else 0))
        keep = np.arange(0, 250, dtype=np.int64)
        learner.forget(keep)
        again = Together(options, 3)
        for before, after in zip(together.shards, again.shards, strict=True):
            before.forget(keep)
            after.restore(before.state())
        together = again
    assert_same_model(learner, together)


@pytest.mark.parametrize("options", [Options(1), Options(2, 0.5, True)])
def test_shards_continue_from_an_undivided_learner(options: Options) -> None:
    learner = undivided(options)
    first = topical_segment(1, 60, 80)
    learner.follow(first, DenseScores.new(len(first.rows), first.topics))
    together, whole = Together(options, 2), divisible_state(learner.state())
    for number, shard in enumerate(together.shards):
        own = {name: np.ascontiguousarray(whole[name][:, number::2]) for name in MMPShard.topic_axes
               if name in whole}  # fmt: skip
        shard.restore({**whole, **own})
    follow_both(learner, together, topical_segment(2, 60, 80, first.topics))
    assert_same_model(learner, together)


def test_a_segment_without_labels_needs_no_exchange() -> None:
    stream = random_stream(3, 30)
    ranked = [h for h in stream.happenings if h.topics is None]
    stream.happenings = ranked
    together = Together(Options(), 2)
    follow_both(undivided(Options()), together, stream.segment(0, len(ranked)))
    assert together.shards[0].exchanges == 0


def test_shards_that_differ_raise_an_error() -> None:
    together = Together(Options(), 3)
    together.shards[1].margin = 0.25
    with pytest.raises((DisagreementError, BrokenBarrierError)):
        together.learn(topical_segment(1, 30, 20))


class NoMorePartsError(Exception):
    """More stretches than were recorded, since other scores end them elsewhere."""


def damaged(part: bytes, rng: random.Random) -> bytes:
    changed = bytearray(part)
    place = rng.randrange(16, len(part))
    kind = rng.randrange(3)
    if kind == 0:
        changed[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del changed[place:]
    else:
        changed[place : place + 8] = rng.randbytes(8)
    return bytes(changed)


class Forged(ApartExchange):
    """The exchange of shard 0 of 2, whose other shard sends what a function makes of a part."""

    shard, shards = 0, 2

    def __init__(self, others: list[bytes], forge: Callable[[int, bytes], bytes]) -> None:
        self._others, self._forge = others, forge

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        if number >= len(self._others):
            raise NoMorePartsError
        return [part, self._forge(number, self._others[number])]


class Recorded(ApartExchange):
    """The exchange of one shard, which remembers what shard 1 sent."""

    def __init__(self, exchange: Exchange, parts: list[bytes]) -> None:
        self._exchange, self._parts = exchange, parts
        self.shard, self.shards = exchange.shard, exchange.shards

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        parts = self._exchange.swap(number, part)
        self._parts.append(parts[1])
        return parts


@pytest.fixture(scope="module")
def sent_by_shard_1() -> list[bytes]:
    together, parts = Together(Options(), 2), list[bytes]()
    together.shards[0].exchange = Recorded(together.shards[0].exchange, parts)
    together.learn(topical_segment(1, 40, 40))
    return parts


def test_random_changes_are_refused_or_harmless(sent_by_shard_1: list[bytes]) -> None:
    """Whatever a shard sends, the others raise one kind of error or go on; no kernel breaks."""
    segment, refused = topical_segment(1, 40, 40), 0
    for seed in range(150):
        rng = random.Random(seed)
        target = rng.randrange(2)

        def forge(
            number: int, part: bytes, rng: random.Random = rng, target: int = target
        ) -> bytes:
            if number != target:
                return part
            changed = bytearray(part)
            match rng.randrange(3):
                case 0:
                    changed[rng.randrange(16, len(part))] ^= 1 << rng.randrange(8)
                case 1:
                    del changed[rng.randrange(len(part)) :]
                case _:
                    changed[rng.randrange(16, len(part)) :: 7] = b""
            return bytes(changed)

        shard = MMPShard(Forged(sent_by_shard_1, forge), *Options())
        own = np.zeros((len(segment.rows), owned(segment.topics, 0, 2)))
        try:
            learn_apart(shard, segment, own)
        except DisagreementError:
            refused += 1
        except NoMorePartsError:
            pass
    assert refused > 50


@pytest.mark.parametrize(
    ("number", "at", "replaced", "message"),
    [
        (0, 0, b"x", "do not compute the same"),
        (1, 0, b"x", "do not compute the same"),
        (0, -8, np.array([np.nan]).tobytes(), "numbers that are not finite"),
        (1, 16, np.array([1 << 31], np.uint32).tobytes(), "more topics than exist"),
    ],
)
def test_numbers_that_cannot_be_scores_are_refused(
    number: int, at: int, replaced: bytes, message: str, sent_by_shard_1: list[bytes]
) -> None:
    def forge(exchange: int, part: bytes) -> bytes:
        if exchange != number:
            return part
        changed, start = bytearray(part), at % len(part)
        changed[start : start + len(replaced)] = replaced
        return bytes(changed)

    segment = topical_segment(1, 40, 40)
    shard = MMPShard(Forged(sent_by_shard_1, forge), *Options())
    with pytest.raises(DisagreementError, match=message):
        own = np.zeros((len(segment.rows), owned(segment.topics, 0, 2)))
        learn_apart(shard, segment, own)


def test_states_that_cannot_be_are_refused() -> None:
    together = Together(Options(average=True), 2)
    together.learn(topical_segment(1, 40, 40))
    state = together.shards[1].state()
    for name, array in (
        ("mass", np.full(len(state["mass"]), -1.0)),
        ("stretch", np.array(1)),
        ("expected", np.array([np.nan, 0.0])),
        ("weights", state["weights"][:, 1:]),
        ("lagging", state["lagging"][1:]),
        ("history", state["history"][1:]),
    ):
        with pytest.raises(InvalidArrayError, match=name):
            together.shards[1].restore({**state, name: array})
