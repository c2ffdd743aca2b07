"""Files are written whole, under names that nobody can guess, and readable by whom they should."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.storage.output_files import (
    GROUP,
    PRIVATE,
    naming,
    open_for_lines,
    open_for_results,
    replacing,
    write_whole,
)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _usual_umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_link_under_the_old_temporary_name_is_not_followed(tmp_path: Path) -> None:
    """The name used to be `report.json.partial`, which anybody could create before."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "report.json.partial").symlink_to(victim)
    write_whole(tmp_path / "report.json", b"{}")
    assert victim.read_text() == "mine"
    assert (tmp_path / "report.json").read_bytes() == b"{}"


def test_a_taken_name_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    for taken in (victim, tmp_path / "nothing"):
        link = tmp_path / ".report.json.guessed.partial"
        link.symlink_to(taken)
        with pytest.raises(FileExistsError):
            write_whole(tmp_path / "report.json", b"{}")
        link.unlink(missing_ok=True)
    assert victim.read_text() == "mine"
    assert not (tmp_path / "nothing").exists()


def test_modes(tmp_path: Path) -> None:
    write_whole(tmp_path / "report.json", b"{}")
    assert mode_of(tmp_path / "report.json") == 0o644
    write_whole(tmp_path / "snapshot", b"", GROUP)
    assert mode_of(tmp_path / "snapshot") == 0o640
    open_for_lines(tmp_path / "letters.jsonl", PRIVATE).close()
    assert mode_of(tmp_path / "letters.jsonl") == 0o600
    open_for_results(tmp_path / "rankings.jsonl").close()
    assert mode_of(tmp_path / "rankings.jsonl") == 0o644


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    report.chmod(0o600)
    write_whole(report, b"new")
    assert (report.read_text(), mode_of(report)) == ("new", 0o600)


def test_nothing_is_left_of_a_file_that_failed(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("old")
    with pytest.raises(RuntimeError), replacing(tmp_path / "report.json") as file:
        file.write(b"half")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert (tmp_path / "report.json").read_text() == "old"


def test_a_long_name_has_room_for_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)
    write_whole(path, b"content")
    assert path.read_bytes() == b"content"


def test_a_torn_last_line_is_ended_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "letters.jsonl"
    for found, expected in (
        (b'{"a": 1}\n{"b"', b'{"a": 1}\n{"b"\nnew\n'),
        (b'{"a": 1}\n', b'{"a": 1}\nnew\n'),
        (b"", b"new\n"),
    ):
        path.write_bytes(found)
        with open_for_lines(path) as file:
            file.write(b"new\n")
        assert path.read_bytes() == expected


@pytest.mark.parametrize("opened", [open_for_lines, open_for_results])
def test_links_are_refused_unless_they_lead_to_a_device(tmp_path: Path, opened: object) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("mine")
    link.symlink_to(victim)
    with pytest.raises(UsageError, match="link is a symbolic link"):
        opened(link)  # type: ignore[operator]
    link.unlink()
    link.symlink_to(os.devnull)
    with opened(link) as file:  # type: ignore[operator]
        file.write(b"line\n")
    assert victim.read_text() == "mine"


def test_errors_name_the_file(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match=r"No space left on device: '/dev/full'") as error,
        naming(Path("/dev/full")),
        open_for_results(Path("/dev/full")) as file,
    ):
        file.write(b"x")
    assert error.value.errno == errno.ENOSPC
    with pytest.raises(FileNotFoundError, match=r"report\.json"):
        write_whole(tmp_path / "missing" / "report.json", b"")
