"""Times the stages of a replay of the synthetic newswire."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from learners.specs import LaneSpec
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import parse_event
from pipeline.log.block import make_block
from pipeline.reports.report import aligned
from pipeline.text.tokenizer import Tokenizer


class Stopwatch:
    """Adds up the seconds spent in each stage."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time spent in the `with` block to a stage."""
        started = time.perf_counter()
        yield
        self.seconds[stage] += time.perf_counter() - started


def stage_times(lanes: Sequence[LaneSpec], documents: int, block: int) -> dict[str, float]:
    """Measure the seconds per stage; the stages run one after the other, on one core."""
    stopwatch = Stopwatch()
    source = SyntheticNewswire(documents=documents)
    tokenizer = Tokenizer()
    engine = Engine(lanes, source.topics)
    names = [lane.name for lane in lanes]
    with stopwatch.timing("generate"):
        raw = list(source)
    for start in range(0, documents, block):
        with stopwatch.timing("decode"):
            events = [parse_event(event) for event in raw[start : start + block]]
        with stopwatch.timing("tokenise"):
            made = make_block(events, tokenizer)
        with stopwatch.timing("weigh, rank and learn"):
            segments = list(engine.process(made))
        with stopwatch.timing("write rankings"):
            for segment in segments:
                for _ in ranking_events(segment, names, engine.topics.names, 10):
                    pass
    engine.close()
    for lane in engine.lanes:
        stopwatch.seconds[f"  of which {lane.name}"] = lane.seconds
    return dict(stopwatch.seconds)


def stage_table(seconds: dict[str, float], documents: int) -> str:
    """Format the times as a table, per document."""
    rows = [("stage", "us per document", "documents/s")]
    for stage, spent in seconds.items():
        rows.append((stage, f"{spent / documents * 1e6:.1f}", f"{documents / spent:,.0f}"))
    return aligned(rows)
