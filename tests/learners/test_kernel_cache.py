"""Processes that save kernels at the same time, or are killed while they do, do no harm."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from learners.kernel_cache import KernelCacheFile
from learners.scores import sort_few
from tests.conftest import REPOSITORY

# Saves code for many types, each in a file of its own. All processes begin when a file is there.
PROGRAM = """
import sys, time
from pathlib import Path
from learners.kernel_cache import KernelCacheFile
folder, process, kernels = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
while not (folder / "begin").exists():
    time.sleep(0.001)
for number in range(kernels):
    key = (process, number)
    KernelCacheFile(str(folder), "kernel", "stamp").save(key, f"code for {key}")
"""
PROCESSES, KERNELS = 4, 40


def cache_file(folder: Path, stamp: str = "stamp") -> KernelCacheFile:
    return KernelCacheFile(str(folder), "kernel", stamp)


def test_processes_that_save_at_once_keep_everything_apart(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(n), str(KERNELS)], cwd=REPOSITORY, stdout=subprocess.PIPE)
        for n in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    (tmp_path / "begin").touch()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    for key in ((p, k) for p in range(PROCESSES) for k in range(KERNELS)):
        assert cache_file(tmp_path).load(key) == f"code for {key}"


def test_a_kill_leaves_no_name_of_older_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends after its first write, whatever that is."""
    cache_file(tmp_path, "older").save("types", "older code")

    def killed(*unused: object) -> None:
        raise KeyboardInterrupt

    for second_write in ("_save_index", "_save_data"):
        with monkeypatch.context() as patch:
            patch.setattr(KernelCacheFile, second_write, killed)
            with pytest.raises(KeyboardInterrupt):
                cache_file(tmp_path).save("types", "newer code")
        assert cache_file(tmp_path).load("types") is None
    cache_file(tmp_path).save("types", "newer code")
    assert cache_file(tmp_path).load("types") == "newer code"
    cache_file(tmp_path).save("types", "the same, compiled again")
    assert cache_file(tmp_path).load("types") == "the same, compiled again"


def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*unused: object) -> None:
        raise OSError

    monkeypatch.setattr(fcntl, "flock", refused)
    cache_file(tmp_path).save("types", "code")
    assert cache_file(tmp_path).load("types") == "code"


def test_kernels_are_saved_in_this_way() -> None:
    assert isinstance(sort_few._cache._cache_file, KernelCacheFile)  # type: ignore[attr-defined]
