"""Lanes that assign topics, on a real broker: crashes change no decision and no queue."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from learners.specs import parse_spec
from pipeline.curves.review_queue import TO_REVIEW
from pipeline.engine.engine import Engine
from pipeline.snapshots.restoring import restore_engine
from tests.consumers.learner.test_lanes import end_all
from tests.consumers.learner.test_ordinal_lanes import replayed, scattered
from tests.support.kafka_stream import SMALL, Streaming, assert_exact
from tests.support.killed_learners import learn_over_kills, places_of

MICRO, MACRO = (
    "soft-arow:assign=micro,risk=0.3",
    "mmp:loss=1,assign=macro,risk=0.5,order=probability,name=macro",
)
PRECISE = "perceptron:average=true,assign=precision:0.8,name=precise"
LANES = [MICRO, MACRO, PRECISE]


@pytest.mark.parametrize("seed", [5, 6])
def test_decisions_over_kills_equal_the_embedded_replay(
    seed: int, broker: str, tmp_path: Path
) -> None:
    """Labels come at once, late, early or never; the learner is killed at work, again and again."""
    events, rng = scattered(seed, 900), random.Random(seed)
    rankings, _ = replayed(tmp_path, events, LANES)
    settings = f"{SMALL.replace('block = 40', 'block = 15')}\nmax_pending = 50"
    with Streaming(broker, tmp_path, LANES, settings=settings, every=0.2) as streaming:
        streaming.start("tokenize-0")
        learn_over_kills(streaming, MICRO, events, rng)
        streaming.wait_learned()
        published = streaming.rankings(len(rankings))
        end_all(streaming)
        assert_exact(streaming, published, events)  # with the curves of decisions, and the queue
        assert sorted(message.value or b"" for message in published) == sorted(rankings)
        assert len(set(places_of(streaming, MICRO))) > 3  # or this proves little
        engine = Engine(
            [parse_spec(lane.spec) for lane in streaming.stream.lanes], (),
            streaming.stream.engine_settings(),
        )  # fmt: skip
        restore_engine(engine, streaming.snapshot())
    curve = engine.lanes[0].decision_curve
    assert curve is not None
    assert curve.queue is not None
    queued = [document.id for document in curve.queue]
    engine.close()
    name = parse_spec(MICRO).name
    decided = [event for event in map(orjson.loads, rankings) if event["lane"] == name]
    assert queued == [event["id"] for event in decided if event["review"]][-TO_REVIEW:]
    assert len(queued) == TO_REVIEW
