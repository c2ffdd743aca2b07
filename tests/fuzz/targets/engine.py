"""Streams of odd events through every kind of lane, in blocks of any size."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import orjson

from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event, MalformedEvent, parse_event
from pipeline.log.block import make_block
from tests.fuzz.mutation import JsonMutator, blown_up
from tests.fuzz.target import Broken, Target
from tests.fuzz.targets.streams import SETTINGS, TOKENIZER, events

LANES = (
    "mmp", "mmp:loss=3,average=true,norm=l2", "perceptron:margin=0.5", "rocchio:refresh=3",
    "feature-focus", "independent", "committee:size=2", "arow", "soft-arow", "frequency",
    "mmp:kernel=poly2,budget=4", "prank:ranks=3", "widrow-hoff:ranks=3",
    "multiclass-perceptron:ranks=3", "svm-map:of=[mmp,frequency],refit=4,window=8,name=stacked",
)  # fmt: skip
WORDS = (
    "d1", "d2", ["t0"], ["t0", "t1"], {"a": 1e75}, {"a": -1e75, "b": 1e75}, {"a": 1e-75}, {"a": 0},
    {"w1": 3}, "wheat " * 40, 3, 1, 4,
)  # fmt: skip


class Streams(Target):
    """Events as blocks of one and of many, ranked and learned: `pipeline/engine/engine.py`."""

    name = "streams"
    share = 0.01
    kernels = True
    largest = 1 << 14

    def __init__(self) -> None:
        self._mutator = JsonMutator(
            ("id", "text", "topics", "rank", "features", "title", "time"), WORDS
        )

    def seeds(self) -> Sequence[bytes]:
        return [orjson.dumps([as_json(event) for event in events(n, 3 * n)]) for n in (4, 9, 14)]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return self._mutator.mutate(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return blown_up(rng, data, self.largest)

    def run(self, data: bytes) -> str:
        parsed = parsed_events(data)
        whole = ranked(parsed, len(parsed) or 1)
        single = ranked(parsed, 1 + len(data) % 3)
        if whole != single:
            raise Broken("rankings depend on the size of blocks")
        if b":null" in b"".join(whole).replace(b'"time":null', b""):
            raise Broken("a score is not finite")
        documents = sum(event.content is not None for event in parsed)
        if len(whole) != documents * len(LANES):
            raise Broken(f"{documents} documents have {len(whole)} rankings of {len(LANES)} lanes")
        return f"{documents.bit_length()} {len(parsed).bit_length()}"


def as_json(event: Event) -> dict[str, object]:
    """Return an event as an object."""
    content = "text" if isinstance(event.content, str) else "features"
    fields = {"id": event.id, content: event.content, "topics": event.topics, "rank": event.rank}
    return {key: value for key, value in fields.items() if value is not None}


def parsed_events(data: bytes) -> list[Event]:
    """Return the events of a JSON list that are not malformed."""
    try:
        values = orjson.loads(data)
    except orjson.JSONDecodeError:
        return []
    parsed = []
    for value in values if isinstance(values, list) else [values]:
        try:
            parsed.append(parse_event(orjson.dumps(value)))
        except (MalformedEvent, TypeError):  # the latter: nested too deep to be written
            continue
    return parsed[:60]


def ranked(parsed: Sequence[Event], size: int) -> list[bytes]:
    """Return the rankings of all documents, in blocks of a size, by document and lane."""
    engine = Engine([parse_spec(lane) for lane in LANES], (), SETTINGS, threads=1)
    rankings: list[bytes] = []
    names = [lane.name for lane in engine.lanes]
    for start in range(0, len(parsed), size):
        for segment in engine.process(make_block(parsed[start : start + size], TOKENIZER)):
            rankings += ranking_events(segment, names, engine.topics.names, 0)
    return rankings
