"""Audit lines: who, what and the outcome, also of what fails; no secret; refused if unwritable."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
import typer
from pydantic import SecretStr

from consumers.audit import audit
from consumers.settings import AuditSettings
from pipeline.errors import UsageError


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_command_leaves_a_line_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "audit.jsonl"
    with audit("trim", AuditSettings(file=path), stream="newswire", before=17) as entry:
        (begun,) = lines(path)
        entry.found(deleted=17)
    again, done = lines(path)
    assert again == begun
    assert (begun["outcome"], begun["result"]) == ("begun", {})
    assert (done["outcome"], done["result"]) == ("done", {"deleted": 17})
    assert done["what"] == {"stream": "newswire", "before": 17}
    assert done["command"] == "trim"
    assert done["pid"] == os.getpid()
    assert done["user"]
    assert done["host"]
    assert stat.S_IMODE(path.stat().st_mode) & ~0o640 == 0
    shown = capsys.readouterr().err.splitlines()
    assert [json.loads(line[line.index("{") :]) for line in shown] == [begun, done]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OSError("no space"), "failed: OSError: no space"),
        (typer.Exit(1), "failed: exit code 1"),
        (typer.Exit(0), "done"),
        (KeyboardInterrupt(), "failed: KeyboardInterrupt: "),
    ],
    ids=["error", "exit 1", "exit 0", "interrupt"],
)
def test_what_fails_is_audited_as_well(tmp_path: Path, error: BaseException, outcome: str) -> None:
    path = tmp_path / "audit.jsonl"
    with pytest.raises(type(error)), audit("restore", AuditSettings(file=path)):
        raise error
    assert [line["outcome"] for line in lines(path)] == ["begun", outcome]


def test_no_secret_and_no_control_character_appears(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "audit.jsonl"
    with pytest.raises(OSError, match="swordfish"), audit(
        "restore", AuditSettings(file=path),
        source="s3://me:swordfish@host/x", secret=SecretStr("swordfish"),
        options={"sasl_password": "swordfish"}, name="a\x1b[2Jb\nc\u202e",
    ):  # fmt: skip
        raise OSError("http://me:swordfish@host refuses")
    for text in (path.read_text(), capsys.readouterr().err):
        assert "swordfish" not in text
        assert len(text.splitlines()) == 2
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert lines(path)[0]["what"] == {
        "source": "s3://**********@host/x", "secret": "**********",
        "options": {"sasl_password": "**********"}, "name": "a\x1b[2Jb\nc\u202e",
    }  # fmt: skip


def test_lines_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for _ in range(2):
        with audit("trim", AuditSettings(file=path)):
            pass
    assert [line["outcome"] for line in lines(path)] == ["begun", "done"] * 2


def test_a_command_that_cannot_be_audited_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "audit.jsonl"
    with pytest.raises(UsageError, match=r"cannot be written.*so nothing was done"), audit(
        "trim", AuditSettings(file=path)
    ):  # fmt: skip
        pytest.fail("must not be reached")
