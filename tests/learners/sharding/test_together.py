"""Shards that meet in shared memory equal one undivided learner, also when they are killed there.

Some segments are taken together and some apart. Shards are killed at random, start over from their
last snapshot, and may then be on another machine, where they do not find the memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from learners.learner import State
from learners.segment import Segment
from learners.sharding import gathering, mmp_meeting
from learners.sharding.content_checksum import CHECKSUM_BYTES, content_checksum
from learners.sharding.exchange import (
    TOGETHER,
    DisagreementError,
    NoLongerTogetherError,
    Sent,
    ThreadExchange,
)
from learners.sharding.meeting_place import MAX_LABELS, ThreadPlace
from learners.sharding.mmp_meeting import recall_meeting
from learners.sharding.mmp_shard import MMPShard
from learners.sharding.parts import joined_state
from learners.sharding.shard import Shard
from learners.specs import parse_spec
from tests.learners.sharding.test_shard import DIVISIBLE, KINDS
from tests.support.apart_exchange import ApartExchange
from tests.support.random_streams import Stream, random_stream
from tests.support.shard_rankings import Kept, Rankings, take, whole_rankings
from tests.support.shard_topic import (
    KilledError,
    Life,
    Room,
    Topic,
    in_threads,
    uses_of_a_life,
)

MMP = ["mmp:loss=1", "mmp:loss=2,margin=0.5", "mmp:loss=3,average=true", "mmp:margin=0.3"]


def edges_of(stream: Stream, rng: random.Random) -> list[int]:
    length = len(stream.happenings)
    cuts = {rng.randrange(length) for _ in range(rng.choice((0, 2, 20)))}
    return sorted({0, length, *cuts})


@pytest.mark.parametrize("spec", DIVISIBLE)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("always", [True, False])
def test_shards_that_meet_equal_an_undivided_learner(
    spec: str, kind: str, always: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together always, or only at times. Shards then measure the prototypes of others again."""
    if not always:
        monkeypatch.setattr(Shard, "_fits", lambda self, _: self.part.exchanges * 7 % 3 != 0)
    for seed, shards, top in ((0, 2, 3), (1, 3, 1), (2, 5, 0)):
        rng = random.Random(seed)
        stream = random_stream(seed, 80, values=KINDS[kind])
        edges = edges_of(stream, rng)
        expected, model = whole_rankings(spec, stream, edges, top)
        exchange = ThreadExchange(shards, ThreadPlace(shards))
        members = map(exchange.member, range(shards))
        divided = [parse_spec(spec).new_shard(member, top) for member in members]
        found: list[Rankings] = [[] for _ in divided]

        def work(number: int) -> None:
            kept: Kept = {}
            for start, stop in pairwise(edges):  # noqa: B023
                ranked = take(divided[number], stream, start, stop, kept)  # noqa: B023
                found[number].append(ranked)  # noqa: B023

        in_threads([partial(exchange.run, work, number) for number in range(shards)])
        assert found == [expected] * shards, (seed, shards)
        whole = joined_state(parse_spec(spec).whole_learner(), [one.state() for one in divided])
        assert {name: array.tobytes() for name, array in whole.items()} == {
            name: array.tobytes() for name, array in model.items()
        }


class Snapshot(NamedTuple):
    """What a shard starts over from."""

    segment: int
    state: State | None
    kept: Kept


