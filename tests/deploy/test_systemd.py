"""The units of systemd and their installation."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from consumers.cli import new_app
from consumers.config import read_config
from consumers.supervisor import GRACE_SECONDS, NEEDS_AN_OPERATOR
from tests.conftest import REPOSITORY, missing

FOLDER = REPOSITORY / "deploy/systemd"
UNITS = sorted(FOLDER.glob("*.service"))
MOST_EXPOSED = 15  # in tenths, of 100; systemd calls anything below 30 fine
NAMES = [unit.name for unit in UNITS]


def program(name: str, package: str) -> str:
    """The path of a program of others; skips the test if there is none."""
    found = shutil.which(name)
    if found is None:
        missing(name, f"apt install {package}")
    return str(found)


def settings(unit: Path) -> dict[str, list[str]]:
    """All values of each setting of `[Service]`."""
    section = unit.read_text().split("[Service]\n")[1].split("\n[")[0]
    found: dict[str, list[str]] = {}
    for line in section.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_there_is_a_unit_for_each_kind_of_process() -> None:
    kinds = {re.split(r"[@.]", name.removeprefix("wirerank-"))[0] for name in NAMES}
    assert kinds == {"run", "tokenize", "learn", "serve"}


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_the_command_of_a_unit_is_one_of_ours(unit: Path) -> None:
    (command,) = settings(unit)["ExecStart"]
    words = shlex.split(command.replace("%i", "0").replace("$WIRERANK_OPTIONS", ""))
    assert words[0] == "/opt/wirerank/bin/wirerank"
    group = get_command(new_app())
    parsed = group.get_command(group.make_context("wirerank", ["lanes"]), words[1])  # type: ignore[attr-defined]
    assert parsed.make_context(words[1], words[2:]).params  # raises for what it does not know


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_a_problem_for_a_person_is_not_tried_again(unit: Path) -> None:
    found = settings(unit)
    assert found["Restart"] == ["on-failure"]
    (codes,) = found["RestartPreventExitStatus"]
    assert set(codes.split()) == {"2", str(NEEDS_AN_OPERATOR)}


def test_run_has_time_to_stop_its_workers() -> None:
    found = settings(FOLDER / "wirerank-run.service")
    assert float(found["TimeoutStopSec"][0]) > GRACE_SECONDS
    assert found["KillMode"] == ["mixed"]


def test_all_units_have_the_same_sandbox() -> None:
    """From the restart on they are the same text, so that none is forgotten in a change."""
    rests = {unit.read_text().partition("# A problem that needs a person")[2] for unit in UNITS}
    assert len(rests) == 1
    (rest,) = rests
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=",
                 "SystemCallFilter=@system-service", "PrivateUsers=yes"):  # fmt: skip
        assert f"\n{line}\n" in rest
    assert "MemoryDenyWriteExecute=" not in rest


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_systemd_finds_the_unit_safe(unit: Path, tmp_path: Path) -> None:
    analyze = program("systemd-analyze", "systemd")
    path = tmp_path / unit.name.replace("@", "@0")
    shutil.copy(unit, path)
    command = [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout.splitlines()[-1:] or done.stderr
    assert "Overall exposure level" in done.stdout


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_systemd_understands_the_unit(unit: Path, tmp_path: Path) -> None:
    """With this Python in the place of the program, which is not installed here."""
    analyze = program("systemd-analyze", "systemd")
    for other in UNITS:
        text = other.read_text().replace("/opt/wirerank/bin/wirerank", sys.executable)
        (tmp_path / other.name).write_text(text)
        drop_in = tmp_path / f"{other.name}.d"
        drop_in.mkdir()
        shutil.copy(FOLDER / "credentials.conf", drop_in)
    path = tmp_path / unit.name.replace("@", "@0")
    if not path.exists():
        path.symlink_to(unit.name)
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    command = [analyze, "verify", "--man=no", "--recursive-errors=no", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    about_it = [line for line in done.stderr.splitlines() if "wirerank" in line]
    assert (done.returncode, about_it) == (0, [])


def test_systemd_finds_mistakes(tmp_path: Path) -> None:
    """The two tests above would notice: a setting that does not exist, and a unit without walls."""
    analyze = program("systemd-analyze", "systemd")
    path = tmp_path / "wirerank-open.service"
    path.write_text(f"[Service]\nExecStart={sys.executable}\nProtectSytem=strict\n")
    verified = subprocess.run(
        [analyze, "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )
    assert "ProtectSytem" in verified.stderr
    command = [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", str(path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def install(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    script = FOLDER / "install.sh"
    environment = {**os.environ, "DESTDIR": str(root)}
    return subprocess.run(
        [str(script), *options], env=environment, capture_output=True, text=True, check=False
    )


def prepared(root: Path) -> None:
    """A folder with an environment that has everything already, so that pip downloads nothing."""
    (root / "opt/wirerank/bin").mkdir(parents=True)
    (root / "opt/wirerank/bin/python").write_text(
        f'#!/bin/sh\n[ "$2" = pip ] && {{ echo "$@" >> {root}/pip.log; exit 0; }}\n'
        f'exec {sys.executable} "$@"\n'
    )
    wirerank = root / "opt/wirerank/bin/wirerank"
    wirerank.write_text(
        f'#!/bin/sh\nPYTHONPATH={REPOSITORY} exec {sys.executable} -m consumers "$@"\n'
    )
    for path in (wirerank, root / "opt/wirerank/bin/python"):
        path.chmod(0o755)


def test_it_is_installed_upgraded_and_removed(tmp_path: Path) -> None:
    """Everything but pip itself, which `make image-test` and people run."""
    prepared(tmp_path)
    first = install(tmp_path, "--no-kernels", "--wheel", "wirerank.whl", "--python", sys.executable)
    assert first.returncode == 0, first.stderr
    pip = (tmp_path / "pip.log").read_text()
    assert (
        f"--require-hashes --only-binary :all: --requirement {REPOSITORY}/locks/deploy.txt" in pip
    )
    assert "--no-index --no-deps --force-reinstall wirerank.whl" in pip

    units = tmp_path / "etc/systemd/system"
    assert {path.name for path in units.iterdir()} == set(NAMES)
    settings_file = tmp_path / "etc/wirerank/wirerank.toml"
    config = read_config(settings_file, {})
    assert config.snapshots.folder == Path("/var/lib/wirerank/snapshots")
    assert config.metrics.targets_folder == Path("/var/lib/wirerank/targets")
    secrets = tmp_path / "etc/wirerank/wirerank.env"
    assert secrets.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "etc/wirerank/credentials").stat().st_mode & 0o777 == 0o700

    settings_file.write_text("changed")
    (units / NAMES[0]).write_text("of an older version")
    again = install(tmp_path, "--no-kernels", "--wheel", "wirerank.whl", "--python", sys.executable)
    assert again.returncode == 0, again.stderr
    assert settings_file.read_text() == "changed"
    assert (units / NAMES[0]).read_text() == UNITS[0].read_text()

    assert install(tmp_path, "--uninstall").returncode == 0
    assert not (tmp_path / "opt/wirerank").exists()
    assert not list(units.iterdir())
    assert settings_file.read_text() == "changed"
    assert install(tmp_path, "--uninstall", "--purge").returncode == 0
    assert not settings_file.parent.exists()


@pytest.mark.parametrize(
    "options", [["--wheel"], ["--purge"], ["--unknown"], ["--python", "false"]]
)
def test_a_wrong_call_changes_nothing(options: list[str], tmp_path: Path) -> None:
    done = install(tmp_path, *options)
    assert done.returncode == 2
    assert done.stderr.startswith("install.sh: ")
    assert not list(tmp_path.iterdir())


def test_the_user_is_made_by_systemd(tmp_path: Path) -> None:
    users = program("systemd-sysusers", "systemd")
    (tmp_path / "etc").mkdir()
    command = [users, f"--root={tmp_path}", str(FOLDER / "wirerank.sysusers")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (user,) = (tmp_path / "etc/passwd").read_text().splitlines()
    name, _, number, _, _, home, shell = user.split(":")
    assert (name, home) == ("wirerank", "/var/lib/wirerank")
    assert int(number) > 0
    assert shell.endswith("nologin")


@pytest.mark.parametrize("script", ["systemd/install.sh", "image/debian_base.sh"])
def test_shellcheck_finds_nothing(script: str) -> None:
    shellcheck = program("shellcheck", "shellcheck")
    done = subprocess.run(
        [shellcheck, str(REPOSITORY / "deploy" / script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
