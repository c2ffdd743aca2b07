"""Makes a backup of a stream while its workers run.

The order matters. The offsets of the tokenizers are asked for first. Everything that they cover was
in the log by then, because tokenizers commit only what is in the log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from consumers.backup.configuration_text import configuration_text
from consumers.backup.errors import BackupError
from consumers.backup.lane_states import SILENCE_SECONDS, LaneStates
from consumers.kafka.client_types import TopicPartition
from consumers.kafka.commit_note import CommitNote
from consumers.kafka.log_reader import LogDescription, LogError, LogReader, describe_log
from consumers.kafka.offsets import committed_offset, committed_offsets
from consumers.kafka.topics import topic_identity
from consumers.kafka_names import lane_consumer_group, tokenizer_consumer_group
from consumers.learner.initial_model import read_initial_model
from consumers.logs import timestamp
from consumers.settings import Config, KafkaSettings
from consumers.stream_settings import StreamSettings
from pipeline.log.read_events import EventDigest
from pipeline.log.record import decode_record
from pipeline.models.backup import BackupPlace, Offsets, with_place
from pipeline.models.model import InputSettings, RunState, take_model
from pipeline.snapshots.snapshot import Snapshot

log = logging.getLogger(__name__)

ATTEMPTS = 3
Source = tuple[str, str, int]  # Kafka topic, its identity, partition


def make_backup(config: Config, stream: StreamSettings) -> Snapshot:
    """The state of all lanes at one offset of the log, with all that a new log needs to go on.

    If the log is trimmed meanwhile, the snapshots are newer by then, and the backup begins again.
    Raises `BackupError` if that is not possible, and the errors of a worker that cannot start.
    """
    for _ in range(ATTEMPTS):
        first = log_start(config, stream)
        try:
            return try_backup(config, stream)
        except LogError as error:
            if log_start(config, stream) == first:
                raise
            log.info("the log was trimmed during the backup, which begins again: %s", error)
    raise BackupError(
        f"the log was trimmed {ATTEMPTS} times before the backup had read what it needs of it. "
        "Nothing was written. Keep more of the log (log.keep, snapshots.keep), or take snapshots "
        "less often (snapshots.every_seconds), and try again."
    )


def log_start(config: Config, stream: StreamSettings) -> int:
    """The offset of the log's first record; 0 if there is no log."""
    if not topic_identity(config.kafka, stream.blocks):
        return 0
    return describe_log(config.kafka, stream.blocks).first


def try_backup(config: Config, stream: StreamSettings) -> Snapshot:
    """Make a backup; raises `LogError` if records that it needs are trimmed meanwhile."""
    if not topic_identity(config.kafka, stream.blocks):
        raise BackupError(
            f"the Kafka topic {stream.blocks} does not exist: stream {stream.name} has no log that "
            "could be backed up."
        )
    committed = committed_offsets(config.kafka, tokenizer_consumer_group(stream.name))
    described = describe_log(config.kafka, stream.blocks)
    initial = read_initial_model(stream)
    state = LaneStates(config, stream, described, initial).at_one_offset()
    published = published_offsets(config.kafka, stream)
    for lane, offset in published.items():
        if offset < state.position:
            log.warning(
                "lane %s has published up to offset %s, and the backup is of offset %s: if the log "
                "is lost before the lane has published the rest, a restored stream does not "
                "publish the rankings between the two", lane, offset, state.position,
            )  # fmt: skip
    place = BackupPlace(
        stream.name,
        timestamp(time.time()),
        stream.blocks,
        described.identity,
        state.position,
        state.coverage.state(),
        tokenizer_starts(
            config.kafka, described, state.position, state.coverage.reached, committed
        ),
        published,
        initial.digests,
        configuration_text(config, stream),
        state.began,
    )
    input_ = InputSettings(profile=stream.profile)
    model = take_model(state.engine, input_, RunState(EventDigest().so_far))
    state.engine.close()
    return with_place(model, place)


def published_offsets(kafka: KafkaSettings, stream: StreamSettings) -> dict[str, int]:
    """By published lane: up to which offset of the log it has published."""
    source = TopicPartition(stream.blocks, 0)
    lanes = [lane.parsed.name for lane in stream.lanes if lane.publish]
    found = {
        lane: committed_offset(kafka, lane_consumer_group(stream.name, lane), source).offset
        for lane in lanes
    }
    return {lane: offset or 0 for lane, offset in found.items()}


def tokenizer_starts(
    kafka: KafkaSettings,
    described: LogDescription,
    position: int,
    reached: Mapping[Source, int],
    committed: Mapping[Any, Any],  # by partition: offset and note of the tokenizers' group
) -> Offsets:
    """Where the tokenizers of a new log must begin, for each partition of the input.

    A partition of which nothing is in the log before the backup begins where the stream began with
    it. For a partition that has nothing in the log at all, that is the committed offset.
    """
    starts = dict(reached)
    logged_later = set[Source]()
    for partition, found in committed.items():
        note = CommitNote.decode(found.metadata)
        source = partition.topic, note.topic_id, partition.partition
        if source in starts or not note.topic_id:
            continue
        if note.covered is None:
            starts[source] = found.offset
        else:
            logged_later.add(source)
    if logged_later:
        starts.update(first_in_log(kafka, described, position, logged_later))
    return [[*source, offset] for source, offset in starts.items()]


def first_in_log(
    kafka: KafkaSettings, described: LogDescription, position: int, wanted: set[Source]
) -> dict[Source, int]:
    """The first offsets of these partitions that the log covers from a position on."""
    reader = LogReader(kafka, described.topic, position)
    first, heard = dict[Source, int](), time.monotonic()
    try:
        while wanted - first.keys() and position < described.end:
            for message in reader.poll(max_records=1):
                name = f"{message.topic}[{message.partition}] offset={message.offset}"
                for span in decode_record(message.value or b"", name).spans:
                    first.setdefault(span.source, span.start)
                position, heard = message.offset + 1, time.monotonic()
            if time.monotonic() - heard > SILENCE_SECONDS:
                raise BackupError(
                    f"the broker has sent no record of {described.topic} after offset {position} "
                    f"for {SILENCE_SECONDS:.0f} s: try again when the broker is well."
                )
    finally:
        reader.close()
    return {source: offset for source, offset in first.items() if source in wanted}
