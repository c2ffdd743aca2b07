"""Lanes that rank the first topics by their probabilities: events, curves and stackers agree."""

from __future__ import annotations

import numpy as np
import orjson
import pytest

from learners.decisions.reordering import HEAD
from learners.slow.measures import slow_measures
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.log.block import make_block
from pipeline.replay.settings import parse_lanes
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

ORDERED = ("soft-arow", "mmp:loss=1,margin=0.5", "feature-focus:margin=0.3")


def lanes_of(learner: str) -> list[str]:
    """A lane that ranks by score, and one that ranks by probability."""
    colon = "," if ":" in learner else ":"
    sets = f"{learner}{colon}assign=micro"
    return [f"{sets},name=by-score", f"{sets},order=probability,name=by-probability"]


@pytest.mark.parametrize("learner", ORDERED)
@pytest.mark.parametrize("block", [1, 30, 1000])
def test_only_the_order_of_the_first_topics_differs(learner: str, block: int) -> None:
    specs, events = parse_lanes(lanes_of(learner)), random_events(3, 200)
    engine, changed = Engine(specs), 0
    for start in range(0, len(events), block):
        for ranked in engine.process(make_block(events[start : start + block], TOKENIZER)):
            lines = ranking_events(ranked, [s.name for s in specs], engine.topics.names, 0)
            for one, other in zip(lines[::2], lines[1::2], strict=True):
                by_score, by_probability = (orjson.loads(line) for line in (one, other))
                left, right = by_score["ranking"], by_probability["ranking"]
                first = right[:HEAD]
                assert left[HEAD:] == right[HEAD:]
                assert sorted(map(orjson.dumps, left)) == sorted(map(orjson.dumps, right))
                assert set(by_score["assigned"]) == set(by_probability["assigned"])
                shown = [place["topic"] for place in right]
                chosen = by_probability["assigned"]
                assert chosen == sorted(chosen, key=shown.index)
                likely = [place["probability"] for place in first if place["score"] != 0.0]
                assert likely == sorted(likely, reverse=True)
                changed += left != right
    engine.close()
    assert changed > 10


@pytest.mark.parametrize("learner", ORDERED)
def test_curves_measure_what_was_emitted(learner: str) -> None:
    """The measures of labelled documents, from the whole rankings in their events."""
    spec, events = parse_spec(lanes_of(learner)[1]), random_events(5, 300)
    engine, expected = Engine([spec]), list[dict[str, float]]()
    found = dict.fromkeys(("loss1", "loss2", "loss3", "one_error", "average_precision"), 0.0)
    rounds = 0
    for event in events:
        if event.content is None or event.topics is None:
            continue  # late labels are measured by other tests
        for ranked in engine.process(make_block([event], TOKENIZER)):
            (line,) = ranking_events(ranked, [spec.name], engine.topics.names, 0)
            ranking, names = orjson.loads(line)["ranking"], list(engine.topics.names)
            scores = np.zeros(len(names))
            places = [names.index(place["topic"]) for place in ranking]
            scores[places] = [place["score"] for place in ranking]
            count = HEAD
            if learner.startswith("feature-focus"):
                count = sum(place["score"] != 0.0 for place in ranking[:HEAD])
            relevant = {names.index(topic) for topic in event.topics}
            made = ranked.emitted_by(0)
            assert made is not None
            head = dict(zip(places[:count], made.probabilities[0].tolist(), strict=False))
            known = len(ranking)
            everything = len(names) if ranking else 0
            measures = slow_measures(scores.tolist(), relevant, everything, head, known)
            rounds += 1
            expected.append(measures)
    with_topics = [one for one in expected if "one_error" in one]
    for name in found:
        counted = expected if name.startswith("loss") else with_topics
        found[name] = sum(one[name] for one in counted) / len(counted)
    values = engine.lanes[0].curve.last().values
    engine.close()
    assert rounds > 100
    assert {name: values[name] for name in found} == pytest.approx(found)


@pytest.mark.parametrize("learner", ORDERED)
def test_stackers_get_scores_in_the_order_of_the_ranking(learner: str) -> None:
    spec, events = parse_spec(lanes_of(learner)[1]), random_events(6, 300)
    engine, changed = Engine([spec]), 0
    (lane,) = engine.lanes
    for ranked in engine.process(make_block(events, TOKENIZER)):
        made, (scores,) = ranked.decisions_of(0), ranked.scores
        combined = lane.combined_scores(scores, made)
        lines = ranking_events(ranked, [spec.name], engine.topics.names, 0)
        for row, line in enumerate(lines):
            shown = [place["topic"] for place in orjson.loads(line)["ranking"]]
            by_score = combined.row(row, len(shown)).tolist()
            order = sorted(range(len(shown)), key=lambda topic: -by_score[topic])
            assert [engine.topics.names[topic] for topic in order] == shown
            changed += by_score != scores.row(row, len(shown)).tolist()
    engine.close()
    assert changed > 10
