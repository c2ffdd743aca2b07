"""Mutates containers: the header, the arrays and the bytes, with checksums that match."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import orjson

from pipeline.storage.container import LENGTH, PREFIX, TYPES
from tests.fuzz.mutation import JsonMutator, keys_in, mutate_bytes

NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    5,
    127,
    128,
    255,
    256,
    60_000,
    65_535,
    2**31 - 1,
    -(2**31),
    2**31,
    2**62,
    -(2**63),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e75, 1e300, -1e300, 5e-324, np.nan, np.inf, -np.inf)


def split_container(data: bytes) -> tuple[Any, bytes] | None:
    """Return the header and the bytes of the arrays; None if the header cannot be read."""
    start = PREFIX.size + LENGTH.size
    if len(data) < start:
        return None
    (length,) = LENGTH.unpack_from(data, PREFIX.size)
    try:
        header = orjson.loads(data[start : start + length])
    except orjson.JSONDecodeError:
        return None
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), dict):
        return None
    return header, data[start + length :]


def joined(kind: bytes, version: int, header: bytes, arrays: bytes) -> bytes:
    """Return a container with a correct checksum."""
    body = LENGTH.pack(len(header)) + header + arrays
    return checked(PREFIX.pack(kind, version, 0, 0) + body)


def checked(data: bytes) -> bytes:
    """Return a container with the checksum that its bytes need."""
    if len(data) < PREFIX.size:
        return data
    kind, version, zero, _ = PREFIX.unpack_from(data)
    body = data[PREFIX.size :]
    return PREFIX.pack(kind, version, zero, container_checksum(kind, version, zero, body)) + body


def container_checksum(kind: bytes, version: int, zero: int, body: bytes) -> int:
    """Return the checksum of a container."""
    return zlib.crc32(body)


class ContainerMutator:
    """Changes containers. Most of the time the checksum of the result is right."""

    def __init__(self, kind: bytes, version: int, examples: Sequence[bytes]) -> None:
        self._kind, self._version = kind, version
        keys: set[str] = set()
        for example in examples:
            split = split_container(example)
            keys |= keys_in(split[0]["content"]) if split else set()
        self._json = JsonMutator(sorted(keys)[:200])

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        split = split_container(data)
        if split is None or rng.random() < 0.05:
            return mutate_bytes(rng, data, other)
        header, arrays = split
        kind = rng.random()
        if kind < 0.35:
            header["content"] = self._json.changed(rng, header["content"])
            text = self._json.written(rng, header)
        else:
            if kind < 0.92 and header["arrays"]:
                for _ in range(1 + int(rng.expovariate(1.0))):
                    arrays = change_array(rng, header["arrays"], arrays)
                self._json.changed(rng, [])
            else:
                header["arrays"] = self._json.changed(rng, header["arrays"])
            text = self._json.written(rng, header)
        if rng.random() < 0.03:
            text = mutate_bytes(rng, text, other)
        return joined(self._kind, self._version, text, arrays)

    def blow_up(self, rng: Random, data: bytes, most: int) -> bytes:
        """Return a container with an array that is much longer."""
        split = split_container(data)
        if split is None or not split[0]["arrays"]:
            return data
        header, arrays = split
        entry = header["arrays"][rng.choice(list(header["arrays"]))]
        try:
            count = int(most * rng.random()) // np.dtype(entry["type"]).itemsize
            value = rng.choice((0, 1, rng.randrange(1 << 20)))
            more = np.full(count, value).astype(entry["type"])
        except (TypeError, KeyError, OverflowError, SyntaxError):
            return data
        entry.update(start=len(arrays), shape=[count])
        return joined(self._kind, self._version, orjson.dumps(header), arrays + more.tobytes())


def change_array(rng: Random, entries: dict[str, Any], arrays: bytes) -> bytes:
    """Change one array, or its entry; returns the bytes of all arrays."""
    if not entries:
        return arrays
    name = rng.choice(list(entries))
    entry = entries[name]
    try:
        dtype = np.dtype(entry["type"])
        start, shape = entry["start"], entry["shape"]
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(arrays, dtype, count, start).copy()
    except (TypeError, KeyError, ValueError, OverflowError, MemoryError, SyntaxError):
        return arrays
    count = len(flat)
    kind = rng.random()
    if kind < 0.55 and count:
        at = int(rng.random() * count)
        for _ in range(1 + int(rng.expovariate(0.7))):
            flat[at] = odd_number(rng, dtype, flat[at])
            at = int(rng.random() * count)
        return arrays[:start] + flat.tobytes() + arrays[start + flat.nbytes :]
    if kind < 0.62:
        del entries[name]
    elif kind < 0.67:
        entries[rng.choice(list(entries))] = dict(entry)
    elif kind < 0.72:
        entry["type"] = rng.choice(TYPES)
    elif kind < 0.77:
        entry["shape"] = rng.choice(
            ([count], [count, 1], [1, count], [], [0], [count // 2, 2], [count + 1])
        )
    else:
        length = rng.choice((0, 1, max(0, count - 1), count + 1, 2 * count, count // 2))
        flat = np.resize(flat, length) if count else np.zeros(length, dtype)
        if rng.random() < 0.3:
            flat = flat[::-1]
        if rng.random() < 0.2 and length:
            flat[:] = odd_number(rng, dtype, flat[0])
        if rng.random() < 0.2:
            flat = flat.astype(rng.choice(TYPES))
        entry.update(type=flat.dtype.name, start=len(arrays), shape=resized(shape, length))
        arrays += flat.tobytes() + bytes(-flat.nbytes % 8)
    return arrays


def resized(shape: Any, length: int) -> list[int]:  # noqa: ANN401 - from the header
    """Return a shape of as many dimensions as before, if that is possible."""
    if isinstance(shape, list) and len(shape) == 2 and isinstance(shape[1], int) and shape[1] > 0:
        return [length // shape[1], shape[1]] if length % shape[1] == 0 else [length, 1]
    return [length]


def odd_number(rng: Random, dtype: np.dtype[Any], value: Any) -> Any:  # noqa: ANN401
    """Return a number that an array of this type can hold, near the old one or odd."""
    if dtype.kind == "f":
        return rng.choice((*FLOATS, float(value) + 1, -float(value), float(value) / 2))
    if dtype.kind == "b":
        return not value
    if dtype.kind not in "iu":  # a mutated name of a type can mean anything
        return value
    number = rng.choice((*NUMBERS, int(value) + 1, int(value) - 1, int(value) * 2))
    return np.array(number & 0xFFFF_FFFF_FFFF_FFFF, np.uint64).astype(dtype)
