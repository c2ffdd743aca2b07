"""Every codec of Kafka gives its bytes back, up to a limit, and damage is named."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import cramjam
import lz4.frame
import pytest
import zstandard

from consumers.kafka.codecs import (
    CHUNK_BYTES,
    GZIP,
    LZ4,
    SNAPPY,
    XERIAL_MAGIC,
    ZSTD,
    UndecodableError,
    decompress,
)


def snappy_of_java(data: bytes, block: int = 32 << 10) -> bytes:
    """Compress as Java's snappy library does, with blocks and their lengths."""
    parts = [XERIAL_MAGIC, (1).to_bytes(4, "big"), (1).to_bytes(4, "big")]
    for at in range(0, len(data), block):
        packed = bytes(cramjam.snappy.compress_raw(data[at : at + block]))
        parts += [len(packed).to_bytes(4, "big"), packed]
    return b"".join(parts)


COMPRESSORS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (GZIP, gzip.compress),
    "snappy": (SNAPPY, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "snappy of Java": (SNAPPY, snappy_of_java),
    "lz4": (LZ4, lambda data: lz4.frame.compress(data, block_linked=False)),
    "zstd": (ZSTD, lambda data: zstandard.ZstdCompressor().compress(data)),
    "zstd without size": (
        ZSTD,
        lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
    ),
}


@pytest.mark.parametrize("name", COMPRESSORS)
@pytest.mark.parametrize("size", [0, 1, 1000, CHUNK_BYTES, CHUNK_BYTES + 1, 5 << 20])
def test_the_same_bytes(name: str, size: int) -> None:
    codec, compress = COMPRESSORS[name]
    noise = random.Random(size).randbytes(size)
    for data in (noise, bytes(size), (b'{"id": 7}' * size)[:size]):
        assert decompress(codec, compress(data)) == data


@pytest.mark.parametrize("name", COMPRESSORS)
def test_what_expands_beyond_the_limit_takes_no_memory(name: str) -> None:
    codec, compress = COMPRESSORS[name]
    limit = 4 << 20
    assert len(decompress(codec, compress(bytes(limit)), limit)) == limit
    bomb = compress(bytes(256 << 20))
    tracemalloc.start()
    with pytest.raises(UndecodableError, match="expand to more than 4,194,304 bytes"):
        decompress(codec, bomb, limit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * limit + 2 * len(bomb)


@pytest.mark.parametrize("name", COMPRESSORS)
def test_damage_is_named_or_gives_other_bytes(name: str) -> None:
    """The caller sees other bytes, because they are not as many records as they should be."""
    codec, compress = COMPRESSORS[name]
    good = compress(random.Random(1).randbytes(3000) + bytes(3000))
    rng = random.Random(2)
    for _ in range(300):
        damaged = bytearray(good)
        damaged[rng.randrange(len(good))] ^= 1 << rng.randrange(8)
        cut = bytes(damaged[: rng.randrange(len(good) + 1)])
        for data in (bytes(damaged), cut):
            with suppress(UndecodableError):  # and no other error
                assert len(decompress(codec, data, 1 << 20)) <= 1 << 20


@pytest.mark.parametrize("codec", [0, 5, 7])
def test_an_unknown_codec_is_named(codec: int) -> None:
    with pytest.raises(UndecodableError, match=f"codec {codec} is unknown"):
        decompress(codec, b"x")
