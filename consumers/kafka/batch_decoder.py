"""Decodes all records of a fetched batch at once: the counterpart of `batch_encoder`.

kafka-python takes about 13 us to decode a record, mostly to read numbers byte by byte and to make
an object with thirteen fields. Here a kernel finds the values of a whole batch. The client still
splits the fetched bytes into batches, checks them, and knows which transactions were committed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError

from learners.arrays import Bytes, Longs
from learners.jit import njit

BATCH_FORMAT = 2  # the "magic" of record batches since Kafka 0.11
LOG_APPEND_TIME = 1
READ_COMMITTED = 1
OFFSET, TIME, START, STOP, COLUMNS = 0, 1, 2, 3, 4  # columns of the array of located records
MAX_SHIFT = 63
# What gzip and lz4 raise on damaged data. A false size in a header gives a MemoryError.
DECOMPRESSION_ERRORS = (EOFError, MemoryError, OSError, RuntimeError, ValueError, zlib.error)


class ConsumedRecord(NamedTuple):
    """A record with the fields that a tokenizer uses; key and headers are not decoded."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


@njit
def read_varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """A zigzag varint and the index behind it; the index is -1 if the varint does not end."""
    number = np.uint64(0)
    shift = 0
    while at < end and shift < MAX_SHIFT + 1:
        byte = data[at]
        at += 1
        number |= np.uint64(byte & 0x7F) << np.uint64(shift)
        if byte < 0x80:
            half, sign = np.int64(number >> np.uint64(1)), np.int64(number & np.uint64(1))
            return half ^ -sign, at  # type: ignore[return-value]
        shift += 7
    return 0, -1


@njit
def locate_records(data: Bytes, at: int, count: int, located: Longs) -> bool:
    """Fill in offset, time, and start and end of the value of each record.

    Returns False if the bytes are not that many records. A record without a value starts at -1.
    """
    for i in range(count):
        length, at = read_varint(data, at, len(data))
        end = at + length
        if at < 0 or length < 0 or end > len(data):
            return False
        located[i, TIME], at = read_varint(data, at + 1, end)  # after the attributes
        if at < 0:
            return False
        located[i, OFFSET], at = read_varint(data, at, end)
        if at < 0:
            return False
        key, at = read_varint(data, at, end)
        if at < 0 or key > end - at:
            return False
        value, at = read_varint(data, at + max(key, 0), end)
        if at < 0 or value > end - at:
            return False
        located[i, START] = at if value >= 0 else -1
        located[i, STOP] = at + value
        at = end  # past the headers
    return at == len(data)


class BatchDecodedRecords(Fetcher.PartitionRecords):  # type: ignore[misc] # has no types
    """The fetched records of one partition."""

    def _unpack_records(
        self,
        where: Any,  # noqa: ANN401 - kafka-python's
        records: Any,  # noqa: ANN401
        key_deserializer: object,
        value_deserializer: object,
    ) -> Iterator[ConsumedRecord]:
        while (batch := records.next_batch()) is not None:
            if self.check_crcs and not batch.validate_crc():
                raise CorruptRecordError(f"{where} at offset {batch.base_offset}: bad checksum")
            if not self._is_hidden(batch):
                for offset, timestamp, value in contents(batch):
                    self.records_read += 1
                    self.bytes_read += len(value or b"")
                    self.next_fetch_offset = offset + 1
                    yield ConsumedRecord(where.topic, where.partition, offset, timestamp, value)
            self.next_fetch_offset = max(self.next_fetch_offset, batch.next_offset)
        self.drain()

    def _is_hidden(self, batch: Any) -> bool:  # noqa: ANN401
        """Whether a batch holds nothing for readers: transaction markers or aborted records."""
        if batch.magic != BATCH_FORMAT:
            return False
        self.leader_epoch = batch.leader_epoch
        if self.isolation_level == READ_COMMITTED and batch.has_producer_id():
            self._consume_aborted_transactions_up_to(batch.last_offset)
            if self._contains_abort_marker(batch):
                self.aborted_producer_ids.discard(batch.producer_id)
            elif self._is_batch_aborted(batch):
                return True
        return bool(batch.is_control_batch)


def are_offsets(deltas: Longs, last: int) -> bool:
    """Whether the offsets of a batch, relative to its first one, rise from 0 up to the last one.

    A producer writes them, and brokers do not check all of them. One beyond the batch would make
    the consumer skip records of others. Compaction leaves gaps, so they need not be consecutive.
    """
    if not len(deltas):
        return True
    return bool(deltas[0] >= 0 and deltas[-1] <= last and (deltas[1:] > deltas[:-1]).all())


def contents(batch: Any) -> Iterator[tuple[int, int, bytes | None]]:  # noqa: ANN401
    """Offset, time and value of each record of a batch."""
    if batch.magic != BATCH_FORMAT:
        for record in batch:
            yield record.offset, record.timestamp, record.value
        return
    try:
        batch._maybe_uncompress()
    except DECOMPRESSION_ERRORS as error:
        raise CorruptRecordError(
            f"the batch at offset {batch.base_offset} cannot be decompressed: {error!r}"
        ) from error
    count = batch._num_records
    data = np.frombuffer(batch._buffer, np.uint8)
    # A record takes at least one byte, so a larger count is damage, and needs no memory.
    possible = 0 <= count <= len(data) - batch._pos
    located = np.empty((count if possible else 0, COLUMNS), np.int64)
    if (
        not possible
        or not locate_records(data, batch._pos, count, located)
        or not are_offsets(located[:, OFFSET], batch.last_offset - batch.base_offset)
    ):
        raise CorruptRecordError(f"the batch at offset {batch.base_offset} holds damaged records")
    located[:, OFFSET] += batch.base_offset
    if batch.timestamp_type == LOG_APPEND_TIME:
        located[:, TIME] = batch.max_timestamp
    else:
        located[:, TIME] += batch.first_timestamp
    whole = bytes(batch._buffer)
    for offset, timestamp, start, stop in located.tolist():
        yield offset, timestamp, whole[start:stop] if start >= 0 else None


def decode_in_batches(consumer: Any) -> None:  # noqa: ANN401
    """Make a consumer of kafka-python decode its records with this module."""
    locate_records(np.empty(0, np.uint8), 0, 0, np.empty((0, COLUMNS), np.int64))  # compiles
    consumer._fetcher.PartitionRecords = BatchDecodedRecords
