"""Many small records handed to a producer at once.

kafka-python takes 25 to 60 us to send a record: a future, locks, a partition by a hash in Python
and a byte-wise encoding for each. Here a kernel finds the partitions of a whole block of records
and writes them in the broker's own layout, and the producer gets finished batches; from there on
they are its own: sequence numbers, transactions, compression, retries. This reaches into the
client's inside, which is why pyproject.toml holds the client at releases that the tests have seen.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from kafka import KafkaProducer, TopicPartition
from kafka.producer.future import FutureRecordMetadata
from kafka.producer.producer_batch import ProducerBatch
from kafka.record.memory_records import MemoryRecordsBuilder

from learners.arrays import Bytes, Longs
from learners.jit import njit
from pipeline.storage.binary_array import BinaryArray

# A batch of several records stays below what a broker takes if nobody told it otherwise (1 MiB).
BATCH_BYTES = 512 << 10
LONGEST_VARINT = 10
OVERHEAD = 4 * LONGEST_VARINT + 2  # what the layout adds to a record's key and value, at most
FORMAT = 2  # of record batches, since Kafka 0.11


@njit
def murmur2(letters: Bytes, start: int, stop: int) -> int:
    """The hash by which Kafka's clients find the partition of a key."""
    mask = np.uint64(0xFFFFFFFF)
    mix = np.uint64(0x5BD1E995)
    length = stop - start
    result = np.uint64(0x9747B28C) ^ np.uint64(length)
    whole = start + length // 4 * 4
    for at in range(start, whole, 4):
        word = np.uint64(letters[at]) | np.uint64(letters[at + 1]) << np.uint64(8)
        word |= np.uint64(letters[at + 2]) << np.uint64(16)
        word |= np.uint64(letters[at + 3]) << np.uint64(24)
        word = word * mix & mask
        word = (word ^ word >> np.uint64(24)) * mix & mask
        result = (result * mix & mask) ^ word
    for at in range(stop - 1, whole - 1, -1):
        result ^= np.uint64(letters[at]) << np.uint64(8 * (at - whole))
    if whole < stop:
        result = result * mix & mask
    result = (result ^ result >> np.uint64(13)) * mix & mask
    return int(result ^ result >> np.uint64(15))


@njit
def partitions_of(keys: Bytes, ends: Longs, partitions: int) -> Longs:
    """The partition of each key, as Kafka's default partitioner has it."""
    found = np.empty(len(ends) - 1, np.int64)
    for i in range(len(found)):
        found[i] = (murmur2(keys, ends[i], ends[i + 1]) & 0x7FFFFFFF) % partitions
    return found


@njit
def put_varint(room: Bytes, at: int, number: int) -> int:
    """Write a number that is not negative as a zigzag varint; returns where it ends."""
    rest = number << 1
    while rest > 0x7F:
        room[at] = (rest & 0x7F) | 0x80
        rest >>= 7
        at += 1
    room[at] = rest
    return at + 1


@njit
def varint_size(number: int) -> int:
    """Bytes of a number as a zigzag varint."""
    size, rest = 1, number << 1
    while rest > 0x7F:
        rest >>= 7
        size += 1
    return size


@njit
def put_bytes(room: Bytes, at: int, letters: Bytes, start: int, stop: int) -> int:
    """Write a length and so many bytes; returns where they end."""
    at = put_varint(room, at, stop - start)
    for i in range(start, stop):
        room[at] = letters[i]
        at += 1
    return at


@njit
def fill_batch(
    room: Bytes,
    wanted: Longs,
    first: int,
    keys: Bytes,
    key_ends: Longs,
    values: Bytes,
    value_ends: Longs,
) -> tuple[int, int]:
    """Write records from `wanted[first]` on while the room lasts; returns the end and the bytes."""
    at, number = 0, first
    while number < len(wanted):
        record = wanted[number]
        key = key_ends[record + 1] - key_ends[record]
        value = value_ends[record + 1] - value_ends[record]
        length = 1 + 1 + varint_size(number - first) + varint_size(key) + key
        length += varint_size(value) + value + 1
        if at + varint_size(length) + length > len(room):
            break
        at = put_varint(room, at, length)
        room[at] = 0  # attributes
        room[at + 1] = 0  # the time is that of the whole batch
        at = put_varint(room, at + 2, number - first)
        at = put_bytes(room, at, keys, key_ends[record], key_ends[record + 1])
        at = put_bytes(room, at, values, value_ends[record], value_ends[record + 1])
        room[at] = 0  # no headers
        at += 1
        number += 1
    return number, at


class PackedProducer(KafkaProducer):  # type: ignore[misc] # kafka-python has no types
    """A producer that takes a whole block of records for a topic."""

    def send_packed(self, topic: str, keys: BinaryArray, values: BinaryArray) -> list[Any]:
        """Send records, each to the partition of its key, in order; returns a future a batch."""
        count = len(self.partitions_for(topic))
        partitions = partitions_of(keys.data, keys.offsets, count)
        sent = []
        for partition in range(count):
            wanted = np.flatnonzero(partitions == partition)
            first = 0
            while first < len(wanted):
                size = int(
                    np.diff(keys.offsets)[wanted[first]] + np.diff(values.offsets)[wanted[first]]
                )
                room = np.empty(max(BATCH_BYTES, size + OVERHEAD), np.uint8)
                stop, used = fill_batch(room, wanted, first, *keys, *values)
                sent.append(self._send_batch(topic, partition, room[:used].tobytes(), stop - first))
                first = stop
        if sent:
            self._sender.wakeup()
        return sent

    def _send_batch(self, topic: str, partition: int, records: bytes, count: int) -> Any:  # noqa: ANN401
        """Queue a finished batch, as the accumulator queues one that is full."""
        where = TopicPartition(topic, partition)
        manager = self._transaction_manager
        if manager and manager.is_transactional():
            manager.maybe_add_partition_to_transaction(where)
        accumulator = self._accumulator
        memory = MemoryRecordsBuilder(FORMAT, accumulator.config["compression_attrs"], len(records))
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


def warm_up_packing() -> None:
    """Have the kernels compiled before the first record is due."""
    one = BinaryArray.from_strings([b"key"])
    wanted = partitions_of(one.data, one.offsets, 1)
    fill_batch(np.empty(64, np.uint8), wanted, 0, *one, *one)
