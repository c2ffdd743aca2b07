"""Unpack the blocks of Avro files, with a limit on what comes out."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable

import cramjam
import zstandard

CHECKSUM_BYTES = 4  # behind a block in snappy


class CodecError(Exception):
    """A block that cannot be unpacked; the message says why."""


def unpack_deflate(data: bytes, most: int) -> bytes:
    """Unpack raw deflate."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        unpacked = unpacker.decompress(data, most)
    except zlib.error as error:
        raise CodecError(str(error)) from None
    return complete(unpacked, unpacker.eof, bool(unpacker.unconsumed_tail), most)


def unpack_bzip2(data: bytes, most: int) -> bytes:
    """Unpack bzip2."""
    unpacker = bz2.BZ2Decompressor()
    try:
        unpacked = unpacker.decompress(data, most)
    except (OSError, ValueError) as error:
        raise CodecError(str(error)) from None
    return complete(unpacked, unpacker.eof, not unpacker.needs_input, most)


def unpack_zstandard(data: bytes, most: int) -> bytes:
    """Unpack Zstandard."""
    unpacker = zstandard.ZstdDecompressor(max_window_size=most)
    try:
        with unpacker.stream_reader(data) as reader:
            unpacked = reader.read(most + 1)
    except (zstandard.ZstdError, MemoryError) as error:
        raise CodecError(str(error)) from None
    return complete(unpacked, len(unpacked) <= most, True, most)


def unpack_snappy(data: bytes, most: int) -> bytes:
    """Unpack raw snappy, which is followed by a checksum."""
    block, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    try:
        if cramjam.snappy.decompress_raw_len(block) > most:  # stated in the block
            raise too_large(most)
        unpacked = bytes(cramjam.snappy.decompress_raw(block))
    except (cramjam.DecompressionError, ValueError, RuntimeError, OSError, MemoryError) as error:
        raise CodecError(str(error)) from None
    if zlib.crc32(unpacked).to_bytes(CHECKSUM_BYTES, "big") != checksum:
        raise CodecError("its checksum is wrong")
    return unpacked


def complete(unpacked: bytes, ended: bool, is_more: bool, most: int) -> bytes:
    """Return what was unpacked if it is all."""
    if ended:
        return unpacked
    raise too_large(most) if is_more else CodecError("it is cut off")


def too_large(most: int) -> CodecError:
    """The error for a block that expands beyond the limit."""
    return CodecError(f"it expands to more than {most:,} bytes")


CODECS: dict[str, Callable[[bytes, int], bytes]] = {
    "null": lambda data, most: data,
    "deflate": unpack_deflate,
    "snappy": unpack_snappy,
    "zstandard": unpack_zstandard,
    "bzip2": unpack_bzip2,
}
