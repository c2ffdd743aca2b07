"""Packed files are recognised by their content, and read piece by piece."""

from __future__ import annotations

import gzip
import lzma
import os
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO, FileIO
from pathlib import Path

import pytest
import zstandard

from pipeline.corpora import SourceError, open_source
from pipeline.corpora.jsonl import JsonLines, StandardInput
from pipeline.corpora.packed import (
    CHUNK_BYTES,
    Chunks,
    DamagedStreamError,
    UnpackedFile,
    unpacked,
)
from tests.fuzz.targets.archives import tarred
from tests.support.packing import PACKINGS, STREAMS, zipped
from tests.support.reuters_sgml import story

EVENTS = [b'{"id":%d,"text":"document %d"}\n' % (n, n * 7919) for n in range(10_000)]
MEBIBYTE = 1 << 20


def in_chunks(data: bytes, size: int = CHUNK_BYTES) -> Chunks:
    return iter([data[at : at + size] for at in range(0, len(data), size)])


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", ["events.jsonl", "events.data"])
def test_a_packed_file_has_the_events_of_the_plain_one(
    tmp_path: Path, packing: str, name: str
) -> None:
    path = tmp_path / name  # whatever it is called
    path.write_bytes(PACKINGS[packing](b"".join(EVENTS)))
    assert list(open_source(str(path))) == EVENTS


@pytest.mark.parametrize("packing", STREAMS)
def test_several_streams_in_one_file_follow_each_other(packing: str) -> None:
    pack = STREAMS[packing]
    padding = bytes(8) if packing in ("gz", "xz") else b""
    data = pack(b"one ") + pack(b"") + padding + pack(b"two") + padding
    for size in (1, 7, CHUNK_BYTES):
        assert b"".join(unpacked(in_chunks(data, size))) == b"one two"


@pytest.mark.parametrize("packing", STREAMS)
def test_a_packed_pipe_is_read_as_it_comes(packing: str) -> None:
    data = STREAMS[packing](b"".join(EVENTS[:10]))
    into, out = os.pipe()
    source = iter(StandardInput(FileIO(into)))
    os.write(out, data[:3])
    assert next(source) == b""  # three bytes do not say what it is, and more may come
    os.write(out, data[3:])
    os.close(out)
    assert [line for line in source if line] == EVENTS[:10]


def test_members_of_a_zip_file_follow_each_other(tmp_path: Path) -> None:
    """By name; a member need not end with a line end, and may be packed itself."""
    path = tmp_path / "many.zip"
    members = {
        "b.jsonl": EVENTS[1].strip(),
        "a/x.jsonl": EVENTS[0].strip(),
        "c.jsonl.gz": gzip.compress(EVENTS[2] + EVENTS[3]),
        "d.json": b"[" + EVENTS[4] + b"," + EVENTS[5] + b"]",
        "__MACOSX/a/._x.jsonl": b"rubbish",
        ".hidden": b"rubbish",
    }
    path.write_bytes(zipped(members))
    assert [line.strip() for line in open_source(str(path))] == [e.strip() for e in EVENTS[:6]]


def test_a_zip_file_in_a_pipe_is_refused() -> None:
    into, out = os.pipe()
    os.write(out, zipped({"events.jsonl": EVENTS[0]}))
    os.close(out)
    with pytest.raises(SourceError, match="zip file cannot be read from a pipe"):
        list(StandardInput(FileIO(into)))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_methods_of_zip_are_refused(tmp_path: Path, method: int) -> None:
    """Python's reader would unpack a chunk of them in one go, whatever it becomes."""
    path = tmp_path / "reut2-000.zip"
    path.write_bytes(zipped({"reut2-000.sgm": story(1).encode()}, method))
    for source in (str(path), f"reuters21578:{path}"):
        with pytest.raises(SourceError, match="only stored and deflated members are read"):
            list(open_source(source))


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def changed(data: bytes) -> bytes:
    middle = len(data) // 2
    return (
        data[:middle]
        + bytes(byte ^ 0x5A for byte in data[middle : middle + 8])
        + data[middle + 8 :]
    )


def followed_by_rubbish(data: bytes) -> bytes:
    return data + b"rubbish"


