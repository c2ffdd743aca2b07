"""Encodes many small records at once and hands the producer finished batches.

kafka-python takes 25 to 60 us to send a record: for each one a future, locks, a hash in Python and
an encoding byte by byte. Here a kernel finds the partitions of many records and writes the records
in the broker's own layout. From there on the batches are the producer's: sequence numbers,
transactions, compression and retries. This uses internals of kafka-python, which is why
pyproject.toml allows only releases that the tests have seen.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from kafka import KafkaProducer, TopicPartition
from kafka.producer.future import FutureRecordMetadata
from kafka.producer.producer_batch import ProducerBatch
from kafka.record.memory_records import MemoryRecordsBuilder

from consumers.kafka.client_types import Header
from learners.arrays import Bytes, Longs
from learners.jit import njit
from pipeline.storage.binary_array import BinaryArray

# A batch of several records stays below the limit that a broker has by default (1 MiB).
BATCH_BYTES = 512 << 10
LONGEST_VARINT = 10
OVERHEAD = 4 * LONGEST_VARINT + 2  # at most this many bytes are added to key and value
BATCH_FORMAT = 2  # the "magic" of record batches since Kafka 0.11


@njit
def murmur2(data: Bytes, start: int, stop: int) -> int:
    """The hash that gives the partition of a key in all clients of Kafka."""
    mask = np.uint64(0xFFFFFFFF)
    mix = np.uint64(0x5BD1E995)
    length = stop - start
    result = np.uint64(0x9747B28C) ^ np.uint64(length)
    whole = start + length // 4 * 4
    for at in range(start, whole, 4):
        word = np.uint64(data[at]) | np.uint64(data[at + 1]) << np.uint64(8)
        word |= np.uint64(data[at + 2]) << np.uint64(16)
        word |= np.uint64(data[at + 3]) << np.uint64(24)
        word = word * mix & mask
        word = (word ^ word >> np.uint64(24)) * mix & mask
        result = (result * mix & mask) ^ word
    for at in range(stop - 1, whole - 1, -1):
        result ^= np.uint64(data[at]) << np.uint64(8 * (at - whole))
    if whole < stop:
        result = result * mix & mask
    result = (result ^ result >> np.uint64(13)) * mix & mask
    return int(result ^ result >> np.uint64(15))


@njit
def partitions_of(keys: Bytes, offsets: Longs, partitions: int) -> Longs:
    """The partition of each key, by the rule of Kafka's default partitioner."""
    chosen = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(chosen)):
        chosen[i] = (murmur2(keys, offsets[i], offsets[i + 1]) & 0x7FFFFFFF) % partitions
    return chosen


@njit
def put_varint(buffer: Bytes, at: int, number: int) -> int:
    """Write a number that is not negative as a zigzag varint; returns the index behind it."""
    rest = number << 1
    while rest > 0x7F:
        buffer[at] = (rest & 0x7F) | 0x80
        rest >>= 7
        at += 1
    buffer[at] = rest
    return at + 1


@njit
def varint_size(number: int) -> int:
    """The size of a number as a zigzag varint, in bytes."""
    size, rest = 1, number << 1
    while rest > 0x7F:
        rest >>= 7
        size += 1
    return size


@njit
def put_bytes(buffer: Bytes, at: int, data: Bytes, start: int, stop: int) -> int:
    """Write a length and that many bytes; returns the index behind them."""
    at = put_varint(buffer, at, stop - start)
    for i in range(start, stop):
        buffer[at] = data[i]
        at += 1
    return at


