"""Archives of some kilobytes that would fill the memory, and archives that end too early."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.corpora import tar_archive
from pipeline.corpora.corpus_files import ArchiveFiles
from pipeline.corpora.registry import open_source
from pipeline.corpora.source import SourceError
from tests.fuzz.targets.archives import tarred
from tests.fuzz.targets.corpora import NEWSML

MEGABYTE = 1 << 20
END = bytes(2 * tarfile.BLOCKSIZE)
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
}  # fmt: skip


def header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % tarfile.BLOCKSIZE)


def pax(records: int) -> bytes:
    """The content of a header with this many attributes."""
    return b"".join(b"12 k%05d=v\n" % number for number in range(records))


def sparse_map() -> bytes:
    """A sparse file with half a million pieces, listed in blocks after its header."""
    first = bytearray(header("a/1", kind=tarfile.GNUTYPE_SPARSE))
    first[482] = 1  # blocks of the list follow
    first[148:156] = b" " * 8
    first[148:156] = b"%06o\0 " % sum(first)
    block = b"00000777777\0" * 42 + b"\1" + bytes(7)
    return bytes(first) + block * 25_000 + END


def global_attributes() -> bytes:
    """Attributes for all members, which are copied for each of them."""
    attributes = pax(60_000)
    each = pax(1)
    member = header("x", len(each), tarfile.XHDTYPE) + padded(each) + header("a/1")
    return header("g", len(attributes), tarfile.XGLTYPE) + padded(attributes) + member * 30 + END


def sparse_attributes() -> bytes:
    """The same list of pieces as one attribute of many megabytes."""
    value = b"GNU.sparse.map=" + b"1," * (8 * MEGABYTE)
    length = len(value) + 2 + 8
    content = b"%d %b\n" % (length, value)
    return header("x", len(content), tarfile.XHDTYPE) + padded(content) + header("a/1") + END


@pytest.mark.parametrize("make", [sparse_map, global_attributes, sparse_attributes])
def test_headers_do_not_fill_the_memory(tmp_path: Path, make: Callable[[], bytes]) -> None:
    path = tmp_path / "corpus.tar.gz"
    path.write_bytes(gzip.compress(make()))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    try:
        with pytest.raises(SourceError, match=r"corpus\.tar\.gz"):
            ArchiveFiles(path, lambda name: True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24 * MEGABYTE


def test_members_are_counted_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "corpus.tar.gz"
    path.write_bytes(gzip.compress(header("a/1") * 6000 + END))
    tracemalloc.start()
    try:
        assert ArchiveFiles(path, lambda name: False).names == ()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * MEGABYTE
    monkeypatch.setattr(tar_archive, "MAX_MEMBERS", 5999)
    with pytest.raises(SourceError, match=r"more than 5,999 members.*unpack it"):
        ArchiveFiles(path, lambda name: False)


def with_dictionary(packed: bytes, size: int) -> bytes:
    """An xz file whose first block asks for another dictionary, with a correct checksum."""
    length = 4 * (packed[12] + 1)
    block = bytearray(packed[12 : 12 + length - 4])
    assert block[2:4] == b"\x21\x01"  # the filter is LZMA2, with one byte of properties
    block[4] = size
    return packed[:12] + block + struct.pack("<I", zlib.crc32(block)) + packed[12 + length :]


def test_an_xz_file_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    plain = lzma.compress(tarred({"a/1": b"text"}, "w"))
    path = tmp_path / "corpus.tar.xz"
    path.write_bytes(with_dictionary(plain, 28))  # 64 MiB, as `xz -9` does
    assert ArchiveFiles(path, lambda name: True).read("a/1") == b"text"
    path.write_bytes(with_dictionary(plain, 37))  # 1.5 GiB
    with pytest.raises(SourceError, match="Memory usage limit"):
        ArchiveFiles(path, lambda name: True)


@pytest.mark.parametrize("parts", [1, 3])
def test_an_xz_file_is_read_like_any_other(tmp_path: Path, parts: int) -> None:
    files = {f"a/{number}": bytes([number]) * (100_000 * number) for number in range(8)}
    tar = tarred(files, "w")
    size = len(tar) // parts + 1
    streams = [lzma.compress(tar[at : at + size]) + bytes(8) for at in range(0, len(tar), size)]
    path = tmp_path / "corpus.tar.xz"
    path.write_bytes(b"".join(streams))
    read = ArchiveFiles(path, lambda name: name != "a/5")
    assert {name: read.read(name) for name in read.names} == {
        name: content for name, content in files.items() if name != "a/5"
    }
    path.write_bytes(b"".join(streams)[:-60])
    with pytest.raises(SourceError, match="cannot be read as an archive"):
        ArchiveFiles(path, lambda name: True)


def test_lzma_in_a_zip_file_is_refused(tmp_path: Path) -> None:
    """Its dictionary can have 4 GiB, and the standard library has no limit for it."""
    path = tmp_path / "19960820.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as pack:
        pack.writestr("2286newsML.xml", NEWSML.format(number=2286))
    with pytest.raises(SourceError, match="only stored and deflated members are read"):
        ArchiveFiles(path, lambda name: True)
    with pytest.raises(SourceError, match="only stored and deflated members are read"):
        list(open_source(f"rcv1:{tmp_path}"))


@pytest.mark.parametrize("kind", COMPRESS)
def test_an_archive_whose_end_is_missing_is_refused(tmp_path: Path, kind: str) -> None:
    """Cut between two members, an archive looked as if it had only the members before the cut."""
    members = [header(f"a/{number}", 4) + padded(b"text") for number in range(3)]
    path = tmp_path / "corpus.tar"
    compress = COMPRESS[kind]
    path.write_bytes(compress(b"".join(members) + END))
    assert len(ArchiveFiles(path, lambda name: True).names) == 3
    path.write_bytes(compress(b"".join(members[:2])))
    with pytest.raises(SourceError, match="cut off"):
        ArchiveFiles(path, lambda name: True)


def test_a_damaged_header_is_not_the_end(tmp_path: Path) -> None:
    """One wrong bit in a later header made the rest of the corpus disappear in silence."""
    data = bytearray(tarred({f"a/{number}": b"text" for number in range(3)}, "w"))
    data[2 * 512 + 3] ^= 4
    path = tmp_path / "corpus.tar"
    path.write_bytes(data)
    with pytest.raises(SourceError, match="header at byte 1,024 is damaged"):
        ArchiveFiles(path, lambda name: True)


def test_the_checksum_of_a_compressed_archive_is_verified(tmp_path: Path) -> None:
    """It is behind the end of the archive, where `tarfile` does not read."""
    packed = bytearray(gzip.compress(tarred({"a/1": b"text" * 100}, "w"), 0))
    packed[packed.index(b"texttext")] ^= 1
    path = tmp_path / "corpus.tar.gz"
    path.write_bytes(packed)
    with pytest.raises(SourceError, match="incorrect data check"):
        ArchiveFiles(path, lambda name: True)
