"""Explanations use the weights that a document was ranked with, and change no result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson
import pytest

from learners.specs import parse_spec
from pipeline.engine import explanations
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.explanations import ExplainedDocument, rank_of
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.snapshots.snapshot import take_snapshot
from pipeline.text.feature_settings import FeatureSettings
from tests.pipeline.engine.test_engine import (
    LANES,
    TOKENIZER,
    document,
    label,
    random_events,
    unlabelled,
)
from tests.pipeline.engine.test_engine import run as run_unexplained


def run(
    events: Sequence[Event],
    block: int,
    to_explain: int,
    lanes: Sequence[str] = LANES,
    settings: EngineSettings | None = None,
) -> tuple[Engine, list[bytes], list[ExplainedDocument]]:
    engine = Engine([parse_spec(lane) for lane in lanes], settings=settings)
    rankings: list[bytes] = []
    explained: list[ExplainedDocument] = []
    for start in range(0, len(events), block):
        made = make_block(events[start : start + block], TOKENIZER)
        for ranked in engine.process(made, to_explain):
            rankings += ranking_events(ranked, lanes, engine.topics.names, 0)
            explained += ranked.explained
    engine.close()
    return engine, rankings, explained


def plain_values(explained: ExplainedDocument) -> tuple[object, ...]:
    """Return an explanation without its arrays."""
    e = explained
    return (e.document.id, e.number, e.rounds, e.topics, e.terms, e.rankings)


@pytest.mark.parametrize("seed", range(3))
def test_explaining_changes_nothing(seed: int) -> None:
    events = random_events(seed, 200)
    settings = EngineSettings(FeatureSettings(max_terms=40), max_pending=20)
    plain, expected = run_unexplained(events, 64, settings=settings)
    engine, rankings, explained = run(events, 64, 5, settings=settings)
    assert len(explained) > 10
    assert rankings == expected
    first, second = take_snapshot(plain, 0), take_snapshot(engine, 0)
    assert first.content == second.content
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes(), name


def test_explanations_do_not_depend_on_block_sizes() -> None:
    events = random_events(3, 150)
    _, _, one_by_one = run(events, 1, 1)
    _, _, at_once = run(events, 1000, 1000)
    assert [plain_values(e) for e in one_by_one] == [plain_values(e) for e in at_once]
    assert [e.number for e in at_once] == list(range(1, len(at_once) + 1))
    _, _, last = run(events, 1000, 7)
    assert [plain_values(e) for e in last] == [plain_values(e) for e in at_once[-7:]]


def test_contributions_add_up_to_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with averaged prototypes, with vectors of length one, and with Rocchio."""
    monkeypatch.setattr(explanations, "TERMS", 1000)
    _, _, explained = run(random_events(5, 200), 1000, 200)
    sums = [
        (place.score, sum(term.weight for term in place.terms))
        for e in explained
        for ranking in e.rankings
        for place in ranking
        if place.terms is not None
    ]
    assert sum(score != 0.0 for score, _ in sums) > 1000
    for score, total in sums:
        assert total == pytest.approx(score, rel=1e-9, abs=1e-9)


def test_a_contribution_is_value_times_weight_before_the_document_was_learned() -> None:
    engine = Engine([parse_spec("mmp:loss=1")], ["a", "b"])
    stream = [document(1, {"x": 1.0, "y": 2.0}, "a"), document(2, {"y": 1.0, "z": 3.0}, "b")]
    list(engine.process(make_block(stream, TOKENIZER)))
    weights = engine.lanes[0].learner.state()["weights"]
    (ranked,) = engine.process(make_block([document(3, {"y": 0.5, "z": 2.0}, "a")], TOKENIZER), 1)
    (explained,) = ranked.explained
    numbers = {"x": 0, "y": 1, "z": 2}
    for place in explained.rankings[0]:
        assert place.terms
        for term, amount in place.terms:
            value = {"y": 0.5, "z": 2.0}[term]
            assert amount == value * weights[numbers[term], "ab".index(place.topic)]
    assert engine.lanes[0].learner.state()["weights"].tolist() != weights.tolist()
    assert explained.terms == (("z", 2.0), ("y", 0.5))


def test_learners_without_term_weights_give_no_terms() -> None:
    _, _, explained = run([document(n, "x y", "a") for n in range(3)], 10, 1, ["frequency"])
    assert explained[0].rankings == [(("a", 2.0, None),)]


def test_explanations_have_early_labels_but_not_late_ones() -> None:
    events = [label(1, "a"), unlabelled(1, "x"), unlabelled(2, "x"), label(2, "b"), document(3, "")]
    _, _, explained = run(events, 10, 10)
    assert [e.topics for e in explained] == [("a",), None, ()]


def test_ranks_are_those_of_the_ranking_events() -> None:
    events = random_events(9, 60)
    engine, rankings, explained = run(events, 1000, 1000)
    ranked = [orjson.loads(ranking) for ranking in rankings]
    for i, e in enumerate(explained):
        for lane, scores in enumerate(e.scores):
            event = ranked[i * len(LANES) + lane]
            if engine.lanes[lane].is_ordinal:
                assert scores.tolist() == [event["rank"], event["score"]]
                continue
            places = [place["topic"] for place in event["ranking"]]
            for number, topic in enumerate(engine.topics.names):
                expected = places.index(topic) + 1 if topic in places else None
                assert rank_of(number, scores, e.heads[lane]) == expected
            shown = [topic for topic, _, _ in e.rankings[lane]]
            assert shown == places[: len(shown)]
    assert rank_of(3, np.zeros(3), np.zeros(0, np.int32)) is None
