"""What a log takes on the broker, where it can be cut, and cutting it."""

from __future__ import annotations

import time
from typing import Any

from consumers.kafka.client_types import Consumer, TopicPartition
from consumers.kafka.clients import Timeouts, new_admin, new_consumer
from consumers.kafka.errors import (
    PERMANENT,
    AuthorizationError,
    OffsetOutOfRangeError,
    describe_error,
)
from consumers.kafka.log_reader import LogDescription, LogError, LogReader
from consumers.kafka.record_sizes import RecordSizes
from consumers.kafka.topics import described_identity
from consumers.settings import KafkaSettings
from pipeline.log.coverage import Coverage
from pipeline.log.record import decode_spans

SAMPLES = 64
SAMPLE_BYTES = 64 << 10  # asked for at a time; a larger record comes whole all the same
POLL_MS = 1000
COVER_RECORDS = 64  # per poll


def first_offset_since(settings: KafkaSettings, log: LogDescription, seconds: float) -> int:
    """The offset of the first record of the last so many seconds; the end, if there is none."""
    place = TopicPartition(log.topic, 0)
    since = max(0, int((time.time() - seconds) * 1000))
    consumer: Any = new_consumer(settings)
    try:
        found = consumer.offsets_for_times({place: since}, timeout_ms=Timeouts().request_ms)
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    return log.end if found.get(place) is None else int(found[place].offset)


def sample_sizes(settings: KafkaSettings, log: LogDescription) -> RecordSizes:
    """The sizes of evenly spaced records of the log.

    Sizes are those of the values, before the producer compresses them. What the broker tells of its
    disk would not do: it counts records that were deleted until their whole segment is.
    """
    records = log.end - log.first
    count = min(SAMPLES, records)
    if count <= 0:
        return RecordSizes(log.first, log.end, ())
    offsets = [log.first + (2 * number + 1) * records // (2 * count) for number in range(count)]
    consumer = new_consumer(settings, max_partition_fetch_bytes=SAMPLE_BYTES)
    try:
        sizes = [size_at(consumer, TopicPartition(log.topic, 0), offset) for offset in offsets]
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    known = [size for size in sizes if size is not None]
    mean = sum(known) / len(known) if known else 0.0
    return RecordSizes(
        log.first, log.end, [mean if size is None else float(size) for size in sizes]
    )


def size_at(consumer: Consumer, place: TopicPartition, offset: int) -> int | None:
    """The size of one record; None if the broker does not send it in time, or has deleted it."""
    consumer.assign([place])
    consumer.seek(place, offset)
    try:
        messages = consumer.poll(POLL_MS, max_records=1).get(place, [])
    except OffsetOutOfRangeError:
        return None
    return len(messages[0].value or b"") if messages else None


def cover_up_to(
    settings: KafkaSettings,
    topic: str,
    position: int,
    coverage: Coverage,
    stop: int,
    seconds: float,
) -> int:
    """Add what the records from `position` to `stop` cover; returns how far it came in time."""
    reader = LogReader(settings, topic, position)
    until = time.monotonic() + seconds
    try:
        while position < stop and time.monotonic() < until:
            for message in reader.poll(min(COVER_RECORDS, stop - position), POLL_MS):
                if message.offset >= stop:
                    return stop
                name = f"{topic}[0] offset={message.offset}"
                coverage.cover(decode_spans(message.value or b"", name))
                position = message.offset + 1
    finally:
        reader.close()
    return position


def delete_before(settings: KafkaSettings, log: LogDescription, offset: int) -> int:
    """Delete the records of a log before an offset; returns the offset at which it begins then.

    Raises `LogError` if there is another log of this name now, or if the broker refuses.
    """
    place = TopicPartition(log.topic, 0)
    admin: Any = new_admin(settings)
    try:
        if described_identity(admin, log.topic) != log.identity:
            raise LogError(f"{log.topic} was deleted or replaced meanwhile; nothing was trimmed.")
        answer = admin.delete_records({place: offset}, timeout_ms=Timeouts().request_ms)
    except AuthorizationError:
        raise LogError(
            f"the user of Kafka lacks the right to delete records of {log.topic}: grant Delete on "
            "this Kafka topic (wirerank acls prints the command)."
        ) from None
    except PERMANENT as error:
        raise LogError(
            f"the broker refuses to delete records of {log.topic}: {describe_error(error)}. Its "
            "cleanup.policy must be delete (wirerank check shows its settings)."
        ) from None
    finally:
        admin.close()
    return int(answer[place]["low_watermark"])
