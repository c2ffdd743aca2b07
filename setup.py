"""Writes the commit into what is built; everything else about the project is in pyproject.toml.

The commit comes from WIRERANK_COMMIT, for builds without a checkout such as those of images, then
from git, then from the file that a source distribution has. `pipeline/release.py` reads the file.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
RELEASE = runpy.run_path(str(HERE / "pipeline" / "release.py"))  # its package need not be there


def write_commit(folder: str) -> None:
    """Write the commit into a copy of the packages, if it is known."""
    commit = os.environ.get("WIRERANK_COMMIT") or RELEASE["commit"]()
    target = Path(folder) / "pipeline" / RELEASE["BUILT_FROM"]
    if commit and target.parent.is_dir():
        target.unlink(missing_ok=True)  # it may be a link to the file of the source
        target.write_text(f"{commit}\n", encoding="ascii")


class BuildWithCommit(build_py):
    """Builds the packages of a wheel."""

    def run(self) -> None:
        """Copy the packages, then add the commit. An editable install asks git when it runs."""
        super().run()
        if not self.editable_mode:
            write_commit(self.build_lib)


class SourceWithCommit(sdist):
    """Builds a source distribution."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy the files, then add the commit."""
        super().make_release_tree(base_dir, files)
        write_commit(base_dir)


setup(cmdclass={"build_py": BuildWithCommit, "sdist": SourceWithCommit})
