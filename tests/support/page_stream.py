"""A run in the hands of a test: events go in when the test says so, on a clock that it winds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.page.feed import PageFeed
from pipeline.page.samples import ReadProgress
from pipeline.text.tokenizer import Tokenizer

TOKENIZER = Tokenizer()
LANES = ("mmp:loss=1", "perceptron", "frequency")


class Clock:
    """Stands still until it is wound on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Stream:
    """An engine and its feed."""

    def __init__(
        self,
        lanes: Sequence[str] = LANES,
        total: int | None = None,
        clock: Clock | None = None,
        source: str = "a test",
        topics: Sequence[str] = (),
    ) -> None:
        self.clock = clock or Clock()
        self.engine = Engine([parse_spec(lane) for lane in lanes], topics)
        self.feed = PageFeed(source, self.clock)
        self.total = total
        self.read = 0
        self.feed.begin(self.engine, ReadProgress(0, total))

    def process(self, events: Sequence[Event], seconds: float = 1.0) -> None:
        """Take a block that lasts so long."""
        self.clock.now += seconds
        block = make_block(events, TOKENIZER)
        self.read += len(events)
        for ranked in self.engine.process(block, self.feed.wanted()):
            self.feed.take(ranked)
        self.feed.advance(block, ReadProgress(self.read, self.total))


def small(number: int) -> Event:
    """A document of few features that tell its topic, mostly."""
    features = {f"w{number % 7}": 1.0, f"v{number % 11}": 2.0, f"u{number * 7919 % 13}": 0.5}
    time = f"1987-{1 + number // 28 % 12:02}-{1 + number % 28:02}T12:00:00Z"
    return Event(f"d{number}", features, (f"t{number % 7}",), None, time)


def ranked(number: int, ranks: int = 5) -> Event:
    """The same, and its features tell a rank too."""
    return small(number)._replace(rank=1 + number % 7 * ranks // 7)


def as_file(events: Sequence[Event], path: Path) -> str:
    """Events as a source that a replay reads."""
    with path.open("wb") as file:
        for event in events:
            shown = {**event._asdict(), "features": event.content}
            del shown["content"]
            file.write(orjson.dumps({k: v for k, v in shown.items() if v is not None}) + b"\n")
    return str(path)
