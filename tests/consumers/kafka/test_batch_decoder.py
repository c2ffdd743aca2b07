"""Records decoded by the kernel equal those that kafka-python decodes one by one."""

from __future__ import annotations

import random
import struct
import time
from typing import Any

import lz4.frame
import numpy as np
import pytest
from kafka import TopicPartition
from kafka.admin import NewTopic
from kafka.consumer.fetcher import Fetcher
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

from consumers.kafka.batch_decoder import (
    COLUMNS,
    END,
    MAX_HEADERS,
    START,
    STOP,
    ConsumedRecord,
    are_offsets,
    contents,
    locate_records,
)
from consumers.kafka.clients import (
    new_admin,
    new_consumer,
    new_producer,
    new_transactional_producer,
)
from consumers.kafka.codecs import GZIP, LZ4, ZSTD, UndecodableError
from consumers.settings import KafkaSettings
from pipeline.storage.binary_array import BinaryArray

ATTRIBUTES_AT, LAST_OFFSET_DELTA_AT, RECORD_COUNT_AT = 21, 23, 57  # in the header of a batch
CODECS = {"none": 0, "gzip": GZIP, "lz4": LZ4, "zstd": ZSTD}  # that kafka-python can encode


def batch_of(rng: random.Random, count: int, codec: int) -> Any:  # noqa: ANN401
    builder = MemoryRecordsBuilder(2, codec, 1 << 20)
    for _ in range(count):
        key = rng.choice([None, b"", rng.randbytes(rng.randrange(200))])
        value = rng.choice([None, b"", rng.randbytes(rng.randrange(3000))])
        headers = [("h" * rng.randrange(9), rng.randbytes(3)) for _ in range(rng.randrange(3))]
        builder.append(1_700_000_000_000 + rng.randrange(-(10**6), 10**6), key, value, headers)
    builder.close()
    return MemoryRecords(builder.buffer()).next_batch()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_the_same_records(codec: str, count: int) -> None:
    for seed in range(5):
        batches = [batch_of(random.Random(seed), count, CODECS[codec]) for _ in range(2)]
        expected = [
            ConsumedRecord("t", 3, r.offset, r.timestamp, r.value, r.key, tuple(r.headers))
            for r in batches[0]
        ]
        assert list(contents(batches[1], "t", 3)) == expected
        assert len(expected) == count


def test_headers_without_a_value_and_too_many_of_them() -> None:
    builder = MemoryRecordsBuilder(2, 0, 1 << 20)
    builder.append(0, None, b"v", [("n\u00e9", None), ("", b"")])
    builder.append(0, b"k", None, [("name", b"%d" % n) for n in range(MAX_HEADERS + 7)])
    builder.close()
    first, second = contents(MemoryRecords(builder.buffer()).next_batch())
    assert first.headers == (("n\u00e9", b""), ("", b""))
    assert second.headers == tuple(("name", b"%d" % n) for n in range(MAX_HEADERS))
    assert (second.key, second.value) == (b"k", None)


def test_rubbish_is_no_record() -> None:
    """Whatever the bytes are, nothing outside of them is read."""
    rng = random.Random(3)
    batch = batch_of(rng, 20, 0)
    good = bytes(batch._buffer[batch._pos :])
    actual = np.empty((20, COLUMNS), np.int64)
    assert locate_records(np.frombuffer(good, np.uint8), 0, 20, actual)
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data
        letters = np.frombuffer(bytes(data), np.uint8)
        if locate_records(letters, 0, 20, actual):
            there = actual[actual[:, START] >= 0]
            assert (there[:, START] <= there[:, STOP]).all()
            assert (there[:, STOP] <= there[:, END]).all()
            assert (there[:, END] <= len(letters)).all()
    broken = batch_of(rng, 5, 0)
    broken._buffer[broken._pos] ^= 0x7E
    with pytest.raises(UndecodableError, match=r"are not [0-9,]+ records"):
        list(contents(broken))


