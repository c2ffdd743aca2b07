"""What a document takes on disks: in the log, as rankings, and in snapshots."""

from __future__ import annotations

import tempfile
from pathlib import Path

import lz4.frame

from consumers.kafka.clients import MAX_RECORD_BYTES
from learners.specs import parse_spec
from pipeline.corpora import open_source
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event, parse_event
from pipeline.follower import Follower
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.text.tokenizer import Tokenizer

LANES = ("mmp:loss=1", "arow", "feature-focus")
BLOCKS, TOP = (1, 20, 1000), 10


def compressed(data: bytes) -> int:
    """The size with lz4, as the producers of the workers compress batches of records."""
    return len(lz4.frame.compress(data))


def encoded(events: list[Event], size: int) -> list[bytes]:
    """Records of the log with a number of documents each."""
    tokenizer = Tokenizer()
    records: list[bytes] = []
    for start in range(0, len(events), size):
        part = events[start : start + size]
        span = Span("news.documents", 0, start, start + len(part), "A" * 22)
        batch = EventBatch(span, list(range(start, start + len(part))), part, 1_772_357_400_000)
        records += encode_batches([batch], tokenizer, MAX_RECORD_BYTES)
    return records


def run(documents: int) -> None:
    """Print bytes per document, and the sizes of snapshots."""
    raw = list(open_source(f"synthetic:{documents}"))
    events = [parse_event(event) for event in raw]
    packed = sum(compressed(b"".join(raw[at : at + 200])) for at in range(0, documents, 200))
    size = sum(map(len, raw)) / documents
    print(f"{documents:,} documents; bytes each: {size:,.0f}; with lz4 {packed / documents:,.0f}")
    for block in BLOCKS:
        part = events[: 500 * block]
        records = encoded(part, block)
        plain = sum(map(len, records)) / len(part)
        packed = sum(map(compressed, records))
        print(f"  log, {block:,} per block: {plain:,.0f}; with lz4 {packed / len(part):,.0f}")
    for lane in LANES:
        measure_lane(lane, encoded(events, 1000))


def measure_lane(lane: str, records: list[bytes]) -> None:
    """Print the size of a lane's rankings, and of its snapshot at the end."""
    follower = Follower(Engine([parse_spec(lane)]))
    rankings = plain = packed = 0
    for offset, record in enumerate(records):
        for ranked in follower.follow(record, offset, "a record"):
            made = ranking_events(ranked, follower.names, follower.engine.topics.names, TOP)
            rankings += len(made)
            plain += sum(map(len, made))
            packed += compressed(b"".join(made))
    with tempfile.TemporaryDirectory() as folder:
        path = SnapshotFolder(Path(folder)).write(follower.snapshot(log="", published=[]))
        size = path.stat().st_size / 2**20
    terms, topics = len(follower.engine.vocabulary), len(follower.engine.topics.names)
    print(
        f"  {lane}: a ranking {plain / rankings:,.0f}; with lz4 {packed / rankings:,.0f}; "
        f"a snapshot {size:,.1f} MiB, of {terms:,} terms and {topics:,} topics"
    )
