"""How fast this machine is: microseconds a document, stage by stage, on the synthetic newswire."""

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
    """Seconds spent by stage."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        started = time.perf_counter()
        yield
        self.seconds[stage] += time.perf_counter() - started


def stage_times(lanes: Sequence[LaneSpec], documents: int, block: int) -> dict[str, float]:
    """Seconds by stage for so many documents, one stage after the other, on one core."""
    progress = Stopwatch()
    source = SyntheticNewswire(documents=documents)
    tokenizer = Tokenizer()
    engine = Engine(lanes, source.topics)
    names = [lane.name for lane in lanes]
    with progress.timing("generate"):
        raw = list(source)
    for start in range(0, documents, block):
        with progress.timing("decode"):
            events = [parse_event(event) for event in raw[start : start + block]]
        with progress.timing("tokenise"):
            made = make_block(events, tokenizer)
        with progress.timing("weigh, rank and learn"):
            ranked = list(engine.process(made))
        with progress.timing("write rankings"):
            for piece in ranked:
                for _ in ranking_events(piece, names, engine.topics.names, 10):
                    pass
    engine.close()
    for lane in engine.lanes:
        progress.seconds[f"  of which {lane.name}"] = lane.seconds
    return dict(progress.seconds)


def stage_table(seconds: dict[str, float], documents: int) -> str:
    """The times as a table."""
    rows = [("stage", "us a document", "documents/s")]
    for stage, spent in seconds.items():
        rows.append((stage, f"{spent / documents * 1e6:.1f}", f"{documents / spent:,.0f}"))
    return aligned(rows)
