"""Every command that the documents show is run, and every option that they name exists."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from consumers.cli import new_app
from pipeline.reports.plots import can_plot
from tests.conftest import REPOSITORY, missing
from tests.support.prometheus_server import program as need_program

DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def shown_commands() -> list[str]:
    """Lines that start with `$ ` in console blocks."""
    commands = []
    for path in DOCUMENTS:
        for block in re.findall(r"```console\n(.*?)```", path.read_text(), re.S):
            commands += [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return commands


COMMANDS = [command for command in shown_commands() if not command.startswith("make ")]


def test_commands_were_found() -> None:
    assert len(COMMANDS) > 5
    assert {"make demo", "make test"} <= set(shown_commands())


@pytest.mark.parametrize("command", COMMANDS)
def test_shown_command(command: str, tmp_path: Path) -> None:
    draws = "--plot" in command or (" experiment " in command and "--list" not in command)
    if draws and not can_plot():
        missing("matplotlib", "pip install 'wirerank[experiments]'")
    if "promtool" in command:
        need_program("promtool")
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs")
    script = tmp_path / "bin" / "wirerank"
    script.parent.mkdir()
    program = f"{shlex.quote(sys.executable)} -m consumers"
    script.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for name in re.findall(r"--(?:rankings|curves|report|plot|openmetrics) (\S+\.\w+)", command):
        assert (tmp_path / name).stat().st_size > 0


def test_options_that_the_documents_name_exist() -> None:
    commands = (
        "replay",
        "curves export",
        "experiment",
        "report",
        "tokenize",
        "learn",
        "run",
        "config",
        "inspect",
        "bench",
    )
    shown = "".join(
        CliRunner(env={"COLUMNS": "200"}).invoke(new_app(), [*command.split(), "--help"]).stdout
        for command in commands
    )
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", "".join(p.read_text() for p in DOCUMENTS)))
    others = {"--multilabel_oaa", "--multilabel"}  # Vowpal Wabbit's
    others |= {"--config", "--storage", "--query", "--web", "--max-block-duration"}  # Prometheus's
    unknown = {option for option in named - others if option not in shown}
    assert not unknown


def test_make_targets_that_the_readme_names_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    for target in set(re.findall(r"make ([a-z]+)", "\n".join(shown_commands()))):
        assert f"\n{target}:" in makefile


def test_the_demo_is_what_the_readme_says(tmp_path: Path) -> None:
    """The demo's own command, as the Makefile has it, in a folder of its own."""
    makefile = (REPOSITORY / "Makefile").read_text()
    (command,) = re.findall(r"\$\(BIN\)/wirerank (replay .*)", makefile)
    if not can_plot():
        missing("matplotlib", "pip install 'wirerank[experiments]'")
    result = CliRunner().invoke(new_app(), shlex.split(command.replace("demo/", f"{tmp_path}/")))
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "mmp:loss=1 20,000 " in result.stdout
