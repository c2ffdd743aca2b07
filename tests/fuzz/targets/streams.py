"""Small engines and events for the targets that rank documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from learners.specs import parse_spec
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event
from pipeline.follower import Follower
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.tokenizer import Tokenizer
from tests.fuzz.target import Broken

SETTINGS = EngineSettings(FeatureSettings(max_terms=24), max_topics=6, max_pending=3)
TOKENIZER = Tokenizer()
TEXTS = ("wheat rose", "oil fell and oil rose", "ships carry grain", "no news")


def new_follower(lanes: Sequence[str]) -> Follower:
    """Return a follower with these lanes; one thread, so that a process can be forked."""
    return Follower(Engine([parse_spec(lane) for lane in lanes], ("t9",), SETTINGS, threads=1))


def events(count: int, first: int = 0) -> list[Event]:
    """Return made-up events: labelled documents, late and early labels, ranks, features."""
    made = []
    for n in range(first, first + count):
        topics = (f"t{n % 3}",) if n % 4 else ("t0", "t1")
        text = f"{TEXTS[n % 4]} w{n % 11} w{n % 7}"
        match n % 6:
            case 0:
                made.append(Event(f"d{n}", text, None, None, None))
            case 1:
                made.append(Event(f"d{n - 1}", None, topics, 2, None))
            case 2:
                made.append(
                    Event(n, {"a": 1.5, "b": -2.0, f"f{n % 5}": 1.0}, topics, 1 + n % 3, None)
                )
            case 3:
                made.append(Event(f"d{n + 7}", None, topics, None, None))
            case _:
                made.append(Event(f"d{n}", text, topics, 1 + n % 3, "1987-02-26T15:01:01Z"))
    return made


def record_of(count: int, first: int = 0) -> bytes:
    """Return a record of the log with made-up events."""
    span = Span("wire.documents", 0, first, first + count, "identity")
    batch = EventBatch(span, list(range(first, first + count)), events(count, first), 5)
    (record,) = encode_batches([batch], TOKENIZER, 1 << 20)
    return record


def check_rankings(follower: Follower, segments: Iterable[RankedSegment]) -> int:
    """Write the rankings as events; each must be JSON with finite scores. Returns how many."""
    count = 0
    lanes, topics = follower.names, follower.engine.topics.names
    for segment in segments:
        for event in ranking_events(segment, lanes, topics, 0):
            count += 1
            ranking = orjson.loads(event)
            scores = [one["score"] for one in ranking.get("ranking", ())] or [
                ranking.get("score", 0)
            ]
            if None in scores:
                raise Broken(f"a ranking of {ranking['lane']} has a score that is not finite")
    return count
