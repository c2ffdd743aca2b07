"""`python -m tests.releases`: keep what the release in pyproject.toml writes, for later ones."""

from __future__ import annotations

import sys
import tomllib

from tests.conftest import REPOSITORY
from tests.releases.writing import FOLDER, write_release

version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
target = FOLDER / version
if target.exists():
    sys.exit(f"{target} exists: what a release has written does not change.")
write_release(target)
print(f"wrote {target}")
