"""A container for named arrays: the format of all files and records that outlive a process.

Layout, all numbers little-endian::

    4 bytes   the kind of content, e.g. WRSN for a snapshot
    2 bytes   the version of that content
    2 bytes   0
    4 bytes   CRC-32 of all that follows
    4 bytes   length of the header
    header    JSON: {"content": .., "arrays": {name: {"type", "shape", "start"}}}
    arrays    one after another, each starting at a multiple of 8 bytes after the header

Nothing in a container is executed or unpickled. A container that is not valid is an error.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from pipeline.release import release

Arrays = dict[str, npt.NDArray[Any]]

PREFIX = struct.Struct("<4sHHI")
LENGTH = struct.Struct("<I")
TYPES = ("bool", "int32", "int64", "uint8", "uint16", "float64")
MAX_DIMENSIONS, MAX_ELEMENTS = 8, 1 << 56  # per array
CHUNK_BYTES = 1 << 20
PURPOSES = {  # of files that people keep, for those who give one to the wrong program
    b"WRSN": "; it is a snapshot or the model of a replay, for `wirerank rank` and `--resume`",
    b"WRRK": "; it is a ranker of query-document sets",
    b"WRLN": "; it is a learner that a Python program saved, for `pipeline.load`",
}
MAX_HEADER_BYTES = 64 << 20  # of a file that may come from anywhere
MAX_LENGTH = (1 << 32) - 1  # of any header

UNREADABLE_HEADER = "{} is damaged: its header cannot be read"
WRONG_CHECKSUM = "{} is damaged: its checksum does not match its content"


# What to do about a container that a newer release wrote.
UPGRADES = {
    b"WRBK": "Upgrade the learners first: they must read what the newer tokenizers write. Nothing "
    "is lost until then",
    b"WRSC": "Upgrade all shards of the lane together",
}
UPGRADE = "Use that release or a newer one"


class DamagedError(Exception):
    """A container that cannot be read; the message says what was found and what was expected."""


class NewerFormatError(DamagedError):
    """A container that a newer release wrote; the message says what to upgrade."""


def body_parts(
    content: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> Iterator[bytes | memoryview]:
    """Yield everything that follows the checksum, part by part. Arrays are not copied."""
    index: dict[str, Any] = {}
    parts: list[bytes | memoryview] = []
    start = 0
    for name, array in arrays.items():
        if array.dtype.name not in TYPES:
            raise TypeError(
                f"array {name} has type {array.dtype}; a container takes {', '.join(TYPES)}"
            )
        raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        index[name] = {"type": array.dtype.name, "shape": array.shape, "start": start}
        parts += [raw.reshape(-1).view(np.uint8).data, bytes(-raw.nbytes % 8)]
        start += raw.nbytes + -raw.nbytes % 8
    header = orjson.dumps({"content": content, "arrays": index})
    yield LENGTH.pack(len(header))
    yield header
    yield from parts


def pack(
    kind: bytes, version: int, content: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> bytes:
    """Return a container of JSON content and named arrays as bytes."""
    body = b"".join(body_parts(content, arrays))
    return PREFIX.pack(kind, version, 0, zlib.crc32(body)) + body


def pack_into(
    file: IO[bytes], kind: bytes, version: int, content: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a container to a new file without holding a second copy of it in memory."""
    file.write(PREFIX.pack(kind, version, 0, 0))
    checksum = 0
    for part in body_parts(content, arrays):
        checksum = zlib.crc32(part, checksum)
        file.write(part)
    file.seek(0)
    file.write(PREFIX.pack(kind, version, 0, checksum))


def check_prefix(data: bytes, kind: bytes, version: int, name: str) -> int:
    """Return the stored checksum; raise `DamagedError` if the kind or the version is another."""
    min_bytes = PREFIX.size + LENGTH.size
    if len(data) < min_bytes:
        raise DamagedError(f"{name} is cut off: {len(data)} bytes, expected at least {min_bytes}")
    actual_kind, actual_version, zero, checksum = PREFIX.unpack_from(data)
    if actual_kind != kind:
        raise DamagedError(
            f"{name} begins with {actual_kind!r}, expected {kind!r}: wrong file type"
            f"{PURPOSES.get(actual_kind, '')}"
        )
    if actual_version > version:
        raise NewerFormatError(
            f"{name} has version {actual_version}, which a newer release wrote; this is Wirerank "
            f"{release()}, which reads version {version}. {UPGRADES.get(kind, UPGRADE)}"
        )
    if actual_version < version:
        raise DamagedError(
            f"{name} has version {actual_version}, which an older release wrote; this is Wirerank "
            f"{release()}, which reads version {version}: use the release that wrote it, or start "
            "again from the beginning of the log"
        )
    if zero != 0:  # the checksum does not cover these two bytes
        raise DamagedError(f"{name} is damaged: its bytes 6 and 7 are {zero}, expected 0")
    return int(checksum)


