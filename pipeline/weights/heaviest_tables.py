"""Print heaviest weights: as tables for people, as JSON for programs.

Names of terms and topics come from documents, so they are printed without control characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from pipeline.printable import printable
from pipeline.reports.report import aligned
from pipeline.weights.heaviest import Heaviest, WeightedName

MAX_CHARACTERS = 60


def heaviest_json(asked: dict[str, str], entry: str, lanes: Sequence[Heaviest]) -> str:
    """Return a JSON object; `asked` is the topic or term, `entry` what each weight belongs to."""
    content = {**asked, "lanes": [lane_object(lane, entry) for lane in lanes]}
    return orjson.dumps(content, option=orjson.OPT_INDENT_2).decode()


def lane_object(lane: Heaviest, entry: str) -> dict[str, Any]:
    """Return the weights of one lane."""
    start: dict[str, Any] = {
        "lane": lane.lane,
        "learner": lane.learner,
        "file": lane.file.encode("utf-8", "backslashreplace").decode(),
        "reason": lane.reason,
    }
    if lane.reason:
        return start
    if lane.bias is not None:
        start["bias"] = lane.bias
    if lane.documents is not None:
        start["documents"] = lane.documents
    return {
        **start,
        "weights": lane.weights,
        "raising": [name_object(one, entry) for one in lane.raising],
        "lowering": [name_object(one, entry) for one in lane.lowering],
    }


def name_object(one: WeightedName, entry: str) -> dict[str, Any]:
    """Return a term or topic with its weight."""
    content: dict[str, Any] = {entry: one.name, "weight": one.weight}
    return content if one.documents is None else {**content, "documents": one.documents}


def heaviest_text(asked: dict[str, str], entry: str, lanes: Sequence[Heaviest]) -> str:
    """Return a table for each lane, and the reasons of lanes that have nothing to show."""
    ((kind, name),) = asked.items()
    parts = [
        lane_text(f"{kind} {shown(name)}", entry, lane) for lane in lanes if lane.reason is None
    ]
    reasons = [printable(lane.reason) for lane in lanes if lane.reason]
    return "\n\n".join([*parts, *(["\n".join(reasons)] if reasons else [])])


def lane_text(asked: str, entry: str, lane: Heaviest) -> str:
    """Return the table of one lane."""
    title = f"{asked}, lane {shown(lane.lane)}: {counted(lane.weights)}"
    if lane.documents is not None:
        title += f", in {lane.documents:,} texts"
    if lane.bias:
        title += f", bias {lane.bias:.4g}"
    if not lane.raising and not lane.lowering:
        return f"{title}\nno {entry} has a weight"
    texts = (
        ["texts"] if any(one.documents is not None for one in lane.raising + lane.lowering) else []
    )
    rows = [[f"{entry}s that raise the score", "weight", *texts]]
    rows += [cells(one) for one in lane.raising]
    if lane.lowering:
        rows += [["", *("" for _ in rows[0][1:])]]
        rows += [[f"{entry}s that lower the score", "weight", *texts]]
        rows += [cells(one) for one in lane.lowering]
    return f"{title}\n{aligned(rows)}"


def counted(weights: int) -> str:
    """Return how many weights there are."""
    return "1 weight" if weights == 1 else f"{weights:,} weights"


def cells(one: WeightedName) -> list[str]:
    """Return the cells of a row."""
    texts = [] if one.documents is None else [f"{one.documents:,}"]
    return [shown(one.name), f"{one.weight:.4g}", *texts]


def shown(name: str) -> str:
    """Return a name as it is printed."""
    return printable(name, MAX_CHARACTERS)
