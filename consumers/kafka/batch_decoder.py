"""Many small records taken from a consumer at once: the counterpart of `batch_encoder`.

kafka-python takes about 13 us to unpack a record, most of it for reading numbers byte by byte and
for an object with thirteen fields. Here a kernel finds the values of a whole batch. What a batch
is, whether it is whole, and whether its transaction was committed stays with the client.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError

from learners.arrays import Bytes, Longs
from learners.jit import njit

FORMAT = 2  # of record batches, since Kafka 0.11
LOG_APPEND_TIME = 1
READ_COMMITTED = 1
OFFSET, TIME, START, STOP, COLUMNS = 0, 1, 2, 3, 4  # of what is found of a record
MOST_SHIFT = 63


class Taken(NamedTuple):
    """A record: what a tokenizer needs of it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


@njit
def read_varint(letters: Bytes, at: int, end: int) -> tuple[int, int]:
    """A zigzag varint, and where it ends; -1 if it does not end in time."""
    number = np.uint64(0)
    shift = 0
    while at < end and shift < MOST_SHIFT + 1:
        byte = letters[at]
        at += 1
        number |= np.uint64(byte & 0x7F) << np.uint64(shift)
        if byte < 0x80:
            half, sign = np.int64(number >> np.uint64(1)), np.int64(number & np.uint64(1))
            return half ^ -sign, at  # type: ignore[return-value]
        shift += 7
    return 0, -1


@njit
def find_records(letters: Bytes, at: int, count: int, found: Longs) -> bool:
    """Offset, time, and where the value lies, of each record; False if they are not as they must.

    A record without a value starts at -1.
    """
    for i in range(count):
        length, at = read_varint(letters, at, len(letters))
        end = at + length
        if at < 0 or length < 0 or end > len(letters):
            return False
        found[i, TIME], at = read_varint(letters, at + 1, end)  # behind the attributes
        if at < 0:
            return False
        found[i, OFFSET], at = read_varint(letters, at, end)
        if at < 0:
            return False
        key, at = read_varint(letters, at, end)
        if at < 0 or key > end - at:
            return False
        value, at = read_varint(letters, at + max(key, 0), end)
        if at < 0 or value > end - at:
            return False
        found[i, START] = at if value >= 0 else -1
        found[i, STOP] = at + value
        at = end  # past the headers
    return at == len(letters)


class SwiftRecords(Fetcher.PartitionRecords):  # type: ignore[misc] # kafka-python has no types
    """The records of a fetched stretch of a partition."""

    def _unpack_records(
        self,
        where: Any,  # noqa: ANN401 - kafka-python's
        records: Any,  # noqa: ANN401
        key_deserializer: object,
        value_deserializer: object,
    ) -> Iterator[Taken]:
        while (batch := records.next_batch()) is not None:
            if self.check_crcs and not batch.validate_crc():
                raise CorruptRecordError(f"{where} at {batch.base_offset}: bad checksum")
            if not self._left_out(batch):
                for offset, timestamp, value in contents(batch):
                    self.records_read += 1
                    self.bytes_read += len(value or b"")
                    self.next_fetch_offset = offset + 1
                    yield Taken(where.topic, where.partition, offset, timestamp, value)
            self.next_fetch_offset = max(self.next_fetch_offset, batch.next_offset)
        self.drain()

    def _left_out(self, batch: Any) -> bool:  # noqa: ANN401
        """Whether a batch holds nothing for readers: marks of transactions, or what was aborted."""
        if batch.magic != FORMAT:
            return False
        self.leader_epoch = batch.leader_epoch
        if self.isolation_level == READ_COMMITTED and batch.has_producer_id():
            self._consume_aborted_transactions_up_to(batch.last_offset)
            if self._contains_abort_marker(batch):
                self.aborted_producer_ids.discard(batch.producer_id)
            elif self._is_batch_aborted(batch):
                return True
        return bool(batch.is_control_batch)


def contents(batch: Any) -> Iterator[tuple[int, int, bytes | None]]:  # noqa: ANN401
    """Offset, time and value of each record of a batch."""
    if batch.magic != FORMAT:
        for record in batch:
            yield record.offset, record.timestamp, record.value
        return
    batch._maybe_uncompress()
    count = batch._num_records
    letters = np.frombuffer(batch._buffer, np.uint8)
    found = np.empty((max(count, 0), COLUMNS), np.int64)
    if count < 0 or not find_records(letters, batch._pos, count, found):
        raise CorruptRecordError(f"the records of the batch at {batch.base_offset} are no records")
    found[:, OFFSET] += batch.base_offset
    if batch.timestamp_type == LOG_APPEND_TIME:
        found[:, TIME] = batch.max_timestamp
    else:
        found[:, TIME] += batch.first_timestamp
    whole = bytes(batch._buffer)
    for offset, timestamp, start, stop in found.tolist():
        yield offset, timestamp, whole[start:stop] if start >= 0 else None


def make_swift(consumer: Any) -> None:  # noqa: ANN401
    """Let a consumer of kafka-python unpack what it fetches in this way."""
    find_records(np.empty(0, np.uint8), 0, 0, np.empty((0, COLUMNS), np.int64))  # compiled by now
    consumer._fetcher.PartitionRecords = SwiftRecords
