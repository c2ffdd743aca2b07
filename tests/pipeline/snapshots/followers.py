"""Followers that have read a log of made-up events, for tests of snapshots."""

from __future__ import annotations

from learners.specs import parse_spec, resolved
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.events.event import Event
from pipeline.follower import Follower
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.text.feature_settings import FeatureSettings
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

LANES = ("mmp:loss=1", "perceptron:margin=0.5,name=champion", "frequency", "prank:ranks=3")
STACKED = "svm-map:of=[mmp:loss=1,frequency],refit=10,window=30,name=stacked"
STACKED_ALL = "svm-map:refit=10"
SETTINGS = EngineSettings(FeatureSettings(max_terms=60), max_topics=6, max_pending=5)


def follower_of(lanes: tuple[str, ...] = LANES, count: int = 200) -> Follower:
    """Return a follower that has read a log with documents, late labels and early labels."""
    engine = Engine([parse_spec(lane) for lane in lanes], ("t9",), SETTINGS)
    return followed(Follower(engine), count)


def followed(follower: Follower, count: int = 200) -> Follower:
    """Return the follower after it has read a log of made-up events."""
    events = random_events(1, count)[: count - 8]
    events += [Event(f"to come {n}", None, ("t1",), None, None) for n in range(8)]
    for number, start in enumerate(range(0, count, 40)):
        offsets = list(range(start, start + 40))
        span = Span("wire.documents", 3, start, start + 40, "identity")
        batch = EventBatch(span, offsets, events[start : start + 40])
        for record in encode_batches([batch], TOKENIZER, 1 << 20):
            for _ in follower.follow(record, number, "a record"):
                pass
    return follower


def stacker_of(helped: bool) -> Follower:
    """Return a follower with a stacker; `helped`: the lanes that it combines are helpers."""
    every = resolved([parse_spec(lane) for lane in (LANES[0], LANES[2], STACKED)])
    lanes, helpers = (every[2:], every[:2]) if helped else (every, [])
    return followed(Follower(Engine(lanes, ("t9",), SETTINGS, helpers=helpers)))
