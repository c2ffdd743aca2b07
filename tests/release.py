"""`make release-check`: is this commit ready to be released? Tests and audit come after this.

The version in pyproject.toml follows semver.org. A release is a clean commit whose version has an
entry in CHANGELOG.md, is newer than all tags, has its files kept in tests/releases, and from which
a source distribution and a wheel can be built that know version and commit.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
# As semver.org has it, without build metadata.
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)
ENTRY = r"^## {} - \d{{4}}-\d\d-\d\d$"


def version_in(repository: Path) -> str:
    """The version in pyproject.toml."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def git(repository: Path, *arguments: str) -> str:
    """What git says."""
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare it with others."""
    return tuple(map(int, version.split(".")))


def problems(repository: Path) -> Iterator[str]:
    """What is wrong before anything is built; each says what to do."""
    version = version_in(repository)
    if not VERSION.fullmatch(version):
        yield f"the version {version!r} is not MAJOR.MINOR.PATCH: correct pyproject.toml"
        return
    changelog = (repository / "CHANGELOG.md").read_text()
    if not re.search(ENTRY.format(re.escape(version)), changelog, re.M):
        yield (
            f"CHANGELOG.md has no heading `## {version} - YYYY-MM-DD`: give the entries under "
            "`Unreleased` this heading"
        )
    if not (repository / "tests" / "releases" / version).is_dir():
        yield f"tests/releases/{version} is missing: run `python -m tests.releases`, and commit it"
    chart = repository / "deploy" / "kubernetes" / "wirerank" / "Chart.yaml"
    if chart.exists() and f'appVersion: "{version}"' not in chart.read_text():
        yield f"{chart.relative_to(repository)} has another appVersion: set it to {version}"
    tags = {tag.removeprefix("v") for tag in git(repository, "tag", "--list", "v*").split()}
    released = [tag for tag in tags if VERSION.fullmatch(tag)]
    if newer := [tag for tag in released if numbers(tag) >= numbers(version)]:
        newest = max(newer, key=numbers)
        yield f"there is a tag v{newest}: raise the version {version} in pyproject.toml"
    if changed := git(repository, "status", "--porcelain").splitlines():
        yield f"{len(changed)} files are changed or not in git ({changed[0]}, ...): commit them"


def build(repository: Path, target: Path) -> list[Path]:
    """Build the source distribution, and the wheel from it, as an installation does."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    program = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    run = [sys.executable, "-c", program, str(target)]
    subprocess.run(run, cwd=repository, check=True, stdout=subprocess.DEVNULL)
    (source,) = target.glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel"]
    wheel = [*pip, "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target)]
    subprocess.run([*wheel, str(source)], cwd=target, check=True)
    return sorted(target.iterdir())


def problems_of_files(files: list[Path], version: str, commit: str) -> Iterator[str]:
    """What is wrong with the files that were built."""
    for path in files:
        if f"-{version}" not in path.name:
            yield f"{path.name} does not have the version {version}"
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                names = wheel.namelist()
                found = wheel.read("pipeline/commit.txt") if "pipeline/commit.txt" in names else b""
        else:
            with tarfile.open(path) as archive:
                member = f"{path.name.removesuffix('.tar.gz')}/pipeline/commit.txt"
                names = archive.getnames()
                file = archive.extractfile(member) if member in names else None
                found = b"" if file is None else file.read()
        known = found.decode().strip()
        if not known or not commit.startswith(known):
            yield f"{path.name} says that its commit is {known or 'unknown'}, expected {commit}"


def main() -> int:
    """Print what is wrong; the exit code is 1 if anything is."""
    wrong = list(problems(REPOSITORY))
    if not wrong:
        version, commit = version_in(REPOSITORY), git(REPOSITORY, "rev-parse", "HEAD").strip()
        files = build(REPOSITORY, REPOSITORY / "dist")
        wrong = list(problems_of_files(files, version, commit))
        print(f"built {', '.join(path.name for path in files)} in dist/, of commit {commit[:12]}")
    for problem in wrong:
        print(f"not ready: {problem}.", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
