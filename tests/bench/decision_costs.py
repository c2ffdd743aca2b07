"""`python -m tests.bench.decision_costs SOURCE ...`: what it costs that a lane assigns topics.

Lanes with and without sets take turns, and the fastest turn of each counts, as time of the thread.
A lane's own time is that for ranking, learning and measuring. All its work also has what the engine
does for it, and the writing of ranking events. The whole way begins with the JSON of an event: it
also has the reading and tokenizing of events, which is the same with and without sets.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from learners.specs import parse_spec
from pipeline.corpora import open_source
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import RankingWriter
from pipeline.log.block import Block
from pipeline.log.block_reader import BlockReader
from pipeline.text.tokenizer import Tokenizer

LANES = ("soft-arow", "mmp", "perceptron")
SETS = "assign=micro,risk=0.1"
BLOCK = 1024
TURNS = 12
READINGS = 4
TOP = 10  # topics of a ranking event


class Cost(NamedTuple):
    """Seconds of processor time."""

    lane: float
    all: float


class Events(list[bytes]):
    """Events in memory, as a source."""

    topics: Sequence[str] = ()
    total: int | None = None


def one_turn(spec: str, blocks: Sequence[Block], source: str) -> Cost:
    """Follow all blocks with one lane, and write its events."""
    engine = Engine([parse_spec(spec)], open_source(source).topics, threads=1)
    writer = RankingWriter([engine.lanes[0].name], TOP)
    began = time.thread_time()
    for block in blocks:
        for segment in engine.process(block):
            writer.write(segment, engine.topics.names, [0])
    return Cost(engine.lanes[0].seconds, time.thread_time() - began)


def read_blocks(source: str) -> tuple[list[Block], float]:
    """Tokenize a source; return its blocks, and how long it took."""
    events = Events(open_source(source))
    spent = []
    for _ in range(READINGS):
        began = time.thread_time()
        blocks = [read.block for read in BlockReader(events, Tokenizer("news"), BLOCK)]
        spent.append(time.thread_time() - began)
    return blocks, min(spent)


def compare(source: str) -> None:
    """Print what each lane costs per document, without and with sets."""
    blocks, reading = read_blocks(source)
    documents = sum(len(block.entries) for block in blocks)
    print(f"\n{source}: {documents:,} documents, read in {reading / documents * 1e6:.1f} us each")
    for lane in LANES:
        specs = lane, f"{lane}:{SETS}"
        turns: dict[str, list[Cost]] = {spec: [] for spec in specs}
        for _ in range(TURNS):
            for spec in specs:
                turns[spec].append(one_turn(spec, blocks, source))
        without, with_sets = (
            [min(costs) / documents * 1e6 for costs in zip(*turns[spec], strict=True)]
            for spec in specs
        )
        for costs in (without, with_sets):
            costs.append(costs[-1] + reading / documents * 1e6)
        for i, name in enumerate(("its own time", "all its work", "the whole way")):
            before, after = without[i], with_sets[i]
            ratio, more = after / before, after - before
            print(f"  {lane:<12} {name}: {before:6.1f}, {after:6.1f} us (+{more:.1f}, {ratio:.2f})")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        compare(each)
