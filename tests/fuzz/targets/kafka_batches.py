"""Batches of Kafka records, with correct checksums, compared with kafka-python's own decoder."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random
from typing import Any

import crc32c
import zstandard
from kafka.errors import KafkaError
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

from consumers.kafka.batch_decoder import contents, next_batch
from consumers.kafka.codecs import UndecodableError
from tests.fuzz.mutation import blown_up, mutate_bytes
from tests.fuzz.target import Broken, Target, kind_of

HEADER_BYTES = 61
LENGTH_AT, MAGIC_AT, CRC_AT, BODY_AT = 8, 16, 17, 21


class KafkaBatches(Target):
    """Batches of records from a broker: `consumers/kafka/batch_decoder.py`."""

    name = "kafka-batches"
    share = 0.3
    kernels = True

    def seeds(self) -> Sequence[bytes]:
        seeds = []
        for codec in (0, 1, 3, 4):
            builder = MemoryRecordsBuilder(2, codec, 1 << 20)
            for n in range(4):
                headers = [("index", b"%d" % n)] if n % 2 else []
                value = b'{"id": %d, "text": "wheat"}' % n if n != 2 else None
                builder.append(1_700_000_000_000 + n, b"k" * n or None, value, headers)
            builder.close()
            seeds.append(bytes(builder.buffer()))
        return seeds

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        split = HEADER_BYTES if rng.random() < 0.7 else 0
        changed = data[:split] + mutate_bytes(rng, data[split:], other[split:])
        return self.repair(changed) if rng.random() < 0.95 else changed

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return self.repair(data[:HEADER_BYTES] + blown_up(rng, data[HEADER_BYTES:], self.largest))

    def repair(self, data: bytes) -> bytes:
        if len(data) < HEADER_BYTES:
            return data
        changed = bytearray(data)
        struct.pack_into(">i", changed, LENGTH_AT, len(data) - 12)
        if changed[MAGIC_AT] == 2:
            struct.pack_into(">I", changed, CRC_AT, crc32c.crc32c(bytes(changed[BODY_AT:])))
        return bytes(changed)

    def run(self, data: bytes) -> str:
        try:
            found = [record for batch in batches(data) for record in contents(batch)]
        except (KafkaError, UndecodableError) as error:
            return kind_of(error)
        if len(data) < 5000:
            try:
                expected = [record for batch in batches(data) for record in batch]
            except (KafkaError, *TWIN_DAMAGE) as error:
                return f"only the kernel accepts it: {type(error).__name__}"
            if len(found) != len(expected) or not all(map(agree, found, expected)):
                raise Broken("the kernel and kafka-python decode different records")
        return f"{len(found).bit_length()} records"


# What kafka-python's own decoder raises on records that contradict themselves.
TWIN_DAMAGE: tuple[type[BaseException], ...] = (
    ValueError,
    IndexError,
    UnicodeDecodeError,
    OverflowError,
    zstandard.ZstdError,
)


def agree(ours: Any, theirs: Any) -> bool:  # noqa: ANN401
    """Return whether two records are the same.

    kafka-python reads the attributes of a record, one byte, as a number of variable length. Those
    of 128 and more move the other fields: it then finds another time and no key.
    """
    if ours.key is not None and theirs.key is None:
        return bool(ours.value == theirs.value)
    fields = ("offset", "timestamp", "key", "value")
    return all(getattr(ours, name) == getattr(theirs, name) for name in fields)


def batches(data: bytes) -> list[Any]:
    """Return the batches in some bytes whose checksum is right, as a fetcher does."""
    records, found = MemoryRecords(data), []
    while (batch := next_batch(records, "fuzzed")) is not None:
        if not batch.validate_crc():
            break
        if not (batch.magic == 2 and batch.is_control_batch):
            found.append(batch)
    return found
