"""Compile the kernels before the first document, and tell the person who waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from learners.specs import LaneSpec
from pipeline.blocks import make_block
from pipeline.engine import Engine
from pipeline.events import Event
from pipeline.rankings import ranking_events
from pipeline.tokenizer import Tokenizer

PATIENCE_SECONDS = 1.5  # loading compiled kernels takes less than this, compiling them much more

EVENTS = (
    Event("1", "wheat and corn", ("grain",), None, None),
    Event("2", "corn and oil", None, None, None),
    Event("3", {"oil": 1.0}, ("crude",), None, None),
    Event("2", None, ("crude",), None, None),
)


def warm_up(lanes: Sequence[LaneSpec], tokenizer: Tokenizer, say: Callable[[str], None]) -> float:
    """Run every kernel that these lanes need once; return the seconds it took."""
    notice = threading.Timer(
        PATIENCE_SECONDS,
        lambda: say("compiling the kernels: the first run on a machine takes about half a minute"),
    )
    notice.daemon = True
    notice.start()
    started = time.perf_counter()
    engine = Engine(lanes)
    for ranked in engine.process(make_block(EVENTS, tokenizer)):
        list(ranking_events(ranked, [lane.name for lane in lanes], engine.topics.names, 10))
    engine.close()
    seconds = time.perf_counter() - started
    notice.cancel()
    if seconds > PATIENCE_SECONDS:
        say(f"compiled in {seconds:.1f} s; kept for the next run")
    return seconds