@pytest.mark.parametrize("packing", STREAMS)
@pytest.mark.parametrize("damage", [cut, changed, followed_by_rubbish])
def test_damage_is_an_error_after_what_came_before(
    tmp_path: Path, packing: str, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(damage(STREAMS[packing](b"".join(EVENTS))))
    came = []
    with pytest.raises(SourceError, match="damaged or cut off"):
        for line in JsonLines(path):
            came.append(line)  # noqa: PERF402 - what came before the error counts
    if damage != changed:  # a changed byte may be noticed by the checksum at the end only
        assert came == EVENTS[: len(came)]


@pytest.mark.parametrize("damage", [cut, changed])
def test_a_damaged_zip_file_is_an_error(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(damage(zipped({"events.jsonl": b"".join(EVENTS)})))
    with pytest.raises(SourceError, match=r"damaged or cut off|cannot be read as a zip file"):
        list(JsonLines(path))


def rle_frames(count: int) -> bytes:
    """Zstandard frames of 128 KiB blocks that have 4 bytes each, as no compressor writes them."""
    header = b"\x28\xb5\x2f\xfd" + bytes([0x00, 0x58])  # a window of 2 MiB
    size = 128 * 1024
    block = ((size << 3) | (1 << 1)).to_bytes(3, "little") + b"x"
    last = ((size << 3) | (1 << 1) | 1).to_bytes(3, "little") + b"x"
    return header + block * (count - 1) + last


BOMBS = {name: pack(bytes(32 * MEBIBYTE)) for name, pack in STREAMS.items()}
BOMBS["zst of tiny blocks"] = rle_frames(1024)


@pytest.mark.parametrize("bomb", BOMBS)
def test_memory_does_not_follow_the_unpacked_size(tmp_path: Path, bomb: str) -> None:
    """A line of 32 MiB and more is cut, and the rest of it is passed over."""
    path = tmp_path / "bomb"
    path.write_bytes(BOMBS[bomb])
    tracemalloc.start()
    try:
        lines = [len(line) for line in JsonLines(path, max_event_bytes=1000)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lines == [1003]
    assert peak < 16 * MEBIBYTE


def test_streams_that_ask_for_much_memory_are_refused() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 256 * MEBIBYTE}]
    xz = lzma.compress(b"x", filters=filters)
    parameters = zstandard.ZstdCompressionParameters(window_log=28)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    zst = packer.compress(b"x") + packer.flush()  # without its size, so that it needs a window
    for data in (xz, zst):
        with pytest.raises(DamagedStreamError, match=r"[Mm]emory"):
            list(unpacked(in_chunks(data)))


def test_many_tiny_streams_are_read() -> None:
    for pack in STREAMS.values():
        data = pack(b"x") * 20_000
        assert b"".join(unpacked(in_chunks(data))) == b"x" * 20_000


@pytest.mark.parametrize("packing", STREAMS)
def test_an_unpacked_file_can_be_searched(packing: str) -> None:
    content = b"".join(EVENTS)
    file = UnpackedFile(BytesIO(STREAMS[packing](content)))
    for place in (0, 100, 300_000, 299_990, 3, len(content) - 2, len(content) + 5, 0):
        assert file.seek(place) == min(place, len(content)) == file.tell()
        assert file.read(7) == content[place : place + 7]


@pytest.mark.parametrize("packing", STREAMS)
def test_archives_of_corpora_may_be_packed_in_any_way(tmp_path: Path, packing: str) -> None:
    tar = BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as pack:
        for number in range(3):
            info = tarfile.TarInfo(f"reut2-00{number}.sgm")
            content = story(number + 1).encode()
            info.size = len(content)
            pack.addfile(info, BytesIO(content))
    path = tmp_path / "reuters"
    path.write_bytes(STREAMS[packing](tar.getvalue()))
    assert len(list(open_source(f"reuters21578:{path}"))) == 3
    path.write_bytes(cut(STREAMS[packing](tar.getvalue())))
    with pytest.raises(SourceError, match="cannot be read as an archive"):
        open_source(f"reuters21578:{path}")


@pytest.mark.parametrize("packing", ["plain", *PACKINGS])
def test_a_tar_archive_of_events_is_refused(tmp_path: Path, packing: str) -> None:
    """Its headers would be read as a part of the first event of each member."""
    tar = tarred({"a.jsonl": EVENTS[0], "b.jsonl": EVENTS[1]}, "w")
    path = tmp_path / "events"
    path.write_bytes(PACKINGS.get(packing, bytes)(tar))
    with pytest.raises(SourceError, match="is a tar archive"):
        list(JsonLines(path))


def utf_16(text: str, order: str) -> bytes:
    return f"\ufeff{text}".encode(f"utf-16-{order}")


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("packing", ["plain", *PACKINGS])
def test_utf_16_with_a_byte_order_mark_is_read(tmp_path: Path, order: str, packing: str) -> None:
    text = '{"id":1,"text":"Z\u00fcrich \U0001f600"}\n' * 3
    data = utf_16(text, order)
    path = tmp_path / "events.jsonl"
    path.write_bytes(PACKINGS[packing](data) if packing in PACKINGS else data)
    assert b"".join(JsonLines(path)).decode() == text


@pytest.mark.parametrize("cut", [-1, -3])
def test_damaged_utf_16_is_an_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(utf_16('{"id":1}\n\U0001f600', "le")[:cut])
    with pytest.raises(SourceError, match="begins as UTF-16"):
        list(JsonLines(path))


def test_a_terminal_line_comes_at_once() -> None:
    """Recognising what the input is never waits for more than it needs."""
    for first in (b"{}\n", b"x\n", b"\n", b"B\n", b"\x1f\n", b"PK\n", b"\xef\xbb\n"):
        into, out = os.pipe()
        source: Iterator[bytes] = iter(StandardInput(FileIO(into)))
        os.write(out, first)
        line = next(source)
        if first == b"\n":  # a blank line does not say yet what follows
            assert line == b""
            os.write(out, b"x\n")
            line = next(source)
        assert line == first
        os.close(out)
        list(source)
