"""Which release of Wirerank this is: its version, and the commit that it was built from.

A wheel and an image have the commit in a file that `setup.py` writes when they are built. In a
checkout, git is asked. Without either, the commit is not known, which is no error.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
BUILT_FROM = "commit.txt"  # in this package, as setup.py calls it
GIT_SECONDS = 5.0
SHOWN_DIGITS = 12


def release() -> str:
    """The version, by the rules of semver.org; 0.0.0 if the package is not installed."""
    try:
        return version("wirerank")
    except PackageNotFoundError:
        return "0.0.0"


def commit() -> str | None:
    """The commit that this program was built from, or runs from; None if it is not known."""
    with suppress(OSError, UnicodeDecodeError):
        return shortened((PACKAGE / BUILT_FROM).read_text(encoding="ascii").strip()) or None
    if not (PACKAGE.parent / ".git").exists():
        return None
    return commit_of_checkout(PACKAGE.parent)


def commit_of_checkout(folder: Path) -> str | None:
    """The commit of a checkout; `-changed` at the end says that files were changed since."""
    found = git(folder, "rev-parse", "--verify", "HEAD")
    if found is None:
        return None
    changed = git(folder, "status", "--porcelain", "--untracked-files=no")
    return shortened(found) + ("" if changed == "" else "-changed")


def shortened(commit: str) -> str:
    """A commit with as many digits as are shown; what is no commit stays as it is."""
    return commit[:SHOWN_DIGITS] if re.fullmatch(r"[0-9a-f]{40,64}", commit) else commit


def git(folder: Path, *arguments: str) -> str | None:
    """What git says; None if it cannot be asked."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - wherever git is
            env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            capture_output=True, text=True, timeout=GIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def describe_release() -> str:
    """The version and the commit, for `wirerank --version`."""
    return f"wirerank {release()} (commit {commit() or 'unknown'})"