@njit
def fill_batch(
    buffer: Bytes,
    wanted: Longs,
    first: int,
    keys: Bytes,
    key_ends: Longs,
    values: Bytes,
    value_ends: Longs,
    headers: Bytes,
    header_ends: Longs,
) -> tuple[int, int]:
    """Write the records from `wanted[first]` on until the buffer is full.

    `headers` are those of each record, encoded. Returns the index in `wanted` behind the last
    record written, and the number of bytes.
    """
    at, number = 0, first
    while number < len(wanted):
        record = wanted[number]
        key = key_ends[record + 1] - key_ends[record]
        value = value_ends[record + 1] - value_ends[record]
        length = 1 + 1 + varint_size(number - first) + varint_size(key) + key
        length += varint_size(value) + value + header_ends[record + 1] - header_ends[record]
        if at + varint_size(length) + length > len(buffer):
            break
        at = put_varint(buffer, at, length)
        buffer[at] = 0  # attributes
        buffer[at + 1] = 0  # the time is that of the whole batch
        at = put_varint(buffer, at + 2, number - first)
        at = put_bytes(buffer, at, keys, key_ends[record], key_ends[record + 1])
        at = put_bytes(buffer, at, values, value_ends[record], value_ends[record + 1])
        for i in range(header_ends[record], header_ends[record + 1]):
            buffer[at] = headers[i]
            at += 1
        number += 1
    return number, at


class BatchProducer(KafkaProducer):  # type: ignore[misc] # kafka-python has no types
    """A producer that takes many records for a topic in one call."""

    def send_many(
        self, topic: str, keys: BinaryArray, values: BinaryArray, headers: BinaryArray | None = None
    ) -> list[Any]:
        """Send records in order, each to the partition of its key; returns one future per batch.

        The headers of each record are encoded already: see `encode_headers`.
        """
        headers = no_headers(len(keys.offsets) - 1) if headers is None else headers
        count = len(self.partitions_for(topic))
        partitions = partitions_of(keys.data, keys.offsets, count)
        sent = []
        for partition in range(count):
            wanted = np.flatnonzero(partitions == partition)
            first = 0
            while first < len(wanted):
                size = sum(part.size_of(wanted[first]) for part in (keys, values, headers))
                buffer = np.empty(max(BATCH_BYTES, size + OVERHEAD), np.uint8)
                stop, used = fill_batch(buffer, wanted, first, *keys, *values, *headers)
                sent.append(
                    self._send_batch(topic, partition, buffer[:used].tobytes(), stop - first)
                )
                first = stop
        if sent:
            self._sender.wakeup()
        return sent

    def _send_batch(self, topic: str, partition: int, records: bytes, count: int) -> Any:  # noqa: ANN401
        """Queue a finished batch as the accumulator queues a full one."""
        where = TopicPartition(topic, partition)
        manager = self._transaction_manager
        if manager and manager.is_transactional():
            manager.maybe_add_partition_to_transaction(where)
        accumulator = self._accumulator
        memory = MemoryRecordsBuilder(
            BATCH_FORMAT, accumulator.config["compression_attrs"], len(records)
        )
        builder = memory._builder
        builder._buffer.extend(records)
        builder._first_timestamp = builder._max_timestamp = int(time.time() * 1000)
        builder._num_records, builder._last_offset = count, count - 1
        memory._next_offset = count
        batch = ProducerBatch(where, memory)
        batch.max_record_size = len(records)
        future = FutureRecordMetadata(batch.produce_future, count - 1, None, None, -1, -1, -1)
        accumulator._appends_in_progress.increment()
        try:
            with accumulator._tp_lock(where):
                accumulator._batches[where].append(batch)
                accumulator._incomplete.add(batch)
        finally:
            accumulator._appends_in_progress.decrement()
        return future


def no_headers(count: int) -> BinaryArray:
    """The encoded headers of records that have none: for each, their number."""
    return BinaryArray(np.zeros(count, np.uint8), np.arange(count + 1))


def encode_headers(headers: Sequence[Header]) -> bytes:
    """The headers of a record in the broker's layout.

    >>> encode_headers([("id", b"7"), ("empty", b"")]).hex(" ")
    '04 04 69 64 02 37 0a 65 6d 70 74 79 00'
    """
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += varint(len(encoded)), encoded, varint(len(value)), value
    return b"".join(parts)


def varint(number: int) -> bytes:
    """A number that is not negative as a zigzag varint."""
    buffer = np.empty(LONGEST_VARINT, np.uint8)
    return buffer[: put_varint(buffer, 0, number)].tobytes()


def warm_up_encoder() -> None:
    """Compile the kernels before the first record has to be sent."""
    one = BinaryArray.from_strings([b"key"])
    wanted = partitions_of(one.data, one.offsets, 1)
    fill_batch(np.empty(64, np.uint8), wanted, 0, *one, *one, *no_headers(1))
