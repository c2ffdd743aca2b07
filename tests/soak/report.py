"""The result of a run as text, and as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.soak.checker import Verdict

COLUMNS = (
    "rankings",
    "lost",
    "doubled",
    "unknown",
    "reordered",
    "different",
    "stall",
    "quiet_stall",
)


def describe(verdict: Verdict) -> str:
    """The result as a table."""
    rows = [("lane", *(name.replace("_", " ") for name in COLUMNS))]
    rows += [
        (lane, *(f"{getattr(result, name):,}" for name in COLUMNS))
        for lane, result in verdict.lanes.items()
    ]
    faults = ", ".join(f"{kind} {number}" for kind, number in sorted(verdict.faults.items()))
    lines = [
        f"faults: {sum(verdict.faults.values())} ({faults})",
        f"in: {verdict.documents:,} documents, {verdict.labels:,} late or early labels, "
        f"{verdict.garbage:,} garbage events; missing {verdict.input_lost}",
        "",
        *table(rows),
        "",
        f"dead letters: {verdict.dead_letters:,}, of which repeated "
        f"{verdict.dead_letters_repeated:,}; lost {verdict.dead_letters_lost}, wrong "
        f"{verdict.dead_letters_wrong}",
        f"longest gap between faults {verdict.longest_fault_gap} s; seconds to catch up in each "
        f"calm: {', '.join(map(str, verdict.recoveries)) or 'n.a.'}",
        "memory, MB at most (slope per minute): "
        + ", ".join(
            f"{name} {grown['most_mb']:.0f} ({grown.get('mb_per_minute', 'n.a.')})"
            for name, grown in sorted(verdict.memory.items())
        ),
        "",
    ]
    if verdict.recreated:
        counts = ", ".join(f"{name} {number:,}" for name, number in verdict.recreated.items())
        lines[-1:] = [f"stream with replaced topics: {counts}", ""]
    if verdict.violations:
        lines += ["VIOLATIONS:", *(f"- {violation}" for violation in verdict.violations)]
        lines += ["examples:", *(f"- {example}" for example in verdict.examples)]
    else:
        lines.append("No violation.")
    return "\n".join(lines)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns side by side: the first to the left, the others to the right.

    >>> table([("lane", "lost"), ("one", "0")])
    ['lane  lost', 'one      0']
    """
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def write_report(folder: Path, verdict: Verdict, settings: Mapping[str, Any]) -> None:
    """Write `report.json` and `report.txt`."""
    content = {"settings": dict(settings), **verdict.as_json()}
    (folder / "report.json").write_text(json.dumps(content, indent=2) + "\n")
    (folder / "report.txt").write_text(describe(verdict) + "\n")
