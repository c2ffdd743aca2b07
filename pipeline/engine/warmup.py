"""Compile the kernels before the first document, and tell the user why they have to wait."""

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

# Loading compiled kernels takes less time than this, compiling them takes much more.
PATIENCE_SECONDS = 1.5

EVENTS = (
    Event("1", "wheat and maïs", ("grain",), None, None),
    Event("2", "corn and oil", None, None, None),
    Event("3", {"oil": 1.0}, ("crude",), None, None),
    Event("2", None, ("crude",), None, None),
)


def with_immediate_training(lane: LaneSpec) -> LaneSpec:
    """Return the lane; a stacker trains after every round, so that its kernels are compiled."""
    return replace(lane, options={**lane.options, "refit": 1}) if lane.is_stacker else lane


def warm_up(
    lanes: Sequence[LaneSpec],
    tokenizer: Tokenizer,
    say: Callable[[str], None],
    source: Source | None = None,
) -> None:
    """Run every kernel once that these lanes, and perhaps the source, will need."""
    notice = threading.Timer(
        PATIENCE_SECONDS,
        lambda: say("compiling the kernels: the first run on a machine takes about a minute"),
    )
    notice.daemon = True
    notice.start()
    started = time.perf_counter()
    if isinstance(source, SyntheticNewswire | SyntheticClasses):
        next(iter(source))
    engine = Engine([with_immediate_training(lane) for lane in lanes])
    for ranked in engine.process(make_block(EVENTS, tokenizer)):
        list(ranking_events(ranked, [lane.name for lane in lanes], engine.topics.names, 10))
    for lane in engine.all_lanes:
        lane.learner.warm_up()
    engine.close()
    seconds = time.perf_counter() - started
    notice.cancel()
    notice.join()
    if seconds > PATIENCE_SECONDS:
        if is_cached(count_rows):
            cache = "cached for the next run"
        else:
            cache = "not cached, because no folder is writable: set NUMBA_CACHE_DIR to one that is"
        say(f"compiled in {seconds:.1f} s; {cache}")
