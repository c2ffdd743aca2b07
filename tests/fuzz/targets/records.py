"""Records of the log and of the scores topic, and headers of played events."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random
from typing import cast

from consumers.kafka.batch_decoder import ConsumedRecord
from consumers.kafka.client_types import Message
from consumers.player.replay_progress import HEADERS, MOST_IN_FLIGHT, RecordOrigin, read_origin
from consumers.sharding import score_records
from consumers.sharding.score_records import ExchangeParts, ScoreRecords, split
from learners.sharding.exchange import DisagreementError
from pipeline.log.coverage import GapError
from pipeline.log.record import KIND, VERSION, decode_record, encode_record
from pipeline.storage.container import DamagedError, unpack
from tests.fuzz.mutation import blown_up, mutate_bytes
from tests.fuzz.target import Broken, Target, kind_of
from tests.fuzz.targets.containers import ContainerMutator, checked
from tests.fuzz.targets.streams import check_rankings, new_follower, record_of

LANES = ("mmp", "perceptron", "feature-focus", "arow", "frequency", "prank:ranks=3")


class RecordTarget(Target):
    """A target whose inputs are records of the log with correct checksums."""

    def __init__(self) -> None:
        self._mutator = ContainerMutator(KIND, VERSION, self.seeds())

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return self._mutator.mutate(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return self._mutator.blow_up(rng, data, self.largest)

    def repair(self, data: bytes) -> bytes:
        return checked(data)


class LogRecords(RecordTarget):
    """Records of the log with correct checksums, decoded and ranked: `pipeline/log/record.py`."""

    name = "log-records"
    share = 0.1
    kernels = True

    def seeds(self) -> Sequence[bytes]:
        return [record_of(12), record_of(5, 12), record_of(1, 4), record_of(0)]

    def run(self, data: bytes) -> str:
        try:
            record = decode_record(data, "a record")
        except DamagedError as error:
            if "IndexError" in str(error):
                raise Broken(f"an index went out of bounds: {error}") from None
            return kind_of(error)
        again = decode_record(encode_record(record), "a record")
        if again.spans != record.spans or again.block.entries != record.block.entries:
            raise Broken("an accepted record changes when it is encoded and decoded again")
        old, new = record.block.counts, again.block.counts
        if (
            old.starts.tobytes() != new.starts.tobytes()
            or old.values.tobytes() != new.values.tobytes()
        ):
            raise Broken("an accepted record changes when it is encoded and decoded again")
        follower = new_follower(LANES)
        try:
            count = check_rankings(follower, follower.follow(data, 0, "a record"))
        except GapError as error:
            return kind_of(error)
        documents = sum(entry.row is not None for entry in record.block.entries)
        if count not in (0, documents * len(LANES)):
            raise Broken(f"{documents} documents have {count} rankings of {len(LANES)} lanes")
        return f"ranked {count.bit_length()} {len(record.spans)}"


class ScoreRecordsTarget(Target):
    """Records of a scores topic with correct checksums: `consumers/sharding/score_records.py`."""

    name = "score-records"
    share = 0.3
    shards = 3
    piece = struct.Struct("<II")

    def __init__(self) -> None:
        self._records = ScoreRecords("scores", "wire", "mmp", "e1", self.shards)
        values = [self._records.encode(part)[1] for part in split(4, 1, b"12345678" * 9)]
        self._mutator = ContainerMutator(score_records.KIND, score_records.VERSION, values)

    def seeds(self) -> Sequence[bytes]:
        payloads = [(4, shard, bytes([shard]) * 40) for shard in range(self.shards)]
        parts = [part for payload in payloads for part in split(*payload)]
        return [
            self._joined([self._records.encode(part) for part in parts]),
            self._joined([self._records.encode(part) for part in reversed(parts)]),
            self._joined([self._records.encode(part) for part in split(9, 2, b"")]),
        ]

    def _joined(self, records: Sequence[tuple[bytes, bytes]]) -> bytes:
        return b"".join(self.piece.pack(len(k), len(v)) + k + v for k, v in records)

    def _split(self, data: bytes) -> list[tuple[bytes, bytes]]:
        records, at = [], 0
        while at + self.piece.size <= len(data):
            key, value = self.piece.unpack_from(data, at)
            at += self.piece.size
            records.append((data[at : at + key], data[at + key : at + key + value]))
            at += key + value
        return records

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        records = self._split(data) or [(b"", b"")]
        at = int(rng.random() * len(records))
        key, value = records[at]
        if rng.random() < 0.4:
            key = mutate_bytes(rng, key, records[0][0])
        else:
            value = self._mutator.mutate(rng, value, other)
        records[at] = key, value
        if rng.random() < 0.2:
            records.insert(int(rng.random() * len(records)), records[at])
        return self._joined(records)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        records = self._split(data) or [(b"", b"")]
        key, value = records[0]
        records[0] = key, self._mutator.blow_up(rng, value, self.largest)
        return self._joined(records)

    def repair(self, data: bytes) -> bytes:
        return self._joined([(key, checked(value)) for key, value in self._split(data)])

    def run(self, data: bytes) -> str:
        exchange = ExchangeParts(4, 0, self.shards)
        exchange.give(split(4, 0, bytes(40)))
        outcome = ""
        for offset, (key, value) in enumerate(self._split(data)):
            message = cast("Message", ConsumedRecord("scores", 0, offset, 0, value, key))
            try:
                part = self._records.decode(message, 4)
                if part is not None and part.number == exchange.number:
                    exchange.add(part, self._records.describe(message))
            except (DamagedError, DisagreementError) as error:
                return kind_of(error)
            outcome += "-" if part is None else "+"
        if exchange.complete:
            sizes = [len(payload) for payload in exchange.payloads()]
            return f"complete {len(sizes)}"
        return outcome[:8]


class PlayedHeaders(Target):
    """Headers of records that `replay --kafka` wrote: `consumers/player/replay_progress.py`."""

    name = "played-headers"

    def seeds(self) -> Sequence[bytes]:
        origins = (RecordOrigin("a1", 7, 3, "ff", 4), RecordOrigin("", 0, -1, "", 1))
        return [
            b"\n".join(name.encode() + b"=" + value for name, value in origin.headers())
            for origin in origins
        ]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return mutate_bytes(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return blown_up(rng, data, self.largest)

    def run(self, data: bytes) -> str:
        pairs = (line.partition(b"=") for line in data.split(b"\n"))
        headers = [(name.decode("latin-1"), value) for name, _, value in pairs]
        origin = read_origin(headers)
        if origin is None:
            return f"other {len(headers)}"
        if not origin.complete < origin.index <= origin.complete + MOST_IN_FLIGHT:
            raise Broken("an origin is accepted whose numbers contradict each other")
        if not {name for name, _ in headers} >= set(HEADERS):
            raise Broken("an origin is accepted although headers are missing")
        return f"origin {origin.index.bit_length()}"


class Containers(RecordTarget):
    """Containers as files and as bytes: `pipeline/storage/container.py`."""

    name = "containers"
    share = 0.3

    def seeds(self) -> Sequence[bytes]:
        return [record_of(3), record_of(0)]

    def run(self, data: bytes) -> str:
        from io import BytesIO

        from pipeline.storage.container import ContainerReader

        arrays, outcome = None, "ok"
        try:
            _, arrays = unpack(data, KIND, VERSION, "a container")
        except DamagedError as error:
            outcome = kind_of(error)
        try:
            reader = ContainerReader(BytesIO(data), KIND, VERSION, "a container")
        except DamagedError:
            if arrays is not None:
                raise Broken("a container is accepted as bytes and refused as a file") from None
            return outcome
        if arrays is None:
            raise Broken("a container is accepted as a file and refused as bytes")
        for name, array in arrays.items():
            if reader.array(name).tobytes() != array.tobytes():
                raise Broken("an array differs between a file and bytes")
        return f"ok {len(arrays)}"
