"""Adds the results of runs to the table of docs/measurements/soak.md."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.soak.checker import Verdict

HEADER = "| date | seed | faults | documents | rankings | lost | doubled | reordered | different |"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "measurements" / "soak.md"


def row(verdict: Verdict, seed: int) -> str:
    """The result of a run as a row of the table."""
    lanes = verdict.lanes.values()
    counted = [
        sum(getattr(lane, what) for lane in lanes)
        for what in ("rankings", "lost", "doubled", "reordered", "different")
    ]
    cells: list[Any] = [
        time.strftime("%Y-%m-%d"),
        seed,
        sum(verdict.faults.values()),
        f"{verdict.documents:,}",
        f"{counted[0]:,}",
        *counted[1:],
        max((lane.stall for lane in lanes), default=0.0),
        max((lane.quiet_stall for lane in lanes), default=0.0),
        verdict.longest_fault_gap,
        max(verdict.recoveries, default=0.0),
        f"{max((most['most_mb'] for most in verdict.memory.values()), default=0.0):.0f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def add_row(verdict: Verdict, seed: int, page: Path = PAGE) -> None:
    """Add a row at the end of the table of runs."""
    lines = page.read_text(encoding="utf-8").splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith(HEADER))
    while place < len(lines) and lines[place].startswith("|"):
        place += 1
    lines.insert(place, row(verdict, seed))
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
