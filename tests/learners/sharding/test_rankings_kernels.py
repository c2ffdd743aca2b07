"""The kernels of the exchange of rankings do what their plain twins do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from learners.arrays import Floats
from learners.scores import FEW, sort_few
from learners.segment import Segment, Steps
from learners.sharding.content_checksum import CHECKSUM_BYTES, content_checksum
from learners.sharding.rankings_exchange import (
    Found,
    best_of_shards,
    find,
    label_scores,
    ranked_steps,
)
from learners.sharding.rankings_payload import counts_fit, first_fault
from learners.sharding.topic_slice import TopicSlice
from learners.slow.content_checksum import slow_checksum
from learners.slow.rankings_exchange import best_of, slow_best, slow_labels, slow_rankings
from learners.slow.rankings_payload import slow_counts_fit, slow_is_possible
from tests.support.random_streams import random_stream


def random_segment(seed: int) -> Segment:
    """A segment whose steps are often in the middle of others, so that labels do not start at 0."""
    rng = random.Random(seed)
    stream = random_stream(seed, 40)
    start, stop = sorted(rng.sample(range(len(stream.happenings) + 1), 2))
    segment = stream.segment(0, len(stream.happenings))
    return segment.between(start, stop) if seed % 2 else stream.segment(start, stop)


@pytest.mark.parametrize("seed", range(20))
def test_checksums_equal_those_of_the_twin(seed: int) -> None:
    segment = random_segment(seed)
    for exchange in (0, seed, 2**40):
        checksum = content_checksum(segment, exchange)
        assert checksum == slow_checksum(segment, exchange)
        assert len(checksum) == CHECKSUM_BYTES


def test_every_difference_changes_the_checksum() -> None:
    stream = random_stream(3, 20)
    segment = stream.segment(0, len(stream.happenings))
    rows, steps = segment.rows, segment.steps
    checksums = {content_checksum(segment, 0), content_checksum(segment, 1)}
    count = 2
    for array in (*rows, *steps):
        for i in range(len(array)):
            if array is steps.label_starts and i in (0, len(array) - 1):
                continue
            before = array[i]
            changes = (-before, np.nextafter(before, 9.0)) if array is rows.values else ()
            for after in changes or ((not before,) if array is steps.learn else (before + 1,)):
                array[i] = after
                checksums.add(content_checksum(segment, 0))
                count += 1
            array[i] = before
    checksums.add(content_checksum(Segment(rows, steps, segment.terms, segment.topics + 1), 0))
    assert len(checksums) == count + 1


def test_a_number_that_changes_its_array_changes_the_checksum() -> None:
    stream = random_stream(3, 20)
    segment = stream.segment(0, len(stream.happenings))
    row, learn, known, label_starts, labels, ranked = segment.steps
    known, ranked = np.append(known, ranked[0]), ranked[1:].copy()
    moved = Steps(row, learn, known, label_starts, labels, ranked)
    other = Segment(segment.rows, moved, segment.terms, segment.topics)
    assert content_checksum(other, 0) != content_checksum(segment, 0)


def scores_of(seed: int, segment: Segment) -> Floats:
    """Scores of all topics, with many ties."""
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (len(segment.rows), segment.topics)) / 4


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("shards", [1, 2, 3, 8])
@pytest.mark.parametrize("top", [0, 1, 3])
def test_what_shards_find_equals_what_the_twin_finds(seed: int, shards: int, top: int) -> None:
    segment = random_segment(seed)
    steps, scores = segment.steps, scores_of(seed, segment)
    ranked, rankings = ranked_steps(steps, shards), slow_rankings(steps)
    assert np.arange(10**3)[ranked.rows].tolist() == [row for row, _ in rankings]
    assert ranked.known.tolist() == [known for _, known in rankings]
    assert ranked.most == max(ranked.known, default=0)
    labels, most = slow_labels(steps), top or segment.topics
    assert ranked.owners.tolist() == [topic % shards for _, topic in labels]
    found = []
    for shard in range(shards):
        own = np.ascontiguousarray(scores[:, shard::shards])
        one = find(own, ranked, top, TopicSlice(shard, shards))
        found.append(one)
        for i, (row, known) in enumerate(rankings):
            best = slow_best(own[row].tolist(), known, most, shard, shards)
            assert pairs(one, i) == best
        owned = [scores[row, topic] for row, topic in labels if topic % shards == shard]
        assert one.labels.tolist() == owned
        assert ranked.labels[shard] == len(owned)
        assert first_fault(*one, ranked.known, shard, shards) == -1
    assert label_scores(found, ranked).tolist() == [scores[at] for at in labels]
    order, values = best_of_shards(found, ranked)
    for i, (row, known) in enumerate(rankings):
        best = best_of(list(enumerate(scores[row, :known].tolist())), order.shape[1])
        assert pairs(Found(order, values, values[:0]), i) == best


def pairs(found: Found, row: int) -> list[tuple[int, float]]:
    """The topics and scores of a row."""
    both = zip(found.order[row].tolist(), found.values[row].tolist(), strict=True)
    return [(topic, score) for topic, score in both if topic >= 0]


@pytest.mark.parametrize("seed", range(40))
def test_what_cannot_be_found_is_refused_as_by_the_twin(seed: int) -> None:
    segment, rng, shards = random_segment(2 * seed), random.Random(seed), 3
    ranked = ranked_steps(segment.steps, shards)
    shard = seed % shards
    own = np.ascontiguousarray(scores_of(seed, segment)[:, shard::shards])
    honest = find(own, ranked, 3, TopicSlice(shard, shards))
    odd = (-np.inf, np.inf, np.nan, -1.0, 0.0, 0.25, 2.0)
    for _ in range(50):
        forged = Found(honest.order.copy(), honest.values.copy(), honest.labels.copy())
        for array in forged:
            flat = array.reshape(-1)
            if len(flat) and rng.random() < 0.5:
                i, j = rng.randrange(len(flat)), rng.randrange(len(flat))
                if array is forged.order:
                    flat[i] = rng.choice((-1, -7, flat[i] + 1, flat[i] + 3, flat[j], 2**31 - 1))
                else:
                    flat[i] = rng.choice((*odd, flat[j]))
        fault = first_fault(*forged, ranked.known, shard, shards)
        order, values, labels = (array.tolist() for array in forged)
        known = ranked.known.tolist()
        assert (fault < 0) == slow_is_possible(order, values, labels, known, shard, shards)


@pytest.mark.parametrize("seed", range(20))
def test_counts_that_cannot_be_are_refused_as_by_the_twin(seed: int) -> None:
    segment, rng = random_segment(seed), random.Random(seed)
    steps: Steps = segment.steps
    labels, shard, shards = len(slow_labels(steps)), seed % 3, 3
    starts, known = steps.label_starts, steps.known
    numbers = steps.labels[starts[0] : starts[-1]]
    for _ in range(30):
        ranks, level = np.zeros((2, labels), np.int32)
        for counts in (ranks, level):
            if labels and rng.random() < 0.6:
                counts[rng.randrange(labels)] = rng.choice((-1, 1, 2, 3, 4, 100))
        expected = slow_counts_fit(
            ranks.tolist(), level.tolist(), known.tolist(), starts.tolist(), numbers.tolist(),
            shard, shards,
        )  # fmt: skip
        assert counts_fit(ranks, level, known, starts, numbers, shard, shards) == expected


@pytest.mark.parametrize("count", [0, 1, 2, 5, FEW, FEW + 1, 100])
def test_few_and_many_numbers_are_sorted(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(20):
        numbers = rng.integers(0, 30, count)
        expected = sorted(numbers.tolist())
        sort_few(numbers)
        assert numbers.tolist() == expected
