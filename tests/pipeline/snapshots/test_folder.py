"""A folder of snapshots: foreign files disturb nothing, and no file is read again and again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.snapshots import folder as folder_module
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot, take_snapshot
from pipeline.storage.container import ContainerReader, DamagedError
from tests.pipeline.snapshots.test_snapshot import new_engine


def taken(position: int, lanes: tuple[str, ...] = ("frequency",)) -> Snapshot:
    return take_snapshot(new_engine(lanes=lanes), position)


def positions(folder: SnapshotFolder) -> list[int]:
    return [description.position for _, description in folder.descriptions([])]


def test_foreign_files_disturb_nothing(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path, keep=2)
    first = folder.write(taken(1))
    name, number = first.stem, 999_999_999
    foreign = [
        f"{name}.partial-abc", f"{name}.partial-", f"{name}.partial-{'9' * 100}", "x.partial-1",
        f"{name}.partial-\u0664", "x" * 240 + ".wirerank", "notes.txt", ".wirerank",
    ]  # fmt: skip
    for text in foreign:
        (tmp_path / text).write_bytes(b"rubbish")
    (tmp_path / f"{name}.partial-{number}").mkdir()
    (tmp_path / f"{'9' * 20}-00000000.wirerank").mkdir()
    os.mkfifo(tmp_path / f"{'8' * 20}-00000000.wirerank")  # opening it would wait for ever
    (tmp_path / f"{'7' * 20}-00000000.wirerank").symlink_to(tmp_path / "nothing")
    (tmp_path / f"{'6' * 20}-00000000.wirerank").symlink_to(tmp_path)
    itself = tmp_path / f"{'5' * 20}-00000000.wirerank"
    itself.symlink_to(itself)  # asking what it is is an error, which hid all other snapshots
    before = {path.name for path in tmp_path.iterdir()}
    for position in (2, 3):
        folder.write(taken(position))
    assert positions(folder) == [3, 2]
    assert before - {path.name for path in tmp_path.iterdir()} == {first.name}


def test_what_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path)
    path = folder.write(taken(1))
    abandoned = path.with_suffix(".partial-999999999")
    alive = path.with_suffix(f".partial-{os.getppid()}")
    abandoned.write_bytes(b"")
    alive.write_bytes(b"")
    folder.write(taken(2))
    assert not abandoned.exists()
    assert alive.exists()


def test_a_damaged_file_stays_and_counts_for_nothing(tmp_path: Path) -> None:
    """A good snapshot is never deleted because a damaged one is newer."""
    folder = SnapshotFolder(tmp_path, keep=2)
    paths = [folder.write(taken(position)) for position in (1, 2)]
    for path in paths:
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    for position in (3, 4):
        folder.write(taken(position))
    assert [int(path.stem[:20]) for path in folder.files()] == [4, 3, 2, 1]
    problems: list[str] = []
    assert [d.position for _, d in folder.descriptions(problems)] == [4, 3]
    assert [str(path) in problem for path, problem in zip(paths[::-1], problems, strict=True)]


def test_a_file_with_another_name_is_not_believed(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path)
    path = folder.write(taken(7))
    other = path.with_name(path.name.replace("7-", "8-"))
    path.rename(other)
    problems: list[str] = []
    assert list(folder.descriptions(problems)) == []
    assert f"such a file is called {path.name}: rename it" in problems[0]
    other.rename(path)
    assert positions(folder) == [7]


def test_a_file_is_verified_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots may have gigabytes, and are looked at whenever a new one is written."""
    folder = SnapshotFolder(tmp_path, keep=3)
    folder.write(taken(1))
    read: list[str] = []

    def reading(file, kind, version, name, **options):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN003, ANN202
        read.append(name)
        return ContainerReader(file, kind, version, name, **options)

    monkeypatch.setattr(folder_module, "ContainerReader", reading)
    monkeypatch.setattr(folder_module, "VERIFIED", folder_module.VerifiedFiles())
    for position in (2, 3, 4):
        folder.write(taken(position))
    assert len(read) == 1  # the file that another process wrote
    assert positions(folder) == [4, 3, 2]
    changed = folder.files()[1]
    data = bytearray(changed.read_bytes())
    data[-1] ^= 1
    changed.write_bytes(data)
    os.utime(changed, (1, 1))
    assert positions(folder) == [4, 2]


def test_every_byte_of_the_prefix_is_covered(tmp_path: Path) -> None:
    path = SnapshotFolder(tmp_path).write(taken(1))
    data = path.read_bytes()
    for at in range(16):
        broken = bytearray(data)
        broken[at] ^= 128
        path.write_bytes(broken)
        with pytest.raises(DamagedError, match=path.name):
            folder_module.read_snapshot(path)


def test_a_folder_is_made_when_it_is_needed(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path / "a" / "b")
    assert folder.files() == []
    assert not folder.path.exists()
    folder.write(taken(1))
    assert positions(folder) == [1]


def test_a_folder_that_cannot_be_written_is_an_error_of_the_writer(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    folder = SnapshotFolder(tmp_path / "file")
    for action in (folder.check_writable, lambda: folder.write(taken(1))):
        with pytest.raises(OSError, match="file"):
            action()
    assert positions(folder) == []
