"""Compile the kernels before the first document, and tell the user why they have to wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from learners.jit import is_cached
from learners.learner import Learner
from learners.sharding.exchange import ThreadExchange
from learners.sharding.meeting_place import ThreadPlace
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
TOP = 10  # topics of a ranking event

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
    *,
    as_shards: bool = False,
) -> None:
    """Run every kernel once that these lanes, and perhaps the source, will need.

    With `as_shards`, this process will have one shard of each lane.
    """
    notice = threading.Timer(
        PATIENCE_SECONDS,
        lambda: say("compiling the kernels: the first run on a machine takes about a minute"),
    )
    notice.daemon = True
    notice.start()
    started = time.perf_counter()
    if isinstance(source, SyntheticNewswire | SyntheticClasses):
        next(iter(source))
    follow = follow_as_shards if as_shards else follow_events
    follow([with_immediate_training(lane) for lane in lanes], tokenizer)
    seconds = time.perf_counter() - started
    notice.cancel()
    notice.join()
    if seconds > PATIENCE_SECONDS:
        if is_cached(count_rows):
            cache = "cached for the next run"
        else:
            cache = "not cached, because no folder is writable: set NUMBA_CACHE_DIR to one that is"
        say(f"compiled in {seconds:.1f} s; {cache}")


def follow_events(
    lanes: Sequence[LaneSpec],
    tokenizer: Tokenizer,
    build: Callable[[LaneSpec], Learner] = LaneSpec.build,
) -> None:
    """Let lanes rank and learn a few events."""
    engine = Engine(lanes, build=build)
    for ranked in engine.process(make_block(EVENTS, tokenizer)):
        list(ranking_events(ranked, [lane.name for lane in lanes], engine.topics.names, TOP))
    for lane in engine.all_lanes:
        lane.learner.warm_up()
    engine.close()


def follow_as_shards(lanes: Sequence[LaneSpec], tokenizer: Tokenizer) -> None:
    """Let two shards of each lane follow a few events: in memory that they share, and apart."""
    for place in (ThreadPlace(2), None):
        exchange = ThreadExchange(2, place)
        builds = [
            partial(LaneSpec.new_shard, exchange=exchange.member(shard), top=TOP)
            for shard in range(2)
        ]
        with ThreadPoolExecutor(2) as pool:
            tasks = [
                pool.submit(exchange.run, follow_events, lanes, tokenizer, build)
                for build in builds
            ]
        for task in tasks:
            task.result()
