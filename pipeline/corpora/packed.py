"""Unpacks compressed data (gzip, bzip2, xz, Zstandard) piece by piece, recognised by its content.

Data come and go in chunks, so that memory does not depend on the length of a stream. What a
stream may demand is limited as well: xz and Zstandard can ask for gigabytes for their windows, and
a few bytes of any format can stand for gigabytes of output.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import IO, Protocol

import zstandard

CHUNK_BYTES = 1 << 16
MAX_WINDOW_BYTES = 1 << 27  # the most that `xz` and `zstd` use unless they are told to use more
# A decompressor copies what it leaves of its input. Streams may be tiny, and many.
INPUT_BYTES = 1 << 13
# zstandard does not limit the output of a call. A block has at least 4 bytes and gives at most
# 128 KiB, so these bytes give at most 4 MiB.
ZSTD_INPUT_BYTES = 128

Chunks = Iterator[bytes]
"""Data in pieces of bounded size; an empty piece says that no more data are available for now."""


class DamagedStreamError(Exception):
    """Compressed data that cannot be unpacked; the message says why."""


class Decompressor(Protocol):
    """One compressed stream, as `bz2.BZ2Decompressor` and `lzma.LZMADecompressor` read it."""

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""

    @property
    def needs_input(self) -> bool:
        """Whether all input given so far was used."""

    @property
    def unused_data(self) -> bytes:
        """What followed the end of the stream."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Take more input, and return some output."""


class GzipStream:
    """A member of a gzip file."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._full = False  # whether the last output was cut, so that more of it may be waiting

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        """Whether all input given so far was used."""
        return not self._full and not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        """What followed the end of the stream."""
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Take more input, and return at most `max_length` bytes of output."""
        output = self._stream.decompress(self._stream.unconsumed_tail + data, max_length)
        self._full = len(output) == max_length
        return output


class ZstandardFrame:
    """A frame of a Zstandard file."""

    def __init__(self) -> None:
        self._frame = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).decompressobj(
            write_size=CHUNK_BYTES
        )
        self._waiting = b""

    @property
    def eof(self) -> bool:
        """Whether the end of the frame was reached."""
        return self._frame.eof

    @property
    def needs_input(self) -> bool:
        """Whether all input given so far was used."""
        return not self._waiting

    @property
    def unused_data(self) -> bytes:
        """What followed the end of the frame."""
        return self._frame.unused_data + self._waiting

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Take more input, and return the output of a small part of it."""
        waiting = self._waiting + data
        self._waiting = waiting[ZSTD_INPUT_BYTES:]
        return self._frame.decompress(waiting[:ZSTD_INPUT_BYTES])


DECOMPRESSORS: dict[bytes, Callable[[], Decompressor]] = {  # by the first bytes of a stream
    b"\x1f\x8b": GzipStream,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_WINDOW_BYTES),
    b"\x28\xb5\x2f\xfd": ZstandardFrame,
}
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second is that of an empty archive
DAMAGE = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def starts_with_any(head: bytes, beginnings: tuple[bytes, ...]) -> bool | None:
    """Whether data begin with one of these; None if `head` is too short to tell.

    >>> starts_with_any(b"BZh9", (b"BZh",)), starts_with_any(b"BZ", (b"BZh",))
    (True, None)
    """
    if head.startswith(beginnings):
        return True
    return None if any(one.startswith(head) for one in beginnings) else False


def read_head(
    chunks: Chunks, decided: Callable[[bytes], bool], most: int = CHUNK_BYTES
) -> Generator[bytes, None, bytes]:
    """Read chunks until their beginning decides something; yield empty pieces while waiting.

    The generator returns the chunks read so far, joined.
    """
    head = b""
    for chunk in chunks:
        if not chunk:
            yield b""
            continue
        head += chunk
        if decided(head) or len(head) >= most:
            break
    return head


def unpacked(chunks: Chunks) -> Chunks:
    """The chunks of a stream, unpacked if it is compressed."""
    beginnings = (*DECOMPRESSORS, *ZIP)
    head = yield from read_head(chunks, lambda data: starts_with_any(data, beginnings) is not None)
    new = next((new for magic, new in DECOMPRESSORS.items() if head.startswith(magic)), None)
    if new is not None:
        yield from _decompressed(followed_by(head, chunks), new)
        return
    if head.startswith(ZIP):
        raise DamagedStreamError(
            "a zip file cannot be read from a pipe or from within a packed file; name the zip file "
            "itself, or unpack it (`unzip -p FILE.zip | wirerank replay -`)"
        )
    yield from followed_by(head, chunks)


def followed_by(head: bytes, chunks: Chunks) -> Chunks:
    """The chunks with another one before them."""
    if head:
        yield head
    yield from chunks


def _decompressed(chunks: Chunks, new: Callable[[], Decompressor]) -> Chunks:
    """The output of streams that follow each other, possibly with padding of zeros between."""
    stream: Decompressor | None = None
    first = True
    for chunk in chunks:
        if not chunk:
            yield b""
        for start in range(0, len(chunk), INPUT_BYTES):
            data = chunk[start : start + INPUT_BYTES]
            while True:
                if stream is None:
                    data = data if first else data.lstrip(b"\0")
                    if not data:
                        break
                    stream, first = new(), False
                try:
                    output = stream.decompress(data, CHUNK_BYTES)
                except DAMAGE as error:
                    raise DamagedStreamError(str(error)[:200]) from None
                if output:
                    yield output
                data = b""
                if stream.eof:
                    data, stream = stream.unused_data, None
                elif stream.needs_input:
                    break
    if stream is not None:
        raise DamagedStreamError("the end of the compressed data is missing")


class UnpackedFile:
    """A packed file as one that can be read and searched; to go back, it starts over."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._start()

    def _start(self) -> None:
        self._file.seek(0)
        self._chunks = unpacked(iter(lambda: self._file.read(CHUNK_BYTES), b""))
        self._chunk = b""
        self._used = 0  # bytes of the chunk
        self._place = 0

    def tell(self) -> int:
        """Return the place in the unpacked data."""
        return self._place

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer only at the end."""
        return b"".join(self._pieces(size))

    def seek(self, place: int) -> int:
        """Go to a place; a place behind the end is the end."""
        if place < self._place:
            self._start()
        for _ in self._pieces(place - self._place):
            pass
        return self._place

    def _pieces(self, size: int) -> Iterator[bytes]:
        while size > 0:
            if self._used == len(self._chunk):
                self._chunk, self._used = next(self._chunks, b""), 0
                if not self._chunk:
                    return
            piece = self._chunk[self._used : self._used + size]
            self._used += len(piece)
            self._place += len(piece)
            size -= len(piece)
            yield piece


def is_packed(head: bytes) -> bool:
    """Whether a file with these first bytes is compressed."""
    return head.startswith(tuple(DECOMPRESSORS))


def unpacked_name(name: str) -> str:
    """The name of a file without the ending that says how it is packed.

    >>> unpacked_name("events.csv.GZ")
    'events.csv'
    """
    ending = next((end for end in ENDINGS if name.lower().endswith(end)), "")
    return name[: len(name) - len(ending)]