class MortalShard:
    """A shard that is killed now and then, and starts over from a snapshot."""

    def __init__(
        self, spec: str, stream: Stream, edges: list[int], top: int, topic: Topic, room: Room,
        number: int, kills: int, seed: int,
    ) -> None:  # fmt: skip
        self._spec, self._stream, self._edges, self._top = spec, stream, edges, top
        self._topic, self._room, self._number, self._kills = topic, room, number, kills
        self._rng = random.Random(100 * seed + number)
        self._snapshot = Snapshot(0, None, {})
        self.rankings: dict[int, tuple[object, ...]] = {}
        self.state: State = {}
        self.restarts = 0  # because others no longer met

    def run(self) -> None:
        """Follow the whole stream, in as many lives as it takes."""
        while not self.state:
            moved = self._kills > 0 and self._rng.random() < 0.2
            uses = uses_of_a_life(self._rng) if self._kills > 0 else None
            self._kills -= 1
            if not moved:
                self._room.enter(self._number)
            try:
                self._live(Life(self._topic, self._number, None if moved else self._room, uses))
            except KilledError:
                pass
            except NoLongerTogetherError:
                self.restarts += 1
            finally:
                self._room.leave(self._number)

    def _live(self, life: Life) -> None:
        shard = parse_spec(self._spec).new_shard(life, self._top)
        first, state, kept = self._snapshot
        kept = dict(kept)
        if state is not None:
            shard.restore(state)
        for segment, (start, stop) in enumerate(pairwise(self._edges)):
            if segment < first:
                continue
            ranked = take(shard, self._stream, start, stop, kept)
            assert self.rankings.setdefault(segment, ranked) == ranked
            if self._rng.random() < 0.4:
                self._snapshot = Snapshot(segment + 1, shard.state(), dict(kept))
        self.state = shard.state()


@pytest.mark.parametrize("spec", [*MMP, "perceptron", "soft-arow"])
@pytest.mark.parametrize("shards", [2, 3, 5])
def test_shards_are_killed_where_they_meet(
    spec: str, shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (gathering, mmp_meeting):
        monkeypatch.setattr(module, "PATIENCE", 100)
    for seed in range(6):
        rng = random.Random(seed)
        stream = random_stream(seed, 80, values=(-1.0, 1.0, 1.0, 2.0) if seed % 2 else ())
        edges = sorted({*edges_of(stream, rng), *range(0, len(stream.happenings), 15)})
        expected, model = whole_rankings(spec, stream, edges, 3)
        topic, room = Topic(shards), Room(shards)
        mortal = [
            MortalShard(spec, stream, edges, 3, topic, room, number, 8, seed)
            for number in range(shards)
        ]
        in_threads([shard.run for shard in mortal])
        for shard in mortal:
            assert [shard.rankings[n] for n in range(len(edges) - 1)] == expected, (seed, shards)
        states = [shard.state for shard in mortal]
        whole = joined_state(parse_spec(spec).whole_learner(), states)
        for name, array in model.items():
            assert array.tobytes() == whole[name].tobytes(), name


class Recalling(ApartExchange):
    """The exchange of shard 0 of 2 that finds the record of a segment which both took together."""

    shard, shards = 0, 2

    def __init__(self, record: bytes) -> None:
        self._record = record

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = TOGETHER
    ) -> list[bytes]:
        return [part, self._record]

    def sent(self, number: int) -> Sent | None:
        return Sent(TOGETHER, self._record)


def recorded(spec: str, segment: Segment) -> bytes:
    """The record of a segment that two shards have taken together."""
    exchange, records = ThreadExchange(2, ThreadPlace(2)), list[bytes]()

    def work(number: int) -> None:
        shard = parse_spec(spec).new_shard(exchange.member(number), 3)
        swap = shard.exchange.swap

        def record(number: int, part: bytes, **options: object) -> list[bytes]:
            records.append(part)
            return swap(number, part)

        shard.exchange.swap = record  # type: ignore[method-assign]
        shard.follow(segment, shard.new_scores(len(segment.rows), segment.topics))

    in_threads([partial(exchange.run, work, number) for number in range(2)])
    assert len(records) == 2
    assert records[0] == records[1]
    return records[0]


