"""One way to compile a kernel: cached, without the GIL, its type kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def njit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba, keeping its signature visible to the type checker.

    No fast-math: the same operations in the same order on every machine and for every topic, so
    that equal prototypes give equal scores to the last bit. A tie is an error in these
    algorithms, which makes the last bit matter.
    """
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # nowhere to keep it: neither beside the source nor in the home folder
        compiled = numba.njit(nogil=True)(function)
    return compiled


def is_cached(compiled: Callable[P, R]) -> bool:
    """Whether a compiled kernel is kept for the next process."""
    statistics = getattr(compiled, "stats", None)
    return statistics is not None and statistics.cache_path is not None
