"""Compile the kernels before the first document, and tell the person who waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from learners.jit import is_cached
from learners.specs import LaneSpec
from pipeline.corpora import Source
from pipeline.corpora.synthetic_classes import SyntheticClasses
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.text.tokenizer import Tokenizer, count_rows

PATIENCE_SECONDS = 1.5  # loading compiled kernels takes less than this, compiling them much more

EVENTS = (
    Event("1", "wheat and maïs", ("grain",), None, None),
    Event("2", "corn and oil", None, None, None),
    Event("3", {"oil": 1.0}, ("crude",), None, None),
    Event("2", None, ("crude",), None, None),
)


def at_once(lane: LaneSpec) -> LaneSpec:
    """The lane; if it trains now and then, one that does so after every round."""
    return replace(lane, options={**lane.options, "refit": 1}) if lane.is_stacker else lane


def warm_up(
    lanes: Sequence[LaneSpec],
    tokenizer: Tokenizer,
    say: Callable[[str], None],
    source: Source | None = None,
) -> None:
    """Run every kernel that these lanes, and a source with kernels of its own, need once."""
    notice = threading.Timer(
        PATIENCE_SECONDS,
        lambda: say("compiling the kernels: the first run on a machine takes about half a minute"),
    )
    notice.daemon = True
    notice.start()
    started = time.perf_counter()
    if isinstance(source, SyntheticNewswire | SyntheticClasses):
        next(iter(source))
    engine = Engine([at_once(lane) for lane in lanes])
    for ranked in engine.process(make_block(EVENTS, tokenizer)):
        list(ranking_events(ranked, [lane.name for lane in lanes], engine.topics.names, 10))
    engine.close()
    seconds = time.perf_counter() - started
    notice.cancel()
    if seconds > PATIENCE_SECONDS:
        kept = (
            "kept for the next run"
            if is_cached(count_rows)
            else ("not kept, as there is no folder to write to: set NUMBA_CACHE_DIR to one")
        )
        say(f"compiled in {seconds:.1f} s; {kept}")
