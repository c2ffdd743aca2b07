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

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

Arrays = dict[str, npt.NDArray[Any]]

PREFIX = struct.Struct("<4sHHI")
LENGTH = struct.Struct("<I")
TYPES = ("bool", "int32", "int64", "uint8", "uint16", "float64")
MOST_DIRECTIONS, MOST_NUMBERS = 8, 1 << 56  # of an array
CHUNK_BYTES = 1 << 20
MOST_HEADER_BYTES = 64 << 20  # of a file that anybody may have written

UNREADABLE_HEADER = "{} is damaged: its header cannot be read"
WRONG_CHECKSUM = "{} is damaged: its checksum is not the one it was written with"


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
        raise DamagedError(UNREADABLE_HEADER.format(name)) from None
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
        raise DamagedError(WRONG_CHECKSUM.format(name))
    start = LENGTH.size + LENGTH.unpack_from(body)[0]
    content, places = read_header(body[LENGTH.size : start], max(0, len(body) - start), name)
    arrays = body[start:]
    return content, {key: place.array(arrays[place.span]) for key, place in places.items()}


class Place(NamedTuple):
    """Where among the arrays of a box one lies, and what it is."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    span: slice

    @property
    def nbytes(self) -> int:
        """How much it takes."""
        return int(self.span.stop - self.span.start)

    def array(self, data: bytes | memoryview) -> npt.NDArray[Any]:
        """The array that these bytes are, as a copy of its own."""
        flat = np.frombuffer(data, self.dtype)
        return flat.astype(self.dtype.newbyteorder("="), copy=True).reshape(self.shape)


def read_header(
    data: bytes | memoryview, room: int, name: str
) -> tuple[dict[str, Any], dict[str, Place]]:
    """The description in a header, and the places of the arrays, which take `room` bytes."""
    try:
        header = orjson.loads(data)
        content, index = header["content"], header["arrays"]
        places = {
            key: read_place(entry, room, f"{name}, array {key}") for key, entry in index.items()
        }
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise DamagedError(UNREADABLE_HEADER.format(name)) from None
    if not isinstance(content, dict):
        raise DamagedError(UNREADABLE_HEADER.format(name))
    return content, places


def read_place(entry: dict[str, Any], room: int, name: str) -> Place:
    """One entry of a header, which must lie within the `room` of the arrays."""
    type_, shape, start = entry["type"], entry["shape"], entry["start"]
    if type_ not in TYPES:
        raise DamagedError(f"{name} has a type that is unknown; a box takes {', '.join(TYPES)}")
    sound = len(shape) <= MOST_DIRECTIONS and all(
        type(n) is int and n >= 0 for n in (start, *shape)
    )
    if not sound or math.prod(max(n, 1) for n in shape) > MOST_NUMBERS:
        raise DamagedError(f"{name} has an impossible place or shape")
    dtype = np.dtype(type_).newbyteorder("<")
    stop = start + math.prod(shape) * dtype.itemsize
    if stop > room:
        raise DamagedError(f"{name} ends at byte {stop} of {room}")
    return Place(dtype, tuple(shape), slice(start, stop))


class OpenBox:
    """A box in a file, checked from end to end; an array is read when it is asked for.

    It takes no more memory than the description, however large the arrays are.
    """

    def __init__(self, file: IO[bytes], kind: bytes, version: int, name: str) -> None:
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
        room = file.tell() - self._start
        if room < 0:
            raise DamagedError(UNREADABLE_HEADER.format(name))
        if length > MOST_HEADER_BYTES:
            raise DamagedError(
                f"{name} has a header of {length:,} bytes; up to {MOST_HEADER_BYTES:,} are read"
            )
        file.seek(len(prefix))
        self.content, self.places = read_header(file.read(length), room, name)

    def array(self, key: str) -> npt.NDArray[Any]:
        """One of its arrays; KeyError if there is none of that name."""
        place = self.places[key]
        self._file.seek(self._start + place.span.start)
        return place.array(self._file.read(place.nbytes))
