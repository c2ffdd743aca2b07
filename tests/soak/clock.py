"""Clocks of workers that can be set.

libfaketime was tried first. It also intercepts `select` and `poll`, and workers then failed with
"Invalid argument". So a module that Python imports at its start replaces `time.time` instead.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("stepped_clock")


def clock_environment(path: Path) -> dict[str, str]:
    """The variables with which a Python process follows the clock file."""
    set_clock(path, 0)
    former = os.environ.get("PYTHONPATH", "")
    return {"SOAK_CLOCK": str(path), "PYTHONPATH": os.pathsep.join([str(FOLDER), former])}


def set_clock(path: Path, ahead_s: int) -> None:
    """Set a clock ahead of the true time, or back."""
    scratch = path.with_suffix(".new")
    scratch.write_text(f"{ahead_s}\n")
    scratch.rename(path)
