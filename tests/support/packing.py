"""The ways to pack a file, each as a function from its content to the packed file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Mapping

import zstandard


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as pack:
        for name, content in members.items():
            pack.writestr(name, content)
    return file.getvalue()


STREAMS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    **STREAMS,
    "zip": lambda data: zipped({"events": data}),
}
