"""`make release-check` finds what is not ready, and what is built knows its version and commit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.release import commit_of_checkout, release
from tests.conftest import REPOSITORY
from tests.release import VERSION, build, git, problems, problems_of_files, version_in

READY = """# Changelog

## 1.2.3 - 2026-03-01

- A change.
"""


def commit_all(folder: Path) -> str:
    """Commit everything in a folder; the commit."""
    identity = [
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@localhost",
        "-c",
        "commit.gpgsign=no",
    ]
    for arguments in (["add", "--all"], [*identity, "commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", "-C", str(folder), *arguments], check=True)
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that is ready."""
    folder = tmp_path / "repository"
    (folder / "tests" / "releases" / "1.2.3").mkdir(parents=True)
    (folder / "tests" / "releases" / "1.2.3" / "log.json").write_text("[]")
    (folder / "pyproject.toml").write_text('[project]\nname = "wirerank"\nversion = "1.2.3"\n')
    (folder / "CHANGELOG.md").write_text(READY)
    chart = folder / "deploy" / "kubernetes" / "wirerank" / "Chart.yaml"
    chart.parent.mkdir(parents=True)
    chart.write_text('appVersion: "1.2.3"\n')
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    commit_all(folder)
    return folder


def test_a_repository_that_is_ready(repository: Path) -> None:
    assert list(problems(repository)) == []
    git(repository, "tag", "v1.2.2")
    git(repository, "tag", "v1.2.3-rc1")  # no release
    assert list(problems(repository)) == []


@pytest.mark.parametrize(
    ("version", "said"),
    [("1.2", "not MAJOR.MINOR.PATCH"), ("1.2.3rc1", "not MAJOR.MINOR.PATCH"),
     ("01.2.3", "not MAJOR.MINOR.PATCH"), ("1.3.0", "CHANGELOG.md has no heading `## 1.3.0 - "),
     ("1.3.0", "tests/releases/1.3.0 is missing"), ("1.3.0", "Chart.yaml has another appVersion")],
    ids=["two numbers", "candidate", "zero", "changelog", "releases", "chart"],
)  # fmt: skip
def test_a_version_that_is_not_ready(repository: Path, version: str, said: str) -> None:
    path = repository / "pyproject.toml"
    path.write_text(path.read_text().replace("1.2.3", version))
    assert any(said in problem for problem in problems(repository))


@pytest.mark.parametrize("tag", ["v1.2.3", "v1.10.0", "v2.0.0"])
def test_a_version_that_was_released(repository: Path, tag: str) -> None:
    git(repository, "tag", tag)
    assert list(problems(repository)) == [
        f"there is a tag {tag}: raise the version 1.2.3 in pyproject.toml"
    ]


@pytest.mark.parametrize("name", ["CHANGELOG.md", "new.txt"])
def test_changes_that_are_not_committed(repository: Path, name: str) -> None:
    with (repository / name).open("a") as file:
        file.write("more\n")
    (problem,) = problems(repository)
    assert "1 files are changed or not in git" in problem


def test_the_version_is_the_same_everywhere() -> None:
    version = version_in(REPOSITORY)
    assert VERSION.fullmatch(version)
    assert release() == version
    chart = (REPOSITORY / "deploy/kubernetes/wirerank/Chart.yaml").read_text()
    assert f'appVersion: "{version}"' in chart
    text = (REPOSITORY / "CHANGELOG.md").read_text()
    assert re.search(rf"^## (Unreleased|{re.escape(version)} - )", text, re.M)


def test_the_commit_of_a_checkout(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(repository, "rev-parse", "HEAD").strip()
    monkeypatch.setenv("GIT_DIR", str(repository / "elsewhere"))  # as in a hook of git
    assert commit_of_checkout(repository) == commit[:12]
    (repository / "new.txt").write_text("not in git, so nothing that was changed")
    assert commit_of_checkout(repository) == commit[:12]
    (repository / "CHANGELOG.md").write_text("changed")
    assert commit_of_checkout(repository) == f"{commit[:12]}-changed"


def test_no_commit_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commit_of_checkout(tmp_path) is None
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert commit_of_checkout(tmp_path) is None  # nothing is committed yet
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of_checkout(tmp_path) is None  # there is no git


@pytest.mark.slow
def test_what_is_built_knows_its_commit(tmp_path: Path) -> None:
    """A source distribution from git, and a wheel from the former, which has no git."""
    source = tmp_path / "source"
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", ".gitignore"):
        source.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, source / name)
    generated = shutil.ignore_patterns("__pycache__", "*.nb[ic]")
    for name in ("pipeline", "consumers", "learners"):
        shutil.copytree(REPOSITORY / name, source / name, ignore=generated)
    subprocess.run(["git", "init", "--quiet", str(source)], check=True)
    commit = commit_all(source)
    files = build(source, tmp_path / "dist")
    assert [path.suffix for path in files] == [".whl", ".gz"] or len(files) == 2
    assert list(problems_of_files(files, version_in(source), commit)) == []
    assert len(list(problems_of_files(files, "9.9.9", "f" * 40))) == 4
    (wheel,) = [path for path in files if path.suffix == ".whl"]
    installed = str(unpacked(wheel, tmp_path / "installed"))
    shown = subprocess.run(
        [sys.executable, "-S", "-c", "from pipeline.release import commit; print(commit())"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": installed},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.strip() == commit[:12]


def unpacked(wheel: Path, folder: Path) -> Path:
    shutil.unpack_archive(wheel, folder, "zip")
    return folder
