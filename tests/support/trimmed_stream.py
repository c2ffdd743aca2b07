"""A stream whose log is trimmed, and the rankings that it must have all the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from typer.testing import CliRunner, Result

from consumers.cli import new_app
from consumers.kafka.log_reader import LogDescription, describe_log
from consumers.sharding.snapshot_folders import stream_folder
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import parse_event
from pipeline.log.block import make_block
from pipeline.snapshots.folder import SUFFIX, VerifiedFiles
from pipeline.text.tokenizer import Tokenizer
from tests.support.kafka_stream import Streaming, eventually, values_by_lane

APP = new_app()


def expected_rankings(
    streaming: Streaming, events: Sequence[bytes], lanes: Sequence[str]
) -> dict[str, list[bytes]]:
    """The rankings of lanes that have seen these events and no others, without Kafka."""
    stream = streaming.stream
    engine = Engine([parse_spec(lane) for lane in lanes], stream.topics, stream.engine_settings())
    block = make_block([parse_event(event) for event in events], Tokenizer(stream.profile))
    names, made = [lane.name for lane in engine.lanes], list[bytes]()
    for ranked in engine.process(block):
        made += ranking_events(ranked, names, engine.topics.names, stream.top)
    return values_by_lane(made)


def published(streaming: Streaming, wanted: int) -> dict[str, list[bytes]]:
    return values_by_lane(message.value for message in streaming.rankings(wanted))


def log_of(streaming: Streaming) -> LogDescription:
    return describe_log(streaming.config.kafka, streaming.stream.blocks)


def trim(streaming: Streaming, *options: str) -> Result:
    """`wirerank trim`, with --yes."""
    return CliRunner().invoke(APP, ["trim", str(streaming.path), "--yes", *options])


def snapshot_positions(streaming: Streaming, lane: str) -> list[int]:
    """The offsets of all snapshots of a lane, of whole lanes and of shards."""
    folder, positions = stream_folder(streaming.config, streaming.stream), list[int]()
    verified = VerifiedFiles()
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            described = verified.describe(path)
        except FileNotFoundError:
            continue
        if lane in described.lanes:
            positions.append(described.position)
    return sorted(positions)


def feed(streaming: Streaming, events: Sequence[bytes], pieces: int) -> None:
    """Write events piece by piece; after each, wait for a snapshot behind it."""
    size = max(1, -(-len(events) // pieces))
    for start in range(0, len(events) or 1, size):
        streaming.produce(events[start : start + size])
        streaming.wait_logged()
        end = log_of(streaming).end
        assert eventually(partial(all_have_snapshots, streaming, end)), streaming.diagnosis()


def all_have_snapshots(streaming: Streaming, position: int) -> bool:
    """Whether every lane has a snapshot at this offset; of divided lanes, every shard."""
    return all(
        snapshot_positions(streaming, lane.parsed.name).count(position) >= lane.shards
        for lane in streaming.stream.lanes
    )
