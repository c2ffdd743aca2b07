"""Scores: a table and the few that are not 0 give the same rankings, by the same definitions."""

from __future__ import annotations

import random

import numpy as np
import pytest

from learners.arrays import Floats
from learners.scores import UNRANKED, Best, DenseScores, Scores, StoredScores, place_in_best
from learners.segment import Steps
from learners.sparse_scores import SparseScores
from tests.support.random_streams import learned


def random_table(rng: random.Random, rows: int, topics: int) -> Floats:
    """Many zeros and many ties; nothing below 0, as an index has it."""
    pool = [0.0, 0.0, 0.0, 0.25, 0.25, 0.5, 1 / 3, 5e-324]
    return np.array([rng.choice(pool) for _ in range(rows * topics)]).reshape(rows, topics)


def sparse(table: Floats, rng: random.Random) -> SparseScores:
    """The same scores, rows and topics written in any order."""
    scores = SparseScores(*table.shape)
    for row in rng.sample(range(len(table)), k=len(table)):
        topics = np.flatnonzero(table[row]).tolist()
        actual = np.array(rng.sample(topics, k=len(topics)), np.int32)
        scores.put(row, StoredScores(table[row][actual], actual))
    return scores


def both(rng: random.Random) -> tuple[Floats, list[Scores]]:
    table = random_table(rng, rng.randrange(1, 8), rng.randrange(25))
    return table, [DenseScores(table), sparse(table, rng)]


@pytest.mark.parametrize("top", [0, 1, 3, 10, 40])
def test_the_best_topics_are_those_of_a_stable_sort(top: int) -> None:
    rng = random.Random(top)
    for _ in range(200):
        table, kinds = both(rng)
        rows = rng.randrange(len(table) + 1)
        least = [
            np.flatnonzero(row).max(initial=-1) + 1 for row in table
        ]  # what has a score is known
        known = np.array([rng.randint(n, table.shape[1]) for n in least[:rows]], np.int32)
        for scores in kinds:
            orders, values = scores.best(known, top)
            assert orders.shape == values.shape == (rows, top)
            for row, (order, own_labels) in enumerate(zip(orders, values, strict=True)):
                given = table[row].tolist()
                best = sorted(range(known[row]), key=lambda r: (-given[r], r))[:top]
                assert order[order >= 0].tolist() == best
                assert own_labels[order >= 0].tolist() == [given[r] for r in best]


def random_steps(rng: random.Random, table: Floats) -> Steps:
    """Rows learned in any order, with rankings in between, cut out of a longer run.

    The topics of a row after its last score may be newer than its ranking.
    """
    rows, topics = table.shape
    labels = [rng.sample(range(topics), k=rng.randrange(min(topics, 5) + 1)) for _ in range(9)]
    steps = learned(labels, topics)
    row = np.array([rng.randrange(rows) for _ in labels], np.int32)
    learn = np.array([bool(own_labels) or rng.random() < 0.5 for own_labels in labels])
    start, stop = sorted(rng.choices(range(len(labels) + 1), k=2))
    scored = [np.flatnonzero(table[i]).max(initial=-1) + 1 for i in row]
    ranked = np.array([rng.choice((topics, rng.randint(n, topics))) for n in scored], np.int32)
    whole = Steps(row, learn, steps.known, steps.label_starts, steps.labels, ranked)
    return whole.between(start, stop)


def test_places_are_those_of_the_definitions() -> None:
    rng = random.Random(0)
    hits = lacking = 0
    for _ in range(600):
        table, kinds = both(rng)
        topics = table.shape[1]
        steps = random_steps(rng, table)
        for is_sparse, scores in enumerate(kinds):
            places = scores.places(steps)
            ranks, above = places.ranks.tolist(), places.above.tolist()
            for step in range(len(steps)):
                first = steps.label_starts[0]
                labels = steps.labels[steps.label_starts[step] : steps.label_starts[step + 1]]
                own_labels = slice(
                    steps.label_starts[step] - first, steps.label_starts[step + 1] - first
                )
                given = table[steps.row[step]].tolist()
                order = sorted(range(steps.ranked[step]), key=lambda r: (-given[r], r))
                rank = {topic: place for place, topic in enumerate(order, 1)}
                others = [s for s in range(topics) if s not in labels]
                if steps.learn[step]:
                    assert ranks[own_labels] == sorted(
                        rank.get(r, UNRANKED) for r in labels.tolist()
                    )
                    lacking += UNRANKED in ranks[own_labels]
                    assert above[own_labels] == [
                        sum(given[s] >= given[r] for s in others) for r in labels
                    ]
                actual = [r for r in labels if r in rank and (given[r] > 0 or not is_sparse)]
                expected = min((rank[r] for r in actual), default=0)
                assert places.hits[step] == (expected if steps.learn[step] else 0)
                hits += expected > 0
    assert hits > 1000
    assert lacking > 100


def test_places_are_the_same_if_the_best_topics_are_known() -> None:
    rng = random.Random(2)
    exact = 0
    for _ in range(1000):
        table, (dense, _) = both(rng)
        steps = random_steps(rng, table)
        first, top = rng.randrange(len(table) + 1), rng.randrange(8)
        # A document can bring topics, which count although its best topics lack them.
        known = np.array(
            [
                rng.choice(steps.ranked[steps.row == row].tolist() or [0])
                for row in range(first, rng.randint(first, len(table)))
            ],
            np.int32,
        )
        best = Best(first, known, *dense.best(known, top, first))
        for found, expected in zip(dense.places(steps, best), dense.places(steps), strict=True):
            assert found.tolist() == expected.tolist()
        labels = zip(
            np.repeat(steps.row, np.diff(steps.label_starts)).tolist(),
            np.repeat(steps.ranked, np.diff(steps.label_starts)).tolist(),
            steps.labels[steps.label_starts[0] : steps.label_starts[-1]].tolist(),
            strict=True,
        )
        exact += sum(place_in_best(best, *label) >= 0 for label in labels)
    assert exact > 300


def test_rows_come_back_as_they_were() -> None:
    rng = random.Random(1)
    for _ in range(100):
        table, kinds = both(rng)
        topics = table.shape[1]
        dense, few = kinds
        # Older versions kept the scores of all topics, whatever the lane.
        for scores, fresh in (
            (dense, DenseScores(np.ones_like(table))),
            (few, SparseScores(*table.shape)),
            (dense, SparseScores(*table.shape)),
        ):
            for row in range(len(table)):
                assert scores.row(row, topics).tolist() == table[row].tolist()
                fresh.put(row, scores.keep(row, topics))
                assert fresh.row(row, topics).tolist() == table[row].tolist()


def test_a_row_may_have_scores_of_fewer_topics_than_there_are_now() -> None:
    dense = DenseScores(np.zeros((2, 4)))
    dense.put(1, StoredScores(np.array([0.5, 0.25])))
    sparse_ = SparseScores(2, 4)
    sparse_.put(1, StoredScores(np.array([0.25, 0.5]), np.array([1, 0], np.int32)))
    for scores in (dense, sparse_):
        assert scores.row(1, 4).tolist() == [0.5, 0.25, 0.0, 0.0]
        assert scores.row(0, 4).tolist() == [0.0] * 4
