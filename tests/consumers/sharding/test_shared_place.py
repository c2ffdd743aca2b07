"""Memory that shards share: who is there, who comes first, and who may use it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from consumers.sharding import shared_place
from consumers.sharding.shared_place import PlaceError, SharedPlace, users_folder
from learners.sharding.meeting_place import bytes_for
from tests.conftest import REPOSITORY

OTHER = """
import sys, time
from pathlib import Path
from consumers.sharding.shared_place import SharedPlace
place = SharedPlace("lane", 1, 2, Path(sys.argv[1]))
place.arrays.leads[:3] = [1.5, 2.5, place.arrays.leads[7]]
print("here", flush=True)
time.sleep(600)
"""


def other_process(folder: Path) -> subprocess.Popen[str]:
    """Shard 1 of 2 as a process, which has come when this returns."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", OTHER, str(folder)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def test_shards_see_each_other_until_one_is_killed(tmp_path: Path) -> None:
    place = SharedPlace("lane", 0, 2, tmp_path)
    assert not place.everyone_is_here()
    place.arrays.leads[7] = 4.5
    for _ in range(2):  # the memory stays when the other one comes back
        process = other_process(tmp_path)
        try:
            assert place.everyone_is_here()
            assert place.arrays.leads[:3].tolist() == [1.5, 2.5, 4.5]
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        assert not place.everyone_is_here()
    place.close()
    assert not (tmp_path / "lane.memory").exists()


def test_the_first_one_begins_with_empty_memory(tmp_path: Path) -> None:
    process = other_process(tmp_path)
    process.kill()
    process.communicate()
    assert (tmp_path / "lane.memory").stat().st_size == bytes_for(2)
    place = SharedPlace("lane", 0, 2, tmp_path)
    assert not place.arrays.leads[:10].any()
    second = SharedPlace("lane", 1, 2, tmp_path)
    assert place.everyone_is_here()
    assert second.everyone_is_here()
    place.close()
    assert not second.everyone_is_here()
    assert (tmp_path / "lane.memory").exists()
    second.close()
    assert not (tmp_path / "lane.memory").exists()


def test_memory_that_was_left_behind_is_removed(tmp_path: Path) -> None:
    """By any lane that starts, but not while a shard uses it."""
    process = other_process(tmp_path)
    SharedPlace("another", 0, 2, tmp_path).close()
    assert (tmp_path / "lane.memory").exists()
    process.kill()
    process.communicate()
    another = SharedPlace("another", 0, 2, tmp_path)
    assert [path.name for path in tmp_path.glob("*.memory")] == ["another.memory"]
    another.close()


def test_a_shard_is_there_once(tmp_path: Path) -> None:
    place = SharedPlace("lane", 0, 2, tmp_path)
    with pytest.raises(PlaceError, match="another process as shard 0"):
        SharedPlace("lane", 0, 2, tmp_path)
    place.close()
    SharedPlace("lane", 0, 2, tmp_path).close()


def test_memory_of_another_size_is_refused(tmp_path: Path) -> None:
    place = SharedPlace("lane", 0, 2, tmp_path)
    os.truncate(tmp_path / "lane.memory", 4096)
    with pytest.raises(PlaceError, match="another size than"):
        SharedPlace("lane", 1, 2, tmp_path)
    assert not place.everyone_is_here()


def test_memory_that_is_full_is_found_out_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that is promised and not there would end the process later."""
    asked = []

    def full(file: int, offset: int, size: int) -> None:
        asked.append(size)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        SharedPlace("lane", 0, 2, tmp_path)
    assert asked == [bytes_for(2)]


def test_only_a_folder_of_the_user_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_place, "MEMORY", tmp_path)
    folder = users_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert users_folder() == folder
    folder.chmod(0o770)
    with pytest.raises(PlaceError, match="only this user"):
        users_folder()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(PlaceError, match="only this user"):
        users_folder()
    monkeypatch.setattr(shared_place, "MEMORY", tmp_path / "absent")
    with pytest.raises(PlaceError, match="there is no"):
        users_folder()


def test_links_are_not_followed(tmp_path: Path) -> None:
    """One in the place of the memory is replaced; others are refused."""
    target = tmp_path / "target"
    target.write_bytes(b"something of somebody")
    (tmp_path / "lane.memory").symlink_to(target)
    SharedPlace("lane", 0, 2, tmp_path).close()
    (tmp_path / "other.lock").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        SharedPlace("other", 0, 2, tmp_path)
    assert target.read_bytes() == b"something of somebody"
