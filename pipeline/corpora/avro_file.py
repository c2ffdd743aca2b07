"""Records of Avro object container files, as JSON objects.

The file has its schema in its header. Its records are in blocks, each compressed by itself. What a
block can expand to is limited, and so is what a record may cost (see `pipeline.events.avro`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import orjson

from pipeline.corpora.avro_codecs import CODECS, CodecError
from pipeline.corpora.input_file import check_input, parts_of
from pipeline.corpora.packed import Chunks
from pipeline.corpora.source import SourceError
from pipeline.events.avro import MAX_LONG_BYTES, Datum, Reader
from pipeline.events.avro_schema import SchemaError, compile_schema
from pipeline.events.event import MAX_EVENT_BYTES, MalformedEvent

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
MAX_BLOCK_BYTES = 64 << 20  # packed and unpacked; writers use 64 KB or so
MAX_HEADER_ENTRIES = 1000
MAX_HEADER_BYTES = 4 << 20
EXPECTED = "a file of Avro records (an object container file)"


class Header(NamedTuple):
    """What the beginning of a file says about its blocks."""

    read: Reader
    codec: str
    sync: bytes


class AvroFile:
    """Source of the records of a file, or of the files in a zip file."""

    topics: Sequence[str] = ()
    total: int | None = None  # not known before the file is read

    def __init__(self, path: Path, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        check_input(path, EXPECTED)
        self._path = path
        self._max_values = max_event_bytes

    def __iter__(self) -> Iterator[bytes]:
        for part in parts_of(self._path, as_text=False):
            yield from avro_events(part, str(self._path), self._max_values)


def avro_events(chunks: Chunks, name: str, max_values: int) -> Iterator[bytes]:
    """The records of a file, of at most so many values each."""
    stream = ByteStream(chunks, name)
    header = read_header(stream)
    while stream.has_more():
        yield from block_events(stream, header, max_values)


def is_avro_file(path: Path) -> bool:
    """Whether a regular file is an Avro file, judging by its first bytes."""
    try:
        if not path.is_file():
            return False
        with FileIO(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False  # reading it reports the error


class ByteStream:
    """Chunks of a file, read by numbers of bytes."""

    def __init__(self, chunks: Chunks, name: str) -> None:
        self._chunks = chunks
        self._name = name
        self._buffer = bytearray()
        self._at = 0  # in the buffer
        self._before = 0  # bytes of the file that are no longer in the buffer

    def has_more(self) -> bool:
        """Whether the file goes on."""
        return self._fill(1)

    def take(self, size: int, most: int = MAX_BLOCK_BYTES) -> bytes:
        """The next bytes."""
        if not 0 <= size <= most:
            raise self.damage(f"a length of {size} bytes; expected at most {most:,}")
        if not self._fill(size):
            raise self.damage("the file ends in the middle")
        data = bytes(self._buffer[self._at : self._at + size])
        self._at += size
        return data

    def number(self) -> int:
        """The next number."""
        value = 0
        for place in range(MAX_LONG_BYTES):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise self.damage("a number of more than 64 bits")

    def damage(self, reason: str) -> SourceError:
        """The error for a file that cannot be read further."""
        return SourceError(
            f"{self._name} is damaged or cut off: {reason}, at byte {self._before + self._at:,}. "
            "Everything before that point was processed; get the file again to read the rest."
        )

    def refusal(self, reason: str) -> SourceError:
        """The error for a file that cannot be read at all."""
        return SourceError(f"{self._name} cannot be read: {reason}")

    def _fill(self, size: int) -> bool:
        """Read on until so many bytes are there; says whether they are."""
        if self._at and len(self._buffer) - self._at < size:
            del self._buffer[: self._at]
            self._before += self._at
            self._at = 0
        while len(self._buffer) - self._at < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self._buffer += chunk
        return True


def read_header(stream: ByteStream) -> Header:
    """Read the header of a file."""
    if not stream.has_more() or stream.take(len(MAGIC)) != MAGIC:
        raise stream.refusal(f"it does not begin as an Avro file does; expected {EXPECTED}")
    entries: dict[str, bytes] = {}
    left = MAX_HEADER_BYTES
    while count := stream.number():
        if count < 0:
            count = -count
            stream.number()
        if len(entries) + count > MAX_HEADER_ENTRIES:
            raise stream.damage("the header has too many entries")
        for _ in range(count):
            key = stream.take(stream.number(), left)
            value = stream.take(stream.number(), left)
            left = max(0, left - len(key) - len(value))
            entries[key.decode("utf-8", "replace")] = value
    codec = entries.get("avro.codec", b"null").decode("utf-8", "replace")
    if codec not in CODECS:
        known = ", ".join(CODECS)
        raise stream.refusal(f"there is no codec {codec[:40]!r} here; known: {known}.")
    try:
        read = compile_schema(entries.get("avro.schema", b""))
    except SchemaError as error:
        raise stream.refusal(f"its schema cannot be used: {error}.") from None
    return Header(read, codec, stream.take(SYNC_BYTES))


def block_events(stream: ByteStream, header: Header, max_values: int) -> Iterator[bytes]:
    """The records of the next block."""
    count, size = stream.number(), stream.number()
    packed = stream.take(size)
    if stream.take(SYNC_BYTES) != header.sync:
        raise stream.damage("the mark after a block is missing")
    try:
        data = CODECS[header.codec](packed, MAX_BLOCK_BYTES)
    except CodecError as error:
        raise stream.damage(f"a block cannot be unpacked with {header.codec} ({error})") from None
    if not 0 <= count <= len(data):
        raise stream.damage(f"a block of {len(data):,} bytes cannot have {count} records")
    datum = Datum(data, 0, 0)
    for _ in range(count):
        datum.left = max_values
        try:
            record = header.read(datum)
        except MalformedEvent as problem:
            raise stream.damage(problem.detail) from None
        except IndexError:
            raise stream.damage("a record ends in the middle") from None
        yield orjson.dumps(record, default=without_bytes)
    if datum.at != len(data):
        raise stream.damage("a block has bytes left over")


def without_bytes(value: object) -> None:
    """Write null in the place of bytes that are not UTF-8: JSON has no bytes."""
