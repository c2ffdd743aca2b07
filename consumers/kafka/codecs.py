"""Decompresses batches of Kafka records, with a limit on what comes out.

A broker limits the compressed size of a batch only. A few megabytes can expand to gigabytes, and
whoever may write to a topic can send them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import cramjam
import lz4.frame
import zstandard

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4  # the codecs of the record format
# Several times what producers put into a batch, which is seldom more than a megabyte.
MAX_BATCH_BYTES = 64 << 20
CHUNK_BYTES = 1 << 20
# Java's snappy library writes blocks of its own: a header, then each block after its length.
XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER_BYTES = 16
# What the libraries raise on damaged data.
DAMAGE = (
    EOFError,
    MemoryError,
    OSError,
    RuntimeError,
    ValueError,
    cramjam.DecompressionError,
    zlib.error,
    zstandard.ZstdError,
)


class UndecodableError(Exception):
    """Bytes that cannot be decompressed or decoded; the message says why."""


def decompress(codec: int, data: bytes, limit: int = MAX_BATCH_BYTES) -> bytes:
    """The decompressed bytes; raises `UndecodableError` on damage and beyond the limit."""
    if codec not in CODECS:
        raise UndecodableError(f"codec {codec} is unknown")
    name, chunks = CODECS[codec]
    parts: list[bytes] = []
    size = 0
    try:
        for chunk in chunks(data, limit):
            size += len(chunk)
            if size > limit:
                raise too_large(data, limit)
            parts.append(chunk)
    except DAMAGE as error:
        raise UndecodableError(f"the {name} data is damaged ({error})") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(data: bytes, limit: int) -> UndecodableError:
    """The error for data that expands beyond the limit."""
    return UndecodableError(f"{len(data):,} bytes expand to more than {limit:,} bytes")


def _gzip_chunks(data: bytes, limit: int) -> Iterator[bytes]:
    while data:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not member.eof:
            chunk = member.decompress(data, CHUNK_BYTES)
            data = member.unconsumed_tail
            if not chunk and not member.eof:
                raise EOFError("it is cut off")
            yield chunk
        data = member.unused_data


def _snappy_chunks(data: bytes, limit: int) -> Iterator[bytes]:
    for block in _snappy_blocks(data):
        if cramjam.snappy.decompress_raw_len(block) > limit:  # stated in the block
            raise too_large(data, limit)
        yield bytes(cramjam.snappy.decompress_raw(block))


def _snappy_blocks(data: bytes) -> Iterator[bytes]:
    if not data.startswith(XERIAL_MAGIC):
        yield data
        return
    at = XERIAL_HEADER_BYTES
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        block = data[at + 4 : at + 4 + size]
        if size < 0 or len(block) < size:
            raise EOFError("it is cut off")
        yield block
        at += 4 + size


def _lz4_chunks(data: bytes, limit: int) -> Iterator[bytes]:
    frame = lz4.frame.LZ4FrameDecompressor()
    while True:
        chunk = frame.decompress(data, max_length=CHUNK_BYTES)
        yield chunk
        if frame.eof:
            return
        if frame.needs_input or not chunk:
            raise EOFError("it is cut off")
        data = b""


def _zstd_chunks(data: bytes, limit: int) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=limit)
    with decompressor.stream_reader(data, read_across_frames=True) as reader:
        while chunk := reader.read(CHUNK_BYTES):
            yield chunk


CODECS: dict[int, tuple[str, Callable[[bytes, int], Iterator[bytes]]]] = {
    GZIP: ("gzip", _gzip_chunks),
    SNAPPY: ("snappy", _snappy_chunks),
    LZ4: ("lz4", _lz4_chunks),
    ZSTD: ("zstd", _zstd_chunks),
}