def unpack(data: bytes, kind: bytes, version: int, name: str) -> tuple[dict[str, Any], Arrays]:
    """Return the JSON content and the arrays of a container; messages call it `name`."""
    checksum = check_prefix(data, kind, version, name)
    body = memoryview(data)[PREFIX.size :]
    if zlib.crc32(body) != checksum:
        raise DamagedError(WRONG_CHECKSUM.format(name))
    start = LENGTH.size + LENGTH.unpack_from(body)[0]
    content, entries = read_header(body[LENGTH.size : start], max(0, len(body) - start), name)
    arrays = body[start:]
    return content, {key: entry.array(arrays[entry.span]) for key, entry in entries.items()}


class ArrayEntry(NamedTuple):
    """The type and shape of an array, and its bytes' position among those of all arrays."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    span: slice

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return int(self.span.stop - self.span.start)

    def array(self, data: bytes | memoryview) -> npt.NDArray[Any]:
        """Return the array with these bytes, as a copy."""
        flat = np.frombuffer(data, self.dtype)
        return flat.astype(self.dtype.newbyteorder("="), copy=True).reshape(self.shape)


def read_header(
    data: bytes | memoryview, array_bytes: int, name: str
) -> tuple[dict[str, Any], dict[str, ArrayEntry]]:
    """Return the JSON content of a header and its entries; the arrays take `array_bytes` bytes."""
    try:
        header = orjson.loads(data)
        content, index = header["content"], header["arrays"]
        entries = {
            key: read_entry(fields, array_bytes, f"{name}, array {key}")
            for key, fields in index.items()
        }
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise DamagedError(UNREADABLE_HEADER.format(name)) from None
    if not isinstance(content, dict):
        raise DamagedError(UNREADABLE_HEADER.format(name))
    return content, entries


def read_entry(fields: dict[str, Any], array_bytes: int, name: str) -> ArrayEntry:
    """Return one entry of a header; its array must end within `array_bytes` bytes."""
    type_, shape, start = fields["type"], fields["shape"], fields["start"]
    if type_ not in TYPES:
        raise DamagedError(f"{name} has an unknown type; a container takes {', '.join(TYPES)}")
    valid = len(shape) <= MAX_DIMENSIONS and all(type(n) is int and n >= 0 for n in (start, *shape))
    if not valid or math.prod(max(n, 1) for n in shape) > MAX_ELEMENTS:
        raise DamagedError(f"{name} has an impossible start or shape")
    dtype = np.dtype(type_).newbyteorder("<")
    stop = start + math.prod(shape) * dtype.itemsize
    if stop > array_bytes:
        raise DamagedError(f"{name} ends at byte {stop}, but there are only {array_bytes} bytes")
    return ArrayEntry(dtype, tuple(shape), slice(start, stop))


class ContainerReader:
    """Reads a container from a file: verifies all of it at once, and reads arrays on demand.

    It holds the JSON content in memory, but no arrays, however large they are.
    """

    def __init__(
        self,
        file: IO[bytes],
        kind: bytes,
        version: int,
        name: str,
        max_header_bytes: int = MAX_HEADER_BYTES,
    ) -> None:
        prefix = file.read(PREFIX.size + LENGTH.size)
        expected = check_prefix(prefix, kind, version, name)
        checksum = zlib.crc32(prefix[PREFIX.size :])
        while chunk := file.read(CHUNK_BYTES):
            checksum = zlib.crc32(chunk, checksum)
        if checksum != expected:
            raise DamagedError(WRONG_CHECKSUM.format(name))
        (length,) = LENGTH.unpack_from(prefix, PREFIX.size)
        self._file = file
        self._start = len(prefix) + length
        array_bytes = file.tell() - self._start
        if array_bytes < 0:
            raise DamagedError(UNREADABLE_HEADER.format(name))
        if length > max_header_bytes:
            raise DamagedError(
                f"{name} has a header of {length:,} bytes; at most {max_header_bytes:,} are read"
            )
        file.seek(len(prefix))
        self.content, self.entries = read_header(file.read(length), array_bytes, name)

    def array(self, key: str) -> npt.NDArray[Any]:
        """Read one array; KeyError if there is none of that name."""
        entry = self.entries[key]
        self._file.seek(self._start + entry.span.start)
        return entry.array(self._file.read(entry.nbytes))
