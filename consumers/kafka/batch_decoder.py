"""Decodes all records of a fetched batch at once: the counterpart of `batch_encoder`.

kafka-python takes about 13 us to decode a record, mostly to read numbers byte by byte and to make
an object with thirteen fields. Here a kernel finds the parts of all records of a batch. The client
still splits the fetched bytes into batches, and knows which transactions were committed.

A batch with a right checksum whose records cannot be decoded was written like that, and stays like
that. Readers of documents get it as one record with `damage`, so that they can bury it and go on.
Other readers get a `DamagedError`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError, KafkaError

from consumers.kafka.client_types import Header
from consumers.kafka.codecs import DAMAGE, UndecodableError, decompress
from learners.arrays import Bytes, Longs
from learners.jit import njit
from pipeline.storage.container import DamagedError

BATCH_FORMAT = 2  # the "magic" of record batches since Kafka 0.11
LOG_APPEND_TIME = 1
READ_COMMITTED = 1
# Columns of the array of located records.
OFFSET, TIME, KEY_START, KEY_STOP, START, STOP, HEADERS, END, COLUMNS = range(9)
MAX_SHIFT = 63
MAX_BATCH_RECORDS = 1 << 20
ROWS = 1024  # that are converted to Python's numbers at once
MAX_HEADERS = 1000  # of a record; more are not read


class ConsumedRecord(NamedTuple):
    """A record with the fields that are used.

    `damage` says why a batch could not be decoded. Its record then stands for all records of the
    batch: `offset` is the last one, and `value` is the batch as it was fetched.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    damage: str = ""


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
def skip_headers(data: Bytes, at: int, end: int) -> int:
    """The index behind the headers, which must be the end of the record; otherwise -1."""
    count, at = read_varint(data, at, end)
    if at < 0 or not 0 <= count <= end - at:
        return -1
    for _ in range(2 * count):  # names and values
        size, at = read_varint(data, at, end)
        if at < 0 or size > end - at:
            return -1
        at += max(size, 0)
    return at if at == end else -1


