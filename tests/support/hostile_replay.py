"""Replays a hostile stream in this process and prints its peak memory as JSON.

Run as `python -m tests.support.hostile_replay KIND EVENTS`. The process first learns a harmless
stream, so that kernels are compiled and libraries are loaded. The memory by then is `base`.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from learners.specs import parse_spec
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.memory import memory_ceiling, memory_use
from pipeline.events.dead_letters import DeadLetterFile
from pipeline.log.block_reader import BlockReader
from pipeline.log.prefetcher import Prefetcher
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.tokenizer import Tokenizer

MIB = 1 << 20
MAX_PENDING_BYTES = 16 * MIB
LANES = ("frequency", "feature-focus")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PAIRS = [a + b for a in LETTERS for b in LETTERS]
WORDS = [a + b for a in PAIRS[:320] for b in PAIRS]


def large_documents(count: int) -> Iterator[dict[str, Any]]:
    """Documents without labels, each a megabyte of different words: vectors of 2 MB."""
    text = " ".join(WORDS[:209_000])
    for number in range(count):
        yield {"id": f"d{number}", "text": text}


def long_ids(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {"id": f"{number}" + "x" * (MIB - 60), "text": "wheat"}


def bad_events(count: int) -> Iterator[dict[str, Any]]:
    """Events without content, in which a megabyte of JSON becomes many megabytes of objects."""
    lists: list[list[int]] = [[]] * 340_000
    for number in range(count):
        yield {"id": f"b{number}", "unknown": lists}


def labels_without_documents(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {"id": f"never-{number}", "topics": [f"topic-{number}"]}


def large_labels(count: int) -> Iterator[dict[str, Any]]:
    """Late labels of a megabyte each: a thousand long topics for a document that never comes."""
    for number in range(count):
        topics = [f"{number}-{t}-" + "\U0001d56a" * 240 for t in range(1000)]  # 4 bytes each
        yield {"id": f"n{number}", "topics": topics}


def many_topics(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        topics = [f"{number}-{t}-" + "z" * 240 for t in range(100)]
        yield {"id": f"t{number}", "text": f"wheat w{number}", "topics": topics}


KINDS: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {
    "large-documents": large_documents,
    "long-ids": long_ids,
    "bad-events": bad_events,
    "labels-without-documents": labels_without_documents,
    "large-labels": large_labels,
    "many-topics": many_topics,
}


class Made:
    """Made-up events as a source."""

    topics: Sequence[str] = ()
    total: int | None = None

    def __init__(self, events: Iterator[dict[str, Any]]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[bytes]:
        for event in self._events:
            yield orjson.dumps(event) + b"\n"


def peak_bytes() -> int:
    """The highest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def learn(engine: Engine, events: Iterator[dict[str, Any]], folder: Path) -> int:
    """Learn events as a replay does; returns the number of dead letters."""
    letters = DeadLetterFile(folder / "dead-letters.jsonl", "made")
    readings = Prefetcher(BlockReader(Made(events), Tokenizer(), 1000))
    for reading in readings:
        if reading is not None:
            letters.write(reading.dead_letters)
            for _ in engine.process(reading.block):
                pass
    letters.close()
    return letters.counts.total()


def main(kind: str, count: int) -> None:
    settings = EngineSettings(
        FeatureSettings(max_terms=1 << 18), 512, max_pending=10**7,
        max_pending_bytes=MAX_PENDING_BYTES,
    )  # fmt: skip
    engine = Engine([parse_spec(lane) for lane in LANES], (), settings)
    harmless = [{"id": f"h{n}", "text": f"wheat w{n}", "topics": ["grain"]} for n in range(100)]
    with TemporaryDirectory() as folder:
        learn(engine, iter(harmless), Path(folder))
        base = peak_bytes()
        dead_letters = learn(engine, KINDS[kind](count), Path(folder))
    engine.close()
    pending = engine.pending
    print(
        json.dumps(
            {
                "base": base,
                "grown": peak_bytes() - base,
                "use": memory_use(engine),
                "ceiling": memory_ceiling(engine),
                "dead_letters": dead_letters,
                "documents": len(pending.documents),
                "labels": len(pending.early),
                "pending_bytes": [pending.document_bytes, pending.early_bytes],
                "dropped": pending.expired_documents + pending.unmatched_labels,
                "topics_refused": engine.topics.refused,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
