"""Arrays with names like paths: those of one part of a snapshot have its name as their prefix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from pipeline.storage.container import Arrays


def add_arrays(arrays: Arrays, prefix: str, state: Mapping[str, npt.NDArray[Any]]) -> None:
    """Add arrays to others, with a prefix before their names."""
    arrays.update({f"{prefix}/{name}": array for name, array in state.items()})


def arrays_under(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Arrays:
    """Return the arrays whose names have a prefix, without the prefix."""
    start = f"{prefix}/"
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