def test_a_count_beyond_the_bytes_takes_no_memory() -> None:
    """An array for two billion records would take 60 GiB."""
    batch = batch_of(random.Random(3), 5, 0)
    struct.pack_into(">i", batch._buffer, RECORD_COUNT_AT, 2**31 - 1)
    damaged = MemoryRecords(bytes(batch._buffer)).next_batch()
    with pytest.raises(UndecodableError, match=r"are not [0-9,]+ records"):
        list(contents(damaged))


def test_a_compressed_batch_with_a_false_size_is_damaged() -> None:
    """The frame says that it holds 2^60 bytes, which nobody has room for.

    One of the 256 checksums of the frame's header is right, and then the frame is too short.
    """
    batch = batch_of(random.Random(3), 5, 0)
    header = bytearray(batch._buffer[: batch._pos])
    struct.pack_into(">h", header, ATTRIBUTES_AT, CODECS["lz4"])
    frame = lz4.frame.compress(b"x" * 100, store_size=True)
    reasons = set()
    for checksum in range(256):
        false = frame[:6] + struct.pack("<QB", 1 << 60, checksum) + frame[15:]
        struct.pack_into(">i", header, 8, len(header) + len(false) - 12)
        damaged = MemoryRecords(bytes(header) + false).next_batch()
        with pytest.raises(UndecodableError, match="the lz4 data is damaged") as raised:
            contents(damaged)
        reasons.add(str(raised.value))
    assert len(reasons) == 2


@pytest.mark.parametrize(
    ("deltas", "good"),
    [
        ([], True), ([0, 1, 2], True), ([1, 4], True), ([0, 0], False), ([1, 0], False),
        ([-1, 0], False), ([0, 5], False), ([-(2**63), 2**63 - 1], False),
    ],
)  # fmt: skip
def test_offsets_stay_within_their_batch(deltas: list[int], good: bool) -> None:
    """An offset beyond the batch would make a consumer skip what others wrote."""
    assert are_offsets(np.array(deltas, np.int64), 4) is good


def test_a_batch_with_an_offset_beyond_its_end_is_damaged() -> None:
    batch = batch_of(random.Random(3), 5, 0)
    struct.pack_into(">i", batch._buffer, LAST_OFFSET_DELTA_AT, 3)
    damaged = MemoryRecords(bytes(batch._buffer)).next_batch()
    with pytest.raises(UndecodableError, match=r"are not [0-9,]+ records"):
        list(contents(damaged))


def test_a_topic_read_in_both_ways(broker: str) -> None:
    """With transactions, committed and aborted, and reading from the middle of a batch."""
    settings = KafkaSettings(bootstrap=broker)
    topic = f"unpacked-{time.time_ns()}"
    admin = new_admin(settings)
    admin.create_topics([NewTopic(topic, 1, 1)])
    admin.wait_for_topics([topic])
    admin.close()
    plain = new_producer(settings)
    writer: Any = new_transactional_producer(settings, topic)
    writer.init_transactions()
    for number in range(6):
        for n in range(10):
            plain.send(topic, f"plain {number} {n}".encode() * n, partition=0)
        plain.flush(10)
        writer.begin_transaction()
        values = [f"{number} {n}".encode() for n in range(30)]
        writer.send_many(
            topic, BinaryArray.from_strings([b"k"] * 30), BinaryArray.from_strings(values)
        )
        writer.flush(10)
        if number % 2:
            writer.abort_transaction()
        else:
            writer.commit_transaction()
    plain.close(timeout=5)
    writer.close(timeout=5)
    where = TopicPartition(topic, 0)
    for start, most in ((0, 500), (0, 7), (17, 3), (41, 500), (95, 11)):
        read = []
        for swift in (False, True):
            consumer: Any = new_consumer(settings)
            if not swift:
                consumer._fetcher.PartitionRecords = Fetcher.PartitionRecords
            consumer.assign([where])
            consumer.seek(where, start)
            collected: list[Any] = []
            end = consumer.end_offsets([where])[where]
            until = time.monotonic() + 20
            while consumer.position(where) < end and time.monotonic() < until:
                collected += [m for ms in consumer.poll(200, max_records=most).values() for m in ms]
            read.append(
                [(m.topic, m.partition, m.offset, m.timestamp, m.key, m.value) for m in collected]
            )
            consumer.close(autocommit=False)
        assert read[0] == read[1]
        assert read[0]
