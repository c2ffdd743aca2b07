"""The help of every command at a terminal of 80 columns, and shell completion."""

from __future__ import annotations

import re

import pytest
import typer
from typer.testing import CliRunner

from consumers.cli import new_app

GROUPS = ("", "corpora", "curves", "export", "dead-letters")
COMMANDS = (
    "replay", "rank", "serve", "diff", "export weights", "export model", "lanes", "profiles",
    "experiment", "report", "inspect", "bench", "plan",
    "corpora fetch", "curves export", "tokenize", "learn", "run", "config", "check", "init", "acls",
    "dead-letters count", "dead-letters list", "dead-letters show", "dead-letters send-back",
    "backup", "restore",
    "trim",
)  # fmt: skip


def shown(*arguments: str, **environment: str) -> str:
    """What the program prints, as `wirerank`."""
    runner = CliRunner(env={"COLUMNS": "80", **environment})
    result = runner.invoke(new_app(), arguments, prog_name="wirerank")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_all_commands_are_known_here() -> None:
    command = typer.main.get_group(new_app())
    names = {name for name in command.commands if name not in GROUPS}
    assert names == {name for name in COMMANDS if " " not in name}


@pytest.mark.parametrize("group", GROUPS)
def test_summaries_are_whole(group: str) -> None:
    """A summary that is too long would end in three dots."""
    _, commands = shown(*group.split(), "--help").split("Commands:\n")
    for line in commands.splitlines():
        assert "..." not in line
        name, _, summary = line.strip().partition("  ")
        assert name
        assert summary.strip().endswith(".")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_placeholder_is_shown(command: str) -> None:
    text = shown(*command.split(), "--help")
    assert "{" not in text
    assert not re.search(r"<(int|str|path|float)", text)
    assert "2147483647" not in text
    assert "deploy/" not in text
    assert "docs/" not in text


def test_the_source_is_explained() -> None:
    text = " ".join(shown("replay", "--help").split())
    assert "Usage: wirerank replay [OPTIONS] SOURCE" in text
    assert "a FILE of JSON lines or a JSON array, packed or not, - for standard input" in text


@pytest.mark.parametrize(
    ("typed", "completions"),
    [
        ("re", ["replay", "report", "restore"]),
        ("replay syn", ["synthetic:"]),
        ("replay synthetic:9 --lane per", ["perceptron"]),
        ("replay - --format n", ["ninjs", "newsml-g2"]),
        ("replay - --profile reuters2000", ["reuters2000"]),
        ("replay - --profile news:norm=", ["news:norm=none", "news:norm=l2"]),
        ("replay - --until", ["--until-ranked"]),
        ("experiment mmp-reuters", ["mmp-reuters21578"]),
        ("corpora fetch reuters", ["reuters21578"]),
        ("plan --lanes per", ["perceptron"]),
        ("run x.toml --log-format j", ["json", "journal"]),
    ],
)
def test_completion(typed: str, completions: list[str]) -> None:
    output = shown(
        _WIRERANK_COMPLETE="complete_bash",
        COMP_WORDS=f"wirerank {typed}",
        COMP_CWORD=str(len(typed.split())),
    )
    assert output.split() == completions


def test_the_completion_script_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "_WIRERANK_COMPLETE" in shown("--show-completion", "bash")
