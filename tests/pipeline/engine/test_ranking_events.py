"""The kernel writes the same ranking events as its plain-Python twin."""

from __future__ import annotations

import random

import numpy as np
import pytest

from learners.scores import DenseScores, RowScores
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import ALL_FIELDS, TOPIC_FIELDS, ranking_events
from pipeline.log.block import Entry
from pipeline.slow.ranking_events import slow_ranking_events

AWKWARD = [
    "",
    "plain",
    'a "quoted" name',
    "back\\slash",
    "new\nline",
    "ünïcode 𝄞",
    "</script>",
    ",{}",
]
IDS: list[str | int] = [*AWKWARD, 7, -(2**53)]


@pytest.mark.parametrize("top", [0, 1, 3, 10])
@pytest.mark.parametrize("seed", range(20))
def test_events_equal_those_of_the_twin(seed: int, top: int) -> None:
    rng = random.Random(seed)
    topics = [f"{rng.choice(AWKWARD)}{n}" for n in range(rng.randrange(12))]
    lanes = [f"{rng.choice(AWKWARD)}{n}" for n in range(rng.randrange(1, 4))]
    documents = [
        Entry(rng.choice(IDS), n, None, rng.choice([None, *AWKWARD]))
        for n in range(rng.randrange(6))
    ]
    numbers = [0.0, -0.0, 1.0, -1.5, 1 / 3, 1e-300, 1e300, 123456789.125, 5e-324, 1e16, -1e22]
    shape = len(documents), len(topics)
    scores: list[RowScores] = [
        DenseScores(
            np.array([rng.choice(numbers) for _ in range(shape[0] * shape[1])]).reshape(shape)
        )
        for _ in lanes
    ]
    known = np.array(sorted(rng.randrange(len(topics) + 1) for _ in documents), np.int32)
    rounds = sorted(rng.choice([0, 9, 10, 99, 100, 2**62]) for _ in documents)
    ranked = RankedSegment(documents, known, [rounds] * len(lanes), scores)
    optional = [key for key in TOPIC_FIELDS if key != "ranking"]
    chosen = {"ranking", *rng.sample(optional, rng.randrange(5))}
    for fields in (ALL_FIELDS, chosen):
        expected = slow_ranking_events(ranked, lanes, topics, top, fields)
        assert ranking_events(ranked, lanes, topics, top, fields) == expected
