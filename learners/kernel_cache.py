"""The files in which numba keeps compiled kernels, safe from other processes and from kills.

Numba reads the index of a kernel, chooses a name for the new code, writes the index, and then the
code. Workers that start at the same time would choose the same name, and one would find the code of
the other, for other types. After a kill between the two writes, the index would name a file with
the code of an older version.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numba.core.caching

try:
    import fcntl
except ImportError:  # there is none on Windows
    fcntl = None  # type: ignore[assignment]

caching: Any = numba.core.caching  # it has no types

LOCK = "kernels.lock"


class KernelCacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """The index of a kernel, and its code for different types."""

    def save(self, key: object, data: object) -> None:
        """Keep compiled code: one process at a time, and the code before the index names it."""
        with alone_in(Path(self._cache_path)):
            names = self._load_index()
            name = names.get(key)
            if name is None:
                used = set(names.values())
                name = next(n for n in map(self._data_name, count(1)) if n not in used)
            self._save_data(name, data)
            if key not in names:
                self._save_index({**names, key: name})


def make_safe(kernel_cache: object) -> None:
    """Let a cache of numba keep its files in this way."""
    cache_file = getattr(kernel_cache, "_cache_file", None)
    if cache_file is not None:
        safe = KernelCacheFile.__new__(KernelCacheFile)
        safe.__dict__.update(vars(cache_file))
        kernel_cache._cache_file = safe  # type: ignore[attr-defined]


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Let one process at a time save kernels in a folder; a process that ends frees the lock.

    Where the file system has no locks, kernels are saved without one.
    """
    if fcntl is None:
        yield
        return
    # Opened for reading: another user of the folder may have created the file.
    lock = os.open(folder / LOCK, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
