"""A checked box for arrays: one format for everything that is written to outlive the process.

Layout, all numbers little-endian::

    4 bytes   what is inside, e.g. WRSN for a snapshot
    2 bytes   version of that content
    2 bytes   0
    4 bytes   CRC-32 of all that follows
    4 bytes   length of the header
    header    JSON: {"content": .., "arrays": {name: {"type", "shape", "start"}}}
    arrays    one after another, each starting at a multiple of 8 bytes after the header

Nothing in it is executed or unpickled; what does not check out is an error, never a guess.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import orjson

Arrays = dict[str, npt.NDArray[Any]]

PREFIX = struct.Struct("<4sHHI")
LENGTH = struct.Struct("<I")
TYPES = ("bool", "int32", "int64", "uint8", "uint16", "float64")


class DamagedError(Exception):
    """A box that cannot be opened; the message says what was found and what was expected."""


def parts(
    content: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> Iterator[bytes | memoryview]:
    """All of a box behind its checksum, piece by piece; arrays are not copied."""
    index: dict[str, Any] = {}
    pieces: list[bytes | memoryview] = []
    start = 0
    for name, array in arrays.items():
        if array.dtype.name not in TYPES:
            raise TypeError(f"{name} has type {array.dtype}; a box takes {', '.join(TYPES)}")
        raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        index[name] = {"type": array.dtype.name, "shape": array.shape, "start": start}
        pieces += [raw.reshape(-1).view(np.uint8).data, bytes(-raw.nbytes % 8)]
        start += raw.nbytes + -raw.nbytes % 8
    header = orjson.dumps({"content": content, "arrays": index})
    yield LENGTH.pack(len(header))
    yield header
    yield from pieces


def pack(
    kind: bytes, version: int, content: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> bytes:
    """Put a description and named arrays into a box."""
    body = b"".join(parts(content, arrays))
    return PREFIX.pack(kind, version, 0, zlib.crc32(body)) + body


def pack_into(
    file: IO[bytes], kind: bytes, version: int, content: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a box to a new file without holding a second copy of it."""
    file.write(PREFIX.pack(kind, version, 0, 0))
    checksum = 0
    for part in parts(content, arrays):
        checksum = zlib.crc32(part, checksum)
        file.write(part)
    file.seek(0)
    file.write(PREFIX.pack(kind, version, 0, checksum))


def read_content(file: IO[bytes], kind: bytes, version: int, name: str) -> dict[str, Any]:
    """The description in a box, without its arrays; damage further on is not noticed."""
    start = file.read(PREFIX.size + LENGTH.size)
    check_prefix(start, kind, version, name)
    (length,) = LENGTH.unpack_from(start, PREFIX.size)
    try:
        content: dict[str, Any] = orjson.loads(file.read(length))["content"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise DamagedError(f"{name} is damaged: its header cannot be read") from None
    return content


def check_prefix(data: bytes, kind: bytes, version: int, name: str) -> int:
    """Refuse what is no box of this kind and version; returns the checksum it was written with."""
    least = PREFIX.size + LENGTH.size
    if len(data) < least:
        raise DamagedError(f"{name} is cut off: {len(data)} bytes, expected at least {least}")
    found, found_version, _, checksum = PREFIX.unpack_from(data)
    if found != kind:
        raise DamagedError(f"{name} begins with {found!r}, expected {kind!r}: it is something else")
    if found_version != version:
        raise DamagedError(
            f"{name} is of version {found_version}, and this is a program for version {version}: "
            "use the release that wrote it, or start anew from the log"
        )
    return int(checksum)


def unpack(data: bytes, kind: bytes, version: int, name: str) -> tuple[dict[str, Any], Arrays]:
    """Open a box; `name` is what messages call it."""
    checksum = check_prefix(data, kind, version, name)
    body = memoryview(data)[PREFIX.size :]
    if zlib.crc32(body) != checksum:
        raise DamagedError(f"{name} is damaged: its checksum is not the one it was written with")
    start = LENGTH.size + LENGTH.unpack_from(body)[0]
    header = orjson.loads(body[LENGTH.size : start])
    arrays = {
        key: _array(body[start:], entry, f"{name}, array {key}")
        for key, entry in header["arrays"].items()
    }
    return header["content"], arrays


def _array(body: memoryview, entry: dict[str, Any], name: str) -> npt.NDArray[Any]:
    """One array, as a copy of its own."""
    if entry["type"] not in TYPES:
        raise DamagedError(f"{name} has the unknown type {entry['type']!r}")
    dtype = np.dtype(entry["type"]).newbyteorder("<")
    shape = tuple(entry["shape"])
    count = int(np.prod(shape, dtype=np.int64))
    stop = entry["start"] + count * dtype.itemsize
    if stop > len(body):
        raise DamagedError(f"{name} ends at byte {stop} of {len(body)}")
    flat = np.frombuffer(body[entry["start"] : stop], dtype)
    return flat.astype(dtype.newbyteorder("="), copy=True).reshape(shape)
