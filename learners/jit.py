"""One way to compile a kernel: cached, without the GIL, its type kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")

# Where kernels are that others call; next to this package, wherever it is installed.
PACKAGES = tuple(
    Path(__file__).parent.parent / name for name in ("learners", "pipeline", "consumers")
)


def njit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba, keeping its signature visible to the type checker.

    No fast-math: the same operations in the same order on every machine and for every topic, so
    that equal prototypes give equal scores to the last bit. A tie is an error in these
    algorithms, which makes the last bit matter.
    """
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # nowhere to keep it: neither beside the source nor in the home folder
        return numba.njit(nogil=True)(function)
    mark(compiled, Path(function.__code__.co_filename))
    return compiled


def mark(compiled: Callable[P, R], source: Path) -> None:
    """Have a kept kernel thrown away when another file with kernels has changed.

    Numba looks at the kernel's own file alone. But a kernel holds the code of all those that it
    calls, wherever they are, so after an upgrade it would go on with the old ones.
    """
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:
        others = kernels_below(PACKAGES), kernels_below((source.parent,))
        kept._source_stamp = (kept._source_stamp, *others)


@cache
def kernels_below(folders: tuple[Path, ...]) -> str:
    """A digest of all files in these folders that have kernels."""
    digest = hashlib.blake2b(digest_size=16)
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            text = path.read_bytes()
            if b"@njit" in text:
                digest.update(path.name.encode() + b"\0" + text + b"\0")
    return digest.hexdigest()


def is_cached(compiled: Callable[P, R]) -> bool:
    """Whether a compiled kernel is kept for the next process."""
    statistics = getattr(compiled, "stats", None)
    return statistics is not None and statistics.cache_path is not None
