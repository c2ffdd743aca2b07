"""Kernels that were compiled at the installation, for a user who cannot write beside the source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, missing

MODULE = """
from learners.jit import is_cached, njit

@njit
def double(x):
    return 2 * x

print(double({argument}), sum(double.stats.cache_hits.values()), is_cached(double))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a module."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "doubling.py").write_text(MODULE.format(argument=21))
    return folder


def run(folder: Path, home: Path, processor: str = "", cache: str = "") -> list[str]:
    """What the module prints; not even root can write to a folder that is closed."""
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": f"{folder}:{REPOSITORY}", "HOME": str(home),
        "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": cache,
    }  # fmt: skip
    if processor:
        environment["NUMBA_CPU_NAME"] = processor
    command = [sys.executable, "-c", "import doubling"]
    if os.getuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            missing("setpriv", "apt install util-linux")
        command = [str(setpriv), "--bounding-set=-dac_override", *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def close(folder: Path) -> None:
    """Make a folder and what is in it read-only."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_they_are_used_though_nothing_can_be_written(installed: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("no folder can be made here")
    assert run(installed, nowhere) == ["42", "0", "True"]
    close(installed)
    assert run(installed, nowhere) == ["42", "1", "False"]


def test_what_is_missing_is_compiled_and_kept_for_the_user(installed: Path, tmp_path: Path) -> None:
    """A kernel for other types, or for another processor, than those that were installed."""
    home = tmp_path / "home"
    run(installed, home)
    close(installed)
    assert run(installed, home) == ["42", "1", "True"]
    assert run(installed, home, processor="generic") == ["42", "0", "True"]
    assert run(installed, home, processor="generic") == ["42", "1", "True"]


def test_kernels_of_changed_source_are_not_used(installed: Path, tmp_path: Path) -> None:
    run(installed, tmp_path)
    (installed / "doubling.py").write_text(MODULE.format(argument=4).replace("2 * x", "3 * x"))
    close(installed)
    assert run(installed, tmp_path) == ["12", "0", "True"]


def test_a_named_cache_goes_first(installed: Path, tmp_path: Path) -> None:
    """`NUMBA_CACHE_DIR` may hold kernels with other options, such as checked indices."""
    named = str(tmp_path / "named")
    run(installed, tmp_path)
    close(installed)
    assert run(installed, tmp_path, cache=named) == ["42", "0", "True"]
    assert run(installed, tmp_path, cache=named) == ["42", "1", "True"]
