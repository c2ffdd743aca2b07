"""`python -m tests.bench.decision_costs SOURCE ...`: what it costs that a lane assigns topics.

Lanes with and without sets take turns. Of each block the fastest turn counts, so that other work of
the machine adds little. A lane's own time is that for ranking, learning and measuring. All its work
also has what the engine does for it, and the writing of ranking events. The whole way begins with
the JSON of an event: it also has the reading and tokenizing of events, which is the same with and
without sets.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from learners.arrays import Floats
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
TURNS = 25
READINGS = 4
TOP = 10  # topics of a ranking event


class Events(list[bytes]):
    """Events in memory, as a source."""

    topics: Sequence[str] = ()
    total: int | None = None


def one_turn(spec: str, blocks: Sequence[Block], topics: Sequence[str]) -> Floats:
    """Follow all blocks with one lane, and write its events.

    Returns seconds per block: the lane's own time, and all its work as time of the processor.
    """
    engine = Engine([parse_spec(spec)], topics, threads=1)
    lane = engine.lanes[0]
    writer = RankingWriter([lane.name], TOP)
    costs = np.zeros((len(blocks), 2))
    for i, block in enumerate(blocks):
        own, began = lane.seconds, time.thread_time()
        for segment in engine.process(block):
            writer.write(segment, engine.topics.names, [0])
        costs[i] = lane.seconds - own, time.thread_time() - began
    return costs


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
    topics = open_source(source).topics
    for lane in LANES:
        specs = lane, f"{lane}:{SETS}"
        fastest: list[Floats] = [np.full((len(blocks), 2), np.inf) for _ in specs]
        for _ in range(TURNS):
            for i, spec in enumerate(specs):
                fastest[i] = np.minimum(fastest[i], one_turn(spec, blocks, topics))
        without, with_sets = (
            [*costs.sum(axis=0).tolist(), costs[:, 1].sum() + reading] for costs in fastest
        )
        for i, name in enumerate(("its own time", "all its work", "the whole way")):
            before, after = (costs[i] / documents * 1e6 for costs in (without, with_sets))
            ratio, more = after / before, after - before
            print(f"  {lane:<12} {name}: {before:6.1f}, {after:6.1f} us (+{more:.1f}, {ratio:.2f})")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        compare(each)
