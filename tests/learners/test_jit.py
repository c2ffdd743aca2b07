"""Cached kernels: the next process uses them, unless a kernel that they call has changed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from learners.jit import PACKAGES
from tests.conftest import REPOSITORY

INNER = """
from learners.jit import njit

@njit
def inner(x: int) -> int:
    return x + {more}
"""
OUTER = """
from inner import inner
from learners.jit import njit

@njit
def outer(x: int) -> int:
    return 10 * inner(x)

print(outer(1), sum(outer.stats.cache_hits.values()))
"""


def run(folder: Path) -> tuple[int, int]:
    """Return the value of the outer kernel, and whether it came from the cache."""
    path = os.pathsep.join((str(folder), str(REPOSITORY)))
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", "import outer"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    value, hits = done.stdout.split()
    return int(value), int(hits)


def test_a_kernel_whose_callee_changed_is_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(more=1))
    assert run(tmp_path) == (20, 0)
    assert run(tmp_path) == (20, 1)
    (tmp_path / "inner.py").write_text(INNER.format(more=2))
    assert run(tmp_path) == (30, 0)
    assert run(tmp_path) == (30, 1)


def inlined_kernels() -> Iterator[ast.FunctionDef]:
    """Yield all kernels that are compiled into their callers."""
    for path in (path for package in PACKAGES for path in package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                decorators = map(ast.unparse, node.decorator_list)
                if {"njit_inline", "njit_formula"} & set(decorators):
                    yield node


def test_inlined_kernels_return_no_arrays() -> None:
    scalars = {"None", "bool", "int", "float", "np.uint64"}
    returned = {
        kernel.name: set(ast.unparse(kernel.returns).removeprefix("tuple[").strip("]").split(", "))
        for kernel in inlined_kernels()
        if kernel.returns
    }
    assert returned["limited"] == returned["faded"] == {"float"}
    assert not [name for name, parts in returned.items() if not parts <= scalars]
