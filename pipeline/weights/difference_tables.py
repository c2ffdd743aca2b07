"""Print the difference of two models as tables.

Names come from documents and files of anybody, so they are printed without control characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.printable import printable
from pipeline.reports.report import RANK_COLUMNS, TOPIC_COLUMNS, aligned
from pipeline.snapshots.inspection import LOSSES, RANK_LOSSES

MAX_CHARACTERS = 60
TITLES = {
    "documents": "documents",
    "rounds": "rounds",
    "rank_rounds": "rounds with ranks",
    "vocabulary_terms": "vocabulary terms",
    "topics": "topics",
}
SCALES = [
    column for column in (*TOPIC_COLUMNS, *RANK_COLUMNS) if column[1] in (*LOSSES, *RANK_LOSSES)
]


def difference_text(difference: dict[str, Any]) -> str:
    """Return the difference of two models for people."""
    parts = [
        f"A  {printable(difference['a'])}\nB  {printable(difference['b'])}",
        aligned(count_rows(difference["counts"])),
        "\n".join(name_lines(difference)),
        "\n".join(setting_lines(difference["settings"])),
        *(lane_text(name, lane) for name, lane in difference["lanes"].items()),
        "\n".join(other_lanes(difference)),
    ]
    return "\n\n".join(part for part in parts if part)


def count_rows(counts: dict[str, list[int | None]]) -> list[list[str]]:
    """Return the table of counts."""
    rows = [["", "A", "B", "change"]]
    for key, (a, b) in counts.items():
        change = "n.a." if a is None or b is None else f"{b - a:+,}"
        rows.append([TITLES[key], number(a), number(b), change])
    return rows


def number(value: int | None) -> str:
    """Return a count."""
    return "n.a." if value is None else f"{value:,}"


def name_lines(difference: dict[str, Any]) -> Iterator[str]:
    """Yield the topics and terms that only one of the models has."""
    for kind in ("topics", "terms"):
        for change in ("added", "removed"):
            names = difference[kind][change]
            yield f"{kind} {change}: {listed(names['first'], names['count'])}"


def listed(names: Sequence[str], count: int) -> str:
    """Return names and how many more there are."""
    if not count:
        return "none"
    more = f" and {count - len(names):,} more" if count > len(names) else ""
    return ", ".join(map(shown, names)) + more


def setting_lines(settings: dict[str, list[Any]]) -> Iterator[str]:
    """Yield the settings that differ."""
    for key, (a, b) in settings.items():
        yield f"setting {printable(key)}: {value(a)} in A, {value(b)} in B"


def value(setting: object) -> str:
    """Return the value of a setting."""
    return "none" if setting is None else printable(str(setting), MAX_CHARACTERS)


def lane_text(name: str, lane: dict[str, Any]) -> str:
    """Return what changed in a lane that both models have."""
    a, b = lane["rounds"]
    rows = [[f"lane {shown(name)}", "A", "B", "change"]]
    rows.append(["rounds", number(a), number(b), f"{b - a:+,}"])
    for title, key, scale, digits in SCALES:
        if key in lane:
            rows.append([title, *losses(lane[key], scale, digits)])
    lines = [aligned(rows), *setting_lines(lane["options"])]
    weights = lane["weights"]
    if weights["reason"] is not None:
        return "\n".join([*lines, f"weights are not compared: {printable(weights['reason'])}"])
    lines.append(f"weights moved in {weights['moved']:,} of {weights['topics']:,} shared topics")
    if weights["moved_most"]:
        moved = [["moved most", "distance", "length in A", "length in B"]]
        moved += [
            [shown(one["topic"]), *(f"{n:.4g}" for n in (one["distance"], *one["norm"]))]
            for one in weights["moved_most"]
        ]
        lines.append(aligned(moved))
    return "\n".join(lines)


def losses(pair: list[float | None], scale: int, digits: int) -> list[str]:
    """Return an average loss in both models, and the change."""
    a, b = pair
    cells = ["n.a." if loss is None else f"{loss * scale:.{digits}f}" for loss in pair]
    change = "n.a." if a is None or b is None else f"{(b - a) * scale:+.{digits}f}"
    return [*cells, change]


def other_lanes(difference: dict[str, Any]) -> Iterator[str]:
    """Yield the lanes that only one of the models has."""
    for key, where in (("only_in_a", "A"), ("only_in_b", "B")):
        if difference[key]:
            yield f"lanes only in {where}, not compared: {', '.join(map(shown, difference[key]))}"


def shown(name: str) -> str:
    """Return a name as it is printed."""
    return printable(name, MAX_CHARACTERS)