@njit
def locate_records(data: Bytes, at: int, count: int, located: Longs) -> bool:
    """Fill in offset, time, and where key, value and headers of each record are.

    Returns False if the bytes are not that many records. A missing key or value starts at -1.
    Without headers, `HEADERS` is -1.
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
        for start, stop in ((KEY_START, KEY_STOP), (START, STOP)):
            size, at = read_varint(data, at, end)
            if at < 0 or size > end - at:
                return False
            located[i, start] = at if size >= 0 else -1
            at += max(size, 0)
            located[i, stop] = at
        located[i, HEADERS] = at
        located[i, END] = end
        at = skip_headers(data, at, end)
        if at < 0:
            return False
        if at == located[i, HEADERS] + 1:  # their number, 0, takes one byte
            located[i, HEADERS] = -1
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
        while (batch := next_batch(records, where)) is not None:
            if self.check_crcs and not batch.validate_crc():
                raise CorruptRecordError(f"{where} at offset {batch.base_offset}: bad checksum")
            if not self._is_hidden(batch):
                for record in self._decoded(where, batch):
                    self.records_read += 1
                    self.bytes_read += len(record.value or b"")
                    self.next_fetch_offset = record.offset + 1
                    yield record
            self.next_fetch_offset = max(self.next_fetch_offset, batch.next_offset)
        self.drain()

    def _decoded(self, where: Any, batch: Any) -> Iterator[ConsumedRecord]:  # noqa: ANN401
        try:
            yield from contents(batch, where.topic, where.partition)
        except UndecodableError as error:
            raise DamagedError(describe_damage(where, batch, error)) from None

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


class WithUndecodableBatches(BatchDecodedRecords):
    """The fetched records of a partition, with a record for each batch that is not decodable."""

    def _decoded(self, where: Any, batch: Any) -> Iterator[ConsumedRecord]:  # noqa: ANN401
        try:
            yield from contents(batch, where.topic, where.partition)
        except UndecodableError as error:
            yield ConsumedRecord(
                where.topic, where.partition, batch.last_offset, batch.max_timestamp,
                value=bytes(batch._buffer), damage=describe_damage(where, batch, error),
            )  # fmt: skip


def next_batch(records: Any, where: Any) -> Any:  # noqa: ANN401
    """The next batch of fetched bytes; kafka-python does not expect one without a whole header."""
    try:
        return records.next_batch()
    except (AssertionError, struct.error) as error:
        raise CorruptRecordError(f"{where}: the header of a batch is damaged: {error}") from None


def describe_damage(where: Any, batch: Any, error: UndecodableError) -> str:  # noqa: ANN401
    """Which records cannot be decoded, and why."""
    return (
        f"{where.topic}, partition {where.partition}, offsets {batch.base_offset} to "
        f"{batch.last_offset}: this batch of records cannot be decoded: {error}"
    )


def are_offsets(deltas: Longs, last: int) -> bool:
    """Whether the offsets of a batch, relative to its first one, rise from 0 up to the last one.

    A producer writes them, and brokers do not check all of them. One beyond the batch would make
    the consumer skip records of others. Compaction leaves gaps, so they need not be consecutive.
    """
    if not len(deltas):
        return True
    return bool(deltas[0] >= 0 and deltas[-1] <= last and (deltas[1:] > deltas[:-1]).all())


def contents(batch: Any, topic: str = "", partition: int = 0) -> Iterator[ConsumedRecord]:  # noqa: ANN401
    """The records of a batch; raises `UndecodableError` at once if any of them is damaged."""
    if batch.magic != BATCH_FORMAT:
        return old_contents(batch, topic, partition)
    whole = bytes(memoryview(batch._buffer)[batch._pos :])
    if batch.compression_type != batch.CODEC_NONE:
        whole = decompress(batch.compression_type, whole)
    data = np.frombuffer(whole, np.uint8)
    count = batch._num_records
    # A record takes at least seven bytes.
    possible = 0 <= count <= min(len(data) // 7, MAX_BATCH_RECORDS)
    located = np.empty((count if possible else 0, COLUMNS), np.int64)
    if (
        not possible
        or not locate_records(data, 0, count, located)
        or not are_offsets(located[:, OFFSET], batch.last_offset - batch.base_offset)
    ):
        most = f" (at most {MAX_BATCH_RECORDS:,} are read)" if count > MAX_BATCH_RECORDS else ""
        raise UndecodableError(f"its {len(data):,} bytes are not {count:,} records{most}")
    located[:, OFFSET] += batch.base_offset
    if batch.timestamp_type == LOG_APPEND_TIME:
        located[:, TIME] = batch.max_timestamp
    else:
        located[:, TIME] += batch.first_timestamp
    return records(whole, located, topic, partition)


def old_contents(batch: Any, topic: str, partition: int) -> Iterator[ConsumedRecord]:  # noqa: ANN401
    """The records of a batch in the formats before Kafka 0.11, which kafka-python decodes."""
    try:
        found = list(batch)
    except (*DAMAGE, AssertionError, IndexError, KafkaError, struct.error) as error:
        raise UndecodableError(f"records in an old format are damaged ({error})") from None
    return (ConsumedRecord(topic, partition, r.offset, r.timestamp, r.value, r.key) for r in found)


def records(whole: bytes, located: Longs, topic: str, partition: int) -> Iterator[ConsumedRecord]:
    """The located records, one after another: a batch can have very many."""
    data = np.frombuffer(whole, np.uint8)
    for row in range(0, len(located), ROWS):
        rows = located[row : row + ROWS].tolist()
        for offset, timestamp, key_start, key_stop, start, stop, headers, end in rows:
            yield ConsumedRecord(
                topic,
                partition,
                offset,
                timestamp,
                whole[start:stop] if start >= 0 else None,
                whole[key_start:key_stop] if key_start >= 0 else None,
                read_headers(data, headers, end) if headers >= 0 else (),
            )


def read_headers(data: Bytes, at: int, end: int) -> tuple[Header, ...]:
    """The headers of a located record, at most the first `MAX_HEADERS`."""
    count, at = read_varint(data, at, end)
    headers = []
    for _ in range(min(count, MAX_HEADERS)):
        parts = []
        for _ in range(2):
            size, at = read_varint(data, at, end)
            parts.append(data[at : at + max(size, 0)].tobytes())
            at += max(size, 0)
        headers.append((parts[0].decode(errors="replace"), parts[1]))
    return tuple(headers)


def decode_in_batches(consumer: Any, undecodable_batches: bool = False) -> None:  # noqa: ANN401
    """Make a consumer of kafka-python decode its records with this module.

    With `undecodable_batches`, a batch that cannot be decoded is a record; otherwise an error.
    """
    locate_records(np.empty(0, np.uint8), 0, 0, np.empty((0, COLUMNS), np.int64))  # compiles
    kind = WithUndecodableBatches if undecodable_batches else BatchDecodedRecords
    consumer._fetcher.PartitionRecords = kind
