"""Curves: averages over rounds, at which rounds, and what the report makes of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from learners.arrays import Floats
from learners.scores import DenseScores
from learners.segment import Steps
from learners.slow.measures import slow_measures, slow_topic_losses
from pipeline.curves.topic_curve import TopicCurve, is_kept
from pipeline.slow.topic_curve import slow_is_kept
from tests.support.random_streams import learned

TOPICS = 7


def rounds(seed: int, length: int) -> tuple[Floats, list[set[int]]]:
    rng = random.Random(seed)
    scores = np.array([[float(rng.randrange(4)) for _ in range(TOPICS)] for _ in range(length)])
    return scores, [set(rng.sample(range(TOPICS), k=rng.randrange(4))) for _ in range(length)]


def learning_steps(relevant: list[set[int]], ranked: Sequence[int] | None = None) -> Steps:
    return learned([sorted(row) for row in relevant], TOPICS, ranked)


def curve_of(
    scores: Floats, relevant: list[set[int]], block: int, ranked: Sequence[int] | None = None
) -> TopicCurve:
    curve = TopicCurve()
    for start in range(0, len(relevant), block):
        stop = start + block
        steps = learning_steps(relevant[start:stop], ranked and ranked[start:stop])
        curve.follow(steps, DenseScores(scores[start:stop]))
    return curve


def test_kept_rounds() -> None:
    kept = [r for r in range(1, 5000) if is_kept(r)]
    assert kept == [r for r in range(1, 5000) if slow_is_kept(r)]
    assert kept[:130] == [*range(1, 129), 130, 132]
    assert {2**i for i in range(12)} <= set(kept)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_every_point_is_the_mean_of_its_rounds(block: int) -> None:
    scores, relevant = rounds(0, 700)
    measures = [slow_measures(row.tolist(), r) for row, r in zip(scores, relevant, strict=True)]
    points = list(curve_of(scores, relevant, block).all_points())
    assert [p.round for p in points] == [*filter(slow_is_kept, range(1, 700)), 700]
    for point in points:
        for name, value in point.values.items():
            existing = [m[name] for m in measures[: point.round] if name in m]
            expected = sum(existing) / len(existing) if existing else None
            assert value == (None if expected is None else pytest.approx(expected, rel=1e-12))
        assert point.wrong_pairs == measures[point.round - 1]["loss2"]
        assert point.relevant == len(relevant[point.round - 1])


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_topics_that_rankings_lack_are_misses_in_every_point(block: int) -> None:
    scores, relevant = rounds(8, 300)
    rng = random.Random(8)
    ranked = [min(TOPICS, rng.randint(0, 2 + i // 20)) for i in range(len(relevant))]
    for row, count in zip(scores, ranked, strict=True):
        row[count:] = 0.0
    relevant[0], ranked[0] = {0, 1}, 0
    measures = [
        slow_measures(row.tolist(), of_row, count)
        for row, of_row, count in zip(scores, relevant, ranked, strict=True)
    ]
    curve = curve_of(scores, relevant, block, ranked)
    first, *_ = points = list(curve.all_points())
    assert (first.first_hit, first.values["average_precision"]) == (None, 0.0)
    for point in points:
        for name, value in point.values.items():
            existing = [m[name] for m in measures[: point.round] if name in m]
            expected = sum(existing) / len(existing) if existing else None
            assert value == (None if expected is None else pytest.approx(expected, rel=1e-12))
    hits = [
        (len([r for r in of_row if r < count]), len(of_row))
        for of_row, count in zip(relevant, ranked, strict=True)
        if of_row
    ]
    assert any(actual < every for actual, every in hits)
    # Nobody finds in a whole ranking what it lacks.
    _, recall = curve.precision_recall()
    assert recall[-1] == pytest.approx(sum(actual / every for actual, every in hits) / len(hits))
    assert recall[-1] < 0.9


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_each_topic_has_its_own_part_of_loss_3(block: int) -> None:
    scores, relevant = rounds(5, 400)
    relevant[7] = set(range(TOPICS))  # none is irrelevant: a round of loss 0 for each
    counts, sums = [0.0] * TOPICS, [0.0] * TOPICS
    for row, of_row in zip(scores.tolist(), relevant, strict=True):
        losses = slow_topic_losses(row, of_row)
        for topic, loss in losses.items():
            counts[topic] += 1
            sums[topic] += loss
        if of_row:
            together = sum(losses.values()) / len(of_row)
            assert together == pytest.approx(slow_measures(row, of_row)["loss3"])
    topic_rounds, topic_loss = curve_of(scores, relevant, block).topic_losses()
    assert topic_rounds.tolist() == counts
    assert topic_loss.tolist() == sums
    assert 0 < min(sums) < max(sums) < min(counts)


def test_a_state_of_before_topics_were_looked_at_begins_there() -> None:
    scores, relevant = rounds(6, 100)
    older = curve_of(scores, relevant, 50).state()
    del older["topic_rounds"], older["topic_loss"]
    curve = TopicCurve()
    curve.restore(older)
    curve.follow(learning_steps(relevant[:30]), DenseScores(scores[:30]))
    assert curve.rounds == 130
    alone = curve_of(scores[:30], relevant[:30], 30)
    assert np.array_equal(curve.topic_losses(), alone.topic_losses())


def test_a_state_of_before_there_was_r1_has_none_for_good() -> None:
    scores, relevant = rounds(7, 100)
    newer = curve_of(scores, relevant, 50)
    older = newer.state()
    for name in ("tally", "points"):
        older[name] = np.delete(older[name], np.s_[-6:-3], axis=-1)
    curve = TopicCurve()
    curve.restore(older)
    for each in (newer, curve):
        each.follow(learning_steps(relevant[:30]), DenseScores(scores[:30]))
    expected = newer.last().values | dict.fromkeys(("r1", "r5", "mrr"))
    assert curve.last().values == expected
    assert [p.values["loss3"] for p in curve.points()] == [
        p.values["loss3"] for p in newer.points()
    ]


def test_blocks_leave_no_trace() -> None:
    scores, relevant = rounds(1, 500)
    states = [curve_of(scores, relevant, block).state() for block in (1, 13, 500)]
    for state in states[1:]:
        assert all(np.array_equal(state[key], states[0][key], equal_nan=True) for key in state)


def test_the_last_round_is_always_there() -> None:
    scores, relevant = rounds(2, 131)
    assert [p.round for p in curve_of(scores, relevant, 50).all_points()][-2:] == [130, 131]


def test_precision_recall_and_max_f1() -> None:
    scores, relevant = rounds(3, 200)
    curve = curve_of(scores, relevant, 64)
    ranks = []
    for row, of_row in zip(scores.tolist(), relevant, strict=True):
        order = sorted(range(TOPICS), key=lambda r: (-row[r], r))
        ranks.append([order.index(r) + 1 for r in of_row])
    ranks = [of_row for of_row in ranks if of_row]
    best = 0.0
    precision, recall = curve.precision_recall()
    for r in range(1, TOPICS + 1):
        hits = [sum(rank <= r for rank in of_row) for of_row in ranks]
        p = sum(h / r for h in hits) / len(ranks)
        q = sum(h / len(of_row) for h, of_row in zip(hits, ranks, strict=True)) / len(ranks)
        assert precision[r - 1] == pytest.approx(p)
        assert recall[r - 1] == pytest.approx(q)
        best = max(best, 2 * p * q / (p + q) if p + q else 0.0)
    assert curve.max_f1() == pytest.approx(best)


def test_what_does_not_exist_is_none() -> None:
    empty = TopicCurve()
    assert empty.max_f1() is None
    assert set(empty.last().values.values()) == {None}
    assert list(empty.all_points()) == []
    unlabelled = curve_of(np.zeros((3, TOPICS)), [set(), set(), set()], 3)
    last = unlabelled.last()
    assert last.values["loss1"] == 0.0
    assert last.values["average_precision"] is None
    assert last.first_hit is None
    assert unlabelled.max_f1() is None


def test_resume_from_state_equals_a_straight_run() -> None:
    scores, relevant = rounds(4, 300)
    straight = curve_of(scores, relevant, 50)
    first, second = curve_of(scores[:111], relevant[:111], 50), TopicCurve()
    second.restore(first.state())
    second.follow(learning_steps(relevant[111:]), DenseScores(scores[111:]))
    assert list(second.all_points()) == list(straight.all_points())
    assert second.max_f1() == straight.max_f1()
    assert np.array_equal(second.topic_losses(), straight.topic_losses())
