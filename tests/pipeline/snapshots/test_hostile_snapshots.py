"""No file, however odd, does harm when it is inspected."""

from __future__ import annotations

import copy
import os
import random
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from itertools import filterfalse, product
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from pipeline.snapshots.folder import KIND, VERSION, SnapshotFolder, read_snapshot
from pipeline.snapshots.inspection import inspect
from pipeline.snapshots.inspection_tables import as_json, description, listing
from pipeline.storage.container import CHUNK_BYTES, LENGTH, MAX_HEADER_BYTES, PREFIX, pack
from tests.pipeline.snapshots.followers import stacker_of
from tests.support.command_line import wirerank


def places(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - whatever JSON can say
    """Yield every value in nested JSON content as its container and key."""
    keys = value.keys() if isinstance(value, dict) else range(min(3, len(value)))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


ODD: list[Any] = [
    None, True, -1, 2**63, 1e308, "", "\x1b[2J\u202eevil", [], [[]], [[1, 2]], {}, {"a": 1}, [{}],
    [None] * 5, "x" * 100_000, [["a", "b", "c", "d"]], [["a", "b", 1, 2, 3]],
]  # fmt: skip


def test_odd_content_does_no_harm(path: Path) -> None:
    """Every value of the content is removed and replaced by odd values, one at a time."""
    snapshot = read_snapshot(path)
    for n in range(len(list(places(snapshot.content)))):
        for odd in [KeyError, *ODD]:
            content = copy.deepcopy(snapshot.content)
            where, key = list(places(content))[n]
            if odd is KeyError:
                del where[key]
            else:
                where[key] = odd
            path.write_bytes(pack(KIND, VERSION, content, snapshot.arrays))
            check_no_harm(path)


def check_no_harm(path: Path) -> None:
    """Do what the command does, without its process, which takes longer."""
    (inspection,) = inspect(path)
    orjson.loads(as_json([inspection], several=False))
    for text in (listing([inspection]), description(inspection) if inspection.good else ""):
        assert text.isprintable() or set(filterfalse(str.isprintable, text)) == {"\n"}
        assert len(text) < 10_000


def container(header: bytes, arrays: bytes, length: int | None = None) -> bytes:
    """Return a container with a correct checksum."""
    body = LENGTH.pack(len(header) if length is None else length) + header + arrays
    return PREFIX.pack(KIND, VERSION, 0, zlib.crc32(body)) + body


def header_of(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()[PREFIX.size :]
    (length,) = LENGTH.unpack_from(data)
    return orjson.loads(data[LENGTH.size : LENGTH.size + length]), data[LENGTH.size + length :]


@pytest.mark.parametrize("name", ["lane0/curve/tally", "vocabulary/df", "lane1/learner/weights"])
def test_odd_array_entries_do_no_harm(name: str, path: Path) -> None:
    header, arrays = header_of(path)
    good = header["arrays"][name]
    changes: list[tuple[str, Any]] = [
        *product(["type"], ["object", "O8", "V1", None, 3, ["int64"], "<f8"]),
        *product(["start"], [-8, 2**62, len(arrays), None, 1.5, "0", True]),
        *product(["shape"], [[-1], [2**62, 2**62], [1] * 100, None, "ab", [0, 2**62], {}, []]),
        *product(["shape"], [[[11]], [10], [11, 1], [1.5], [len(arrays)]]),
    ]
    for key, odd in changes:
        header["arrays"][name] = {**good, key: odd}
        path.write_bytes(container(orjson.dumps(header), arrays))
        check_no_harm(path)
    entries: list[Any] = [None, [], {}, "x"]
    for entry in entries:
        header["arrays"][name] = entry
        path.write_bytes(container(orjson.dumps(header), arrays))
        (inspection,) = inspect(path)
        assert not inspection.good


def test_odd_sums_do_no_harm(path: Path) -> None:
    header, arrays = header_of(path)
    start = header["arrays"]["lane0/curve/tally"]["start"]
    for odd in (float("nan"), float("inf"), -5.0, 1e300):
        for column in range(11):
            at = start + 8 * column
            changed = arrays[:at] + struct.pack("<d", odd) + arrays[at + 8 :]
            path.write_bytes(container(orjson.dumps(header), changed))
            check_no_harm(path)


@pytest.mark.parametrize(
    "header",
    [b"", b"[]", b"null", b"{}", b"[" * 100_000, b'{"content": 3, "arrays": {}}', b'{"content":{}}',
     b'{"content": {}, "arrays": []}', b"\xff\xfe", b'{"content": {"position": ' + b"9" * 5000],
)  # fmt: skip
def test_odd_headers_do_no_harm(header: bytes, path: Path) -> None:
    path.write_bytes(container(header, b"12345678"))
    check_no_harm(path)
    (inspection,) = inspect(path)
    assert not inspection.good


def test_a_header_that_says_it_is_longer_than_the_file(path: Path) -> None:
    for length in (10, 2**31, 2**32 - 1):
        path.write_bytes(container(b"{}", b"", length))
        (inspection,) = inspect(path)
        assert "its header cannot be read" in str(inspection.problem)


def test_random_bytes_do_no_harm(path: Path) -> None:
    rng = random.Random(5)
    whole = path.read_bytes()
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(PREFIX.size, len(data))
            data[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
        path.write_bytes(container(bytes(data[PREFIX.size + LENGTH.size :]), b""))
        check_no_harm(path)
        path.write_bytes(bytes(data))
        check_no_harm(path)


def test_large_arrays_take_no_memory(path: Path) -> None:
    """The model has 200 MB, in a sparse file that takes no space on the disk."""
    header, arrays = header_of(path)
    room = 200 << 20
    header["arrays"]["lane2/learner/more"] = {
        "type": "float64", "shape": [room // 8], "start": len(arrays)
    }  # fmt: skip
    data = container(orjson.dumps(header), arrays)
    checksum = zlib.crc32(data[PREFIX.size :])
    for _ in range(room // CHUNK_BYTES):
        checksum = zlib.crc32(bytes(CHUNK_BYTES), checksum)
    path.write_bytes(PREFIX.pack(KIND, VERSION, 0, checksum) + data[PREFIX.size :])
    os.truncate(path, len(data) + room)
    tracemalloc.start()
    try:
        (inspection,) = inspect(path)
        assert inspection.facts["lanes"]["frequency"]["model_bytes"] > room
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_a_header_beyond_the_limit_is_not_read(path: Path) -> None:
    room = MAX_HEADER_BYTES + 1
    checksum = zlib.crc32(LENGTH.pack(room))
    left = room
    while left > 0:
        checksum = zlib.crc32(bytes(min(left, CHUNK_BYTES)), checksum)
        left -= CHUNK_BYTES
    path.write_bytes(PREFIX.pack(KIND, VERSION, 0, checksum) + LENGTH.pack(room))
    os.truncate(path, PREFIX.size + LENGTH.size + room)
    (inspection,) = inspect(path)
    assert "at most 67,108,864 are read" in str(inspection.problem)


def test_long_tables_are_cut(path: Path) -> None:
    snapshot = read_snapshot(path)
    snapshot.content["coverage"] = [["wire.documents", "i", n, n] for n in range(10_000)]
    path.write_bytes(pack(KIND, VERSION, snapshot.content, snapshot.arrays))
    done = wirerank("inspect", str(path))
    assert "and 9,960 more partitions; --json shows all of them" in done.stdout
    assert len(done.stdout) < 10_000
    machine = orjson.loads(wirerank("inspect", str(path), "--json").stdout)
    assert len(machine["coverage"]) == 10_000


def test_control_characters_in_names_are_escaped(path: Path) -> None:
    snapshot = read_snapshot(path)
    lanes = snapshot.content["settings"]["lanes"]
    lanes["two\nlines\x1b[2J\u202e"] = lanes.pop("frequency")
    path.write_bytes(pack(KIND, VERSION, snapshot.content, snapshot.arrays))
    for given in (path, path.parent):
        done = wirerank("inspect", str(given))
        assert done.exit_code == 0
        assert "two\\nlines\\x1b[2J\\u202e" in done.stdout
        assert not set("\x1b\u202e") & set(done.stdout)


def test_odd_stackers_do_no_harm(tmp_path: Path) -> None:
    follower = stacker_of(helped=True)
    path = SnapshotFolder(tmp_path).write(follower.snapshot(log="", published=[]))
    snapshot = read_snapshot(path)
    for key in ("helpers", "combines"):
        for odd in ODD:
            content = {**snapshot.content, key: odd}
            path.write_bytes(pack(KIND, VERSION, content, snapshot.arrays))
            check_no_harm(path)
    for odd in ODD:
        content = {**snapshot.content, "combines": {"stacked": odd}}
        path.write_bytes(pack(KIND, VERSION, content, snapshot.arrays))
        check_no_harm(path)
    arrays: list[tuple[str, Any]] = [
        *product(["weights"], [np.full(6, np.nan), np.zeros(5), np.zeros((6, 1)), np.arange(6)]),
        *product(["weights"], [np.zeros(300_000)]),
        *product(["chosen"], [np.array([99, 9]), np.array([-2, 9]), np.zeros(2), np.arange(3)]),
        *product(["starts"], [np.zeros(0, np.int64), np.zeros((), np.int64)]),
    ]
    for name, array in arrays:
        changed = {**snapshot.arrays, f"lane0/learner/{name}": array}
        path.write_bytes(pack(KIND, VERSION, snapshot.content, changed))
        check_no_harm(path)
        (inspection,) = inspect(path)
        assert not inspection.good, (name, array)
