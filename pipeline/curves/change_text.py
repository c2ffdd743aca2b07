"""A change of a lane as an entry of the report, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.curves.lane_changes import Change
from pipeline.printable import printable

MOST_CHARACTERS = 60  # of a name or id in a line of text


def change_entry(change: Change, names: Sequence[str]) -> dict[str, Any]:
    """Return a change as JSON; `names` are those of all topics."""
    return {
        "round": change.round,
        "began": change.began,
        "document": change.document,
        "loss_before": change.before,
        "loss_after": change.after,
        "topics": [{**one._asdict(), "topic": names[one.topic]} for one in change.topics],
    }


def change_text(entry: dict[str, Any], loss: str) -> str:
    """Return what an entry says about a change; `loss` is the loss that rose."""
    name = loss.replace("_", " ")
    text = (
        f"{name} rose from {entry['loss_before']:.3f} to {entry['loss_after']:.3f}, from about "
        f"round {entry['began']:,} on (found at round {entry['round']:,}"
    )
    if entry["document"] is not None:
        text += f", document {printable(entry['document'], MOST_CHARACTERS)}"
    topics = ", ".join(printable(one["topic"], MOST_CHARACTERS) for one in entry["topics"])
    return f"{text})" + (f"; topics: {topics}" if topics else "")
