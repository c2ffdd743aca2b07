"""The wheel, installed outside the checkout: it has all that its commands need, and nothing else.

The wheel is installed into an environment of its own, which borrows the dependencies of this one:
nothing is downloaded. Kernels are not compiled, since that takes a minute; other tests run them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.slow

PACKAGES = {"consumers", "learners", "pipeline"}
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
# Variables that could make Python find the checkout.
HIDDEN = {"PYTHONPATH", "PYTHONHOME"}


def clean_environment(more: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of this process, without those that lead to the checkout."""
    kept = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    return {**kept, "NUMBA_DISABLE_JIT": "1", **more}


@dataclass
class Installed:
    """The wheel, the program that it installs, and a folder to work in."""

    wheel: Path
    program: Path
    folder: Path

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.program), *arguments],
            cwd=self.folder,
            env=clean_environment(more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command, which must succeed."""
        done = subprocess.run(
            [str(self.program), *arguments],
            cwd=self.folder,
            env=clean_environment(more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    generated = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "demo")
    source = shutil.copytree(REPOSITORY, folder / "source", ignore=generated)
    # A bare "source" would be a package of that name on the index, so: a path, and no index.
    build = [*PIP, "wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run(
        [*build, folder / "wheels", source], cwd=folder, env=clean_environment({}), check=True
    )
    (wheel,) = (folder / "wheels").glob("*.whl")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    install = [*PIP, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, cwd=folder, env=clean_environment({}), check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    shutil.rmtree(source)
    (folder / "elsewhere").mkdir()
    return Installed(wheel, environment / "bin" / "wirerank", folder / "elsewhere")


def test_only_our_packages_are_installed(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == PACKAGES


def test_all_files_of_the_packages_are_in_the_wheel(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = set(archive.namelist())
    in_checkout = {
        path.relative_to(REPOSITORY).as_posix()
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert in_checkout <= names


def test_replay_with_a_page(installed: Installed) -> None:
    """The page and all files that it loads are served while the replay waits for events."""
    pytest.importorskip("plotly")
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    with installed.start("replay", "-", "--page", "--lane", "frequency") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        address = line.removeprefix("live page: ").strip()
        with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310
            page = answer.read().decode()
        files = re.findall(r'(?:src|href)="/?(?!http)([\w./-]+)"', page)
        assert any(file.endswith(".js") for file in files)
        for file in files:
            with urllib.request.urlopen(f"{address}{file}", timeout=30) as answer:  # noqa: S310
                assert answer.read()
        output, errors = process.communicate('{"id": 1, "text": "wheat", "topics": ["grain"]}\n')
    assert process.returncode == 0, errors
    assert output.startswith("lane ")


def test_replay_of_the_built_in_corpus(installed: Installed) -> None:
    done = installed.run("replay", "synthetic:100", "--page", "--report", "report.json")
    assert "live page: http://" in done.stderr
    assert "mmp:loss=1" in done.stdout
    assert (installed.folder / "report.json").stat().st_size > 0


def test_experiments_are_listed(installed: Installed) -> None:
    assert "feature-focus-words" in installed.run("experiment", "--list").stdout


def test_version(installed: Installed) -> None:
    version = installed.wheel.name.split("-")[1]
    assert installed.run("--version").stdout == f"wirerank {version} (commit unknown)\n"


def test_the_example_configuration_runs(installed: Installed, broker: str) -> None:
    """All workers of the printed example rank what is played into their Kafka topic."""
    example = installed.run("config", "--example").stdout
    (installed.folder / "wirerank.toml").write_text(example)
    stream = f"wheel-{time.time_ns()}"
    settings = {
        "WIRERANK__KAFKA__BOOTSTRAP": broker,
        "WIRERANK__METRICS__PORT": "0",
        "WIRERANK__SNAPSHOTS__FOLDER": str(installed.folder / "snapshots"),
        "WIRERANK__STREAMS__0__NAME": stream,
    }
    assert f'bootstrap = "{broker}"' in installed.run("config", "wirerank.toml", **settings).stdout
    with installed.start("run", "wirerank.toml", **settings) as workers:
        try:
            topic = ["--kafka", broker, "--topic", f"{stream}.documents"]
            played = installed.run("replay", "synthetic:20,topics=3", *topic, "--until-ranked")
            assert "written 20" in played.stderr
            assert workers.poll() is None
        finally:
            workers.send_signal(signal.SIGTERM)
            _, log = workers.communicate(timeout=120)
    assert workers.returncode == 0, log
    assert "Traceback" not in log
    snapshots = [
        str(path)
        for path in sorted((installed.folder / "snapshots").rglob("*"))
        if path.is_file() and path.name != "run.lock"
    ]
    assert "soft-arow" in "".join(installed.run("inspect", path).stdout for path in snapshots)
