"""Compile kernels: cached, without the GIL, with their types visible to the type checker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba

from learners.kernel_cache import make_safe
from learners.shipped_kernels import ShippedCache, shipped_kernel

P = ParamSpec("P")
R = TypeVar("R")

# Packages with kernels that other kernels call; next to this package, wherever it is installed.
PACKAGES = tuple(
    Path(__file__).parent.parent / name for name in ("learners", "pipeline", "consumers")
)


def njit(function: Callable[P, R], **more: Any) -> Callable[P, R]:  # noqa: ANN401 - of numba
    """Compile `function` with numba, keeping its signature visible to the type checker.

    No fast-math: operations are the same, in the same order, on every machine and for every topic.
    So equal prototypes give equal scores to the last bit. The last bit matters, since a tie is an
    error in these algorithms.
    """
    source = Path(function.__code__.co_filename)
    options = {"nogil": True, **more}
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no place for a cache, neither beside the source nor in the home folder
        compiled = numba.njit(**options)(function)
    make_safe(cache_of(compiled))
    mark(cache_of(compiled), source)
    shipped = shipped_kernel(function)
    if shipped is not None:
        mark(shipped, source)
        compiled._cache = ShippedCache(shipped, cache_of(compiled))  # type: ignore[attr-defined]
    return compiled


def njit_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small kernel into its callers. It must not make or return arrays, even in tuples.

    A call copies all fields of every array that it passes, which can take longer than the work.
    What is compiled into a caller does not count references to arrays either, since the caller
    holds them: counting takes about 10 ns per array. So an array that is returned would be freed
    once too often. Numba refuses most such kernels, and a test looks at all of them.

    A division by 0 gives infinity or NaN, as in numpy. An exception would be a branch in each loop
    that divides, and such a loop computes one number after the other.
    """
    return njit(function, forceinline=True, _nrt=False, error_model="numpy")


def njit_formula(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a formula on numbers into its callers, as if it were written there.

    A short loop over calls is unrolled before the compiler looks into what is called. Then it is no
    longer a loop, and numbers are computed one after the other. A loop over formulas computes
    several at once.
    """
    return njit(function, inline="always", error_model="numpy")


def cache_of(compiled: Callable[P, R]) -> object:
    """The cache of a compiled function."""
    return getattr(compiled, "_cache", None)


def mark(kernel_cache: object, source: Path) -> None:
    """Make a cached kernel invalid when any other file with kernels has changed.

    Numba looks only at the kernel's own file. But a compiled kernel contains the code of all
    kernels that it calls, in any file, so after an upgrade it would go on with their old code.
    """
    cache_file = getattr(kernel_cache, "_cache_file", None)
    if cache_file is not None:
        others = kernels_below(PACKAGES), kernels_below((source.parent,))
        cache_file._source_stamp = (cache_file._source_stamp, *others)


@cache
def kernels_below(folders: tuple[Path, ...]) -> str:
    """A digest of all files with kernels in these folders."""
    digest = hashlib.blake2b(digest_size=16)
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            text = path.read_bytes()
            if b"@njit" in text:
                digest.update(path.name.encode() + b"\0" + text + b"\0")
    return digest.hexdigest()


def is_cached(compiled: Callable[P, R]) -> bool:
    """Whether a compiled kernel is cached for the next process."""
    statistics = getattr(compiled, "stats", None)
    return statistics is not None and statistics.cache_path is not None
