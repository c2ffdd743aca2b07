"""The changes of lanes in the report, and as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.curves.change_detector import FALSE_ALARMS
from pipeline.curves.change_text import change_entry, change_text
from pipeline.engine.engine import Engine
from pipeline.engine.lane import Lane
from pipeline.printable import printable

MOST_LINES = 12  # of changes, the newest ones


def change_entries(engine: Engine, lane: Lane) -> dict[str, Any]:
    """Return the changes of a lane for the report: how many, and the last ones in full."""
    changes = lane.curve.changes
    return {
        "changes_total": changes.total,
        "changes": [change_entry(change, engine.topics.names) for change in changes.kept],
        "changes_of": lane.curve.watched,
        "false_alarms_per_round": FALSE_ALARMS,
    }


def change_lines(report: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield a line per change of any lane, in the order of the rounds."""
    changes = [
        (entry, name, lane["changes_of"])
        for name, lane in report.items()
        for entry in lane["changes"]
    ]
    changes.sort(key=lambda change: change[0]["round"])
    for entry, name, loss in changes[-MOST_LINES:]:
        yield f"{printable(name)} changed: {change_text(entry, loss)}"
    total = sum(lane["changes_total"] for lane in report.values())
    if total > MOST_LINES:
        yield f"and {total - MOST_LINES} earlier changes; --report writes the last of each lane"
