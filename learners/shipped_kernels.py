"""Kernels that were compiled when the software was installed, in a folder that cannot be written.

Numba uses a cache only in a folder that it can write to. An image with a read-only root, or an
installation that belongs to another user, has its kernels beside their source, but no such folder.
Every process would compile them again, which takes a minute or more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba.core.caching
import numba.core.config

caching: Any = numba.core.caching  # it has no types

# Numba's own place for a cache beside the source; older versions write it with an underscore.
BESIDE_SOURCE = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator


class ReadOnlyLocator(BESIDE_SOURCE):  # type: ignore[misc, valid-type]
    """The folder beside the source, whether it can be written or not."""

    def ensure_cache_path(self) -> None:
        """Accept the folder; nothing is ever saved there."""


class ReadOnlyFiles(caching.CompileResultCacheImpl):  # type: ignore[misc]
    """How compiled kernels are found beside their source."""

    _locator_classes = [ReadOnlyLocator]  # noqa: RUF012 - the attribute is numba's


class ShippedKernel(caching.FunctionCache):  # type: ignore[misc]
    """What was compiled of one kernel at the installation."""

    _impl_class = ReadOnlyFiles


class ShippedCache:
    """A cache that looks for a kernel beside its source first, then in `own`, and saves in `own`.

    `own` is the cache that numba found for this user, or one that keeps nothing.
    """

    def __init__(self, shipped: Any, own: Any) -> None:  # noqa: ANN401 - numba's caches
        self.shipped, self.own = shipped, own

    @property
    def cache_path(self) -> str | None:
        """The folder in which kernels are saved; None if there is none."""
        path: str | None = self.own.cache_path
        return path

    def load_overload(self, signature: object, context: object) -> object:
        """Return a compiled kernel, or None if it must be compiled."""
        found: object = self.shipped.load_overload(signature, context)
        return self.own.load_overload(signature, context) if found is None else found

    def save_overload(self, signature: object, compiled: object) -> None:
        """Keep a kernel that was compiled now, if there is a place."""
        self.own.save_overload(signature, compiled)

    def flush(self) -> None:
        """Forget the kernels of this user."""
        self.own.flush()


def shipped_kernel(function: Callable[..., object]) -> Any:  # noqa: ANN401 - a cache of numba
    """What was compiled of a function at the installation; None if it is not to be used.

    A folder that can be written is numba's own matter, and so is one that `NUMBA_CACHE_DIR` names:
    kernels there may be compiled with other options.
    """
    beside = Path(function.__code__.co_filename).parent / "__pycache__"
    if (
        getattr(numba.core.config, "CACHE_DIR", "")
        or os.access(beside, os.W_OK)
        or not beside.is_dir()
    ):
        return None
    kernel: Any = ShippedKernel(function)
    return kernel if Path(kernel._cache_file._index_path).exists() else None
