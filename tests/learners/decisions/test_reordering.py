"""Rankings by probability: their order, and the places and measures of labels in them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from learners.arrays import Floats
from learners.decisions.decided import CANDIDATES, Decisions
from learners.decisions.reordering import (
    HEAD,
    by_probability,
    head_by_probability,
    reorder_places,
)
from learners.measures import MEASURES, measure_round
from learners.scores import UNRANKED, DenseScores, Scores, StoredScores
from learners.segment import Steps
from learners.slow.decisions import SlowDecision
from learners.slow.measures import slow_measures
from learners.slow.reordering import slow_by_probability, slow_head
from learners.sparse_scores import SparseScores

ROWS = 40
KINDS = ("dense", "sparse")
of_each_kind = pytest.mark.parametrize("kind", KINDS)


class Case:
    """Rankings of rows, what was decided about them, and their labels, some of them new topics."""

    def __init__(self, seed: int, kind: str) -> None:
        rng = random.Random(seed)
        self.topics = rng.choice((1, 4, HEAD, 15, 40))
        self.is_sparse = kind == "sparse"
        values = [0.0, 0.0, 1.0, 2.0] if self.is_sparse else [-2.0, -1.0, 0.0, 1.0, 2.0]
        self.known = [rng.randrange(self.topics + 1) for _ in range(ROWS)]
        self.table: Floats = np.zeros((ROWS, self.topics))
        self.labels: list[list[int]] = []
        for row, known in enumerate(self.known):
            for topic in range(known):
                self.table[row, topic] = rng.choice([rng.choice(values), abs(rng.gauss(0, 1))])
            self.labels.append(rng.sample(range(self.topics), rng.randrange(self.topics + 1)))
        self.scores = self._scores()
        self.made = self._decisions(rng)

    def _scores(self) -> Scores:
        if not self.is_sparse:
            return DenseScores(self.table)
        scores = SparseScores(ROWS, self.topics)
        for row, given in enumerate(self.table):
            retrieved = np.flatnonzero(given).astype(np.int32)
            scores.put(row, StoredScores(given[retrieved], retrieved))
        return scores

    def _decisions(self, rng: random.Random) -> Decisions:
        """Anything that a lane could decide; only the first candidates have a probability."""
        made = Decisions.new(ROWS)
        order, values = self.scores.best(np.array(self.known, np.int32), CANDIDATES)
        made.topics[...], made.scores[...] = order, values
        made.known[:] = self.known
        for row, known in enumerate(self.known):
            for place in range(rng.randrange(min(known, CANDIDATES) + 1)):
                made.probabilities[row, place] = rng.choice([0.5, rng.random()])
                made.assigned[row, place] = rng.random() < 0.5
        return made

    def steps(self, rows: Sequence[int]) -> Steps:
        """The steps that learn some rows."""
        labels = [self.labels[row] for row in rows]
        return Steps(
            np.array(rows, np.int32),
            np.ones(len(rows), np.bool_),
            np.full(len(rows), self.topics, np.int32),
            np.cumsum([0, *map(len, labels)]).astype(np.int64),
            np.array([label for one in labels for label in one], np.int32),
            np.array([self.topics * (self.known[row] > 0) for row in rows], np.int32),
        )

    def plain(self, made: Decisions, row: int) -> SlowDecision:
        """The decision about a row, as twins write it."""
        used = made.topics[row] >= 0
        return SlowDecision(
            made.topics[row][used].tolist(),
            made.scores[row][used].tolist(),
            made.probabilities[row][used].tolist(),
            made.assigned[row][used].tolist(),
            float(made.certainty[row]),
            bool(made.review[row]),
        )


@of_each_kind
@pytest.mark.parametrize("seed", range(8))
def test_candidates_are_in_the_order_of_the_twin(seed: int, kind: str) -> None:
    case = Case(seed, kind)
    before = case.made.keep(range(ROWS))
    emitted = by_probability(case.made, case.is_sparse)
    for row in range(ROWS):
        expected = slow_by_probability(case.plain(case.made, row), case.is_sparse)
        assert case.plain(emitted, row) == expected
        head = slow_head(case.plain(case.made, row), case.is_sparse)
        first = head_by_probability(case.made, row, case.is_sparse).tolist()
        assert first == expected.topics[: len(head)]
    assert case.made.keep(range(ROWS)) == before


@of_each_kind
@pytest.mark.parametrize("seed", range(30))
def test_measures_are_those_of_the_new_order(seed: int, kind: str) -> None:
    """The places that scores give are corrected; the twin looks at the new order itself."""
    case = Case(seed, kind)
    rng = random.Random(seed)
    rows = [row for row in rng.sample(range(ROWS), ROWS) if rng.random() < 0.8]
    steps = case.steps(rows)
    places = case.scores.places(steps)
    reorder_places(steps, case.made, case.is_sparse, places)
    values = np.zeros(len(MEASURES))
    changed = 0
    for step, row in enumerate(rows):
        start, stop = steps.label_starts[step], steps.label_starts[step + 1]
        ranks, relevant = places.ranks[start:stop], set(case.labels[row])
        measure_round(
            case.topics, ranks[ranks != UNRANKED], places.above[start:stop], places.hits[step],
            values,
        )  # fmt: skip
        made = case.plain(case.made, row)
        places_of_head = slow_head(made, case.is_sparse)
        head = {made.topics[place]: made.probabilities[place] for place in places_of_head}
        known, ranked = case.known[row], int(steps.ranked[step])
        expected = slow_measures(case.table[row].tolist(), relevant, ranked, head, known)
        if case.is_sparse and not any(case.table[row, topic] for topic in relevant) and relevant:
            expected |= {"r1": 0.0, "r5": 0.0, "mrr": 0.0}  # nothing relevant was retrieved
        found = dict(zip(MEASURES, values.tolist(), strict=True))
        assert {k: v for k, v in found.items() if not np.isnan(v)} == pytest.approx(expected)
        changed += places_of_head != sorted(places_of_head)
    assert changed or case.topics == 1
