"""The kernel writes the same ranking events as its plain-Python twin, and the keys of each lane."""

from __future__ import annotations

import random

import numpy as np
import orjson
import pytest

from learners.arrays import Ints
from learners.decisions.decided import CANDIDATES, Decisions
from learners.decisions.reordering import by_probability
from learners.scores import DenseScores, RowScores
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import ALL_FIELDS, TOPIC_FIELDS, ranking_events
from pipeline.log.block import Entry, make_block
from pipeline.slow.ranking_events import slow_ranking_events
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

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


def random_decisions(rng: random.Random, scores: DenseScores, known: Ints) -> Decisions:
    """Anything that a lane could decide about the best topics of these rankings."""
    made = Decisions.new(len(known))
    order, values = scores.best(known, CANDIDATES)
    made.topics[:, : order.shape[1]], made.scores[:, : order.shape[1]] = order, values
    for row in range(len(known)):
        for place in range(CANDIDATES):
            made.probabilities[row, place] = rng.choice([0.0, 1.0, 1e-5, 0.01, rng.random()])
            made.assigned[row, place] = rng.random() < 0.4
        made.certainty[row], made.review[row] = rng.random(), rng.random() < 0.5
    return made


@pytest.mark.parametrize("top", [0, 1, 3, 10])
@pytest.mark.parametrize("seed", range(20))
def test_events_equal_those_of_the_twin(seed: int, top: int) -> None:
    rng = random.Random(seed)
    topics = [f"{rng.choice(AWKWARD)}{n}" for n in range(rng.choice([rng.randrange(12), 30]))]
    lanes = [f"{rng.choice(AWKWARD)}{n}" for n in range(rng.randrange(1, 4))]
    documents = [
        Entry(rng.choice(IDS), n, None, rng.choice([None, *AWKWARD]))
        for n in range(rng.randrange(6))
    ]
    numbers = [0.0, -0.0, 1.0, -1.5, 1 / 3, 1e-300, 1e300, 123456789.125, 5e-324, 1e16, -1e22]
    shape = len(documents), len(topics)
    scores = [
        DenseScores(
            np.array([rng.choice(numbers) for _ in range(shape[0] * shape[1])]).reshape(shape)
        )
        for _ in lanes
    ]
    known = np.array(sorted(rng.randrange(len(topics) + 1) for _ in documents), np.int32)
    rounds = sorted(rng.choice([0, 9, 10, 99, 100, 2**62]) for _ in documents)
    decisions = [rng.choice([None, random_decisions(rng, one, known)]) for one in scores]
    marks = [made is not None and rng.random() < 0.5 for made in decisions]
    emitted = [made and rng.choice([made, by_probability(made, False)]) for made in decisions]
    ranked = RankedSegment(
        documents, known, [rounds] * len(lanes), list[RowScores](scores),
        decisions=decisions, emitted=emitted, marks=marks,
    )  # fmt: skip
    optional = [key for key in TOPIC_FIELDS if key != "ranking"]
    chosen = {"ranking", *rng.sample(optional, rng.randrange(5))}
    for fields in (ALL_FIELDS, chosen):
        expected = slow_ranking_events(ranked, lanes, topics, top, fields)
        assert ranking_events(ranked, lanes, topics, top, fields) == expected


def test_only_lanes_with_a_risk_say_whether_to_review() -> None:
    """Without one, `"review": false` would look as if the lane had judged the document."""
    lanes = ["perceptron", "perceptron:assign=f1,name=sets", "mmp:assign=f1,risk=0.2,name=marks"]
    specs = [parse_spec(lane) for lane in lanes]
    engine, names = Engine(specs), [spec.name for spec in specs]
    keys: dict[str, set[str]] = {name: set() for name in names}
    for ranked in engine.process(make_block(random_events(1, 60), TOKENIZER)):
        for line in ranking_events(ranked, names, engine.topics.names, 0):
            event = orjson.loads(line)
            keys[event["lane"]].add(" ".join(event))
    engine.close()
    assert keys == {
        "perceptron": {"id lane round ranking time"},
        "sets": {"id lane round ranking assigned certainty time"},
        "marks": {"id lane round ranking assigned certainty review time"},
    }