@pytest.mark.parametrize("spec", ["mmp:loss=1", "arow"])
def test_a_record_that_was_changed_is_refused(spec: str) -> None:
    """Every cut, and most changes of a bit: none of them reaches a kernel unchecked."""
    segment = random_stream(3, 60).segment(0, 60)
    record, rng, refused = recorded(spec, segment), random.Random(3), 0
    for turn in range(200):
        changed = bytearray(record)
        if turn % 2:
            del changed[rng.randrange(len(changed)) :]
        else:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        shard = parse_spec(spec).new_shard(Recalling(bytes(changed)), 3)
        try:
            shard.follow(segment, shard.new_scores(len(segment.rows), segment.topics))
        except DisagreementError:
            refused += 1
        else:
            assert turn % 2 == 0
    assert refused > 120


def test_minutes_that_cannot_be_reach_no_kernel() -> None:
    segment = random_stream(3, 60).segment(0, 60)
    steps = segment.steps
    relevant = np.diff(steps.label_starts)
    most = np.repeat(steps.known - relevant, relevant).astype(np.int32)
    leads = np.zeros(len(most)).tobytes()

    def take(*arguments: object) -> int:
        raise AssertionError("a kernel was called")

    whole = leads + most.tobytes()
    for size in (*range(len(whole)), len(whole) + 4):
        with pytest.raises(ValueError, match=f"{size} bytes of minutes, expected {len(whole)}"):
            recall_meeting(segment, 0, memoryview((whole + bytes(4))[:size]), take)
    for place in range(len(most)):
        for count in (-1, int(most[place]) + 1):
            wrong = most.copy()
            wrong[place] = count
            with pytest.raises(ValueError, match="more topics than are irrelevant"):
                recall_meeting(segment, 0, memoryview(leads + wrong.tobytes()), take)
    with pytest.raises(AssertionError, match="a kernel was called"):
        recall_meeting(segment, 0, memoryview(whole), take)


@pytest.mark.parametrize("spec", ["mmp:loss=1", "arow"])
def test_shards_that_record_something_else_disagree(spec: str) -> None:
    segment = random_stream(3, 60).segment(0, 60)
    record = recorded(spec, segment)

    class Other(Recalling):
        def swap(
            self, number: int, part: bytes, *, adopt: bool = False, mark: int = TOGETHER
        ) -> list[bytes]:
            return [part, part[:-1] + bytes([part[-1] ^ 1])]

    shard = parse_spec(spec).new_shard(Other(record), 3)
    with pytest.raises(DisagreementError, match="shard 1 do not compute the same, as exchange 0"):
        shard.follow(segment, shard.new_scores(len(segment.rows), segment.topics))


def test_a_recalled_segment_is_learned_like_one_that_was_taken() -> None:
    stream = random_stream(4, 60)
    segment = stream.segment(0, 60)
    record = recorded("mmp:loss=1", segment)
    shard = parse_spec("mmp:loss=1").new_shard(Recalling(record), 3)
    take(shard, stream, 0, 60, {})
    exchange = ThreadExchange(1)
    alone = MMPShard(exchange.member(0), 1, 0.0, False)
    alone.begin(segment, np.zeros((len(segment.rows), segment.topics)))
    alone.take_apart(segment, np.zeros((len(segment.rows), segment.topics)))
    weights = alone.state()["weights"][:, ::2]
    assert shard.state()["weights"].tobytes() == np.ascontiguousarray(weights).tobytes()
    assert record[:CHECKSUM_BYTES] == content_checksum(segment, 0)


def test_a_segment_that_is_too_large_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = random_stream(5, 60)
    segment = stream.segment(0, 60)
    fits: Callable[[Shard], bool] = lambda shard: shard._fits(segment.steps)  # noqa: E731
    shard = parse_spec("perceptron").new_shard(ThreadExchange(2, ThreadPlace(2)).member(0), 3)
    assert fits(shard)
    assert len(segment.steps.labels) < MAX_LABELS
    for module, name in (
        ("shard", "MAX_LABELS"),
        ("shard", "MAX_STEPS"),
        ("shard", "MAX_FOUND_BYTES"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(f"learners.sharding.{module}.{name}", 10)
            assert not fits(shard)
