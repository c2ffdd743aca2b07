"""Snapshots as a person reads them, or a machine.

What a file says may have been written by anybody: on a terminal it is shown without what could
move the cursor or hide something, and at no more than some length.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from learners.options import Value
from pipeline.reports.report import RANK_COLUMNS, TOPIC_COLUMNS, TableColumn, aligned
from pipeline.snapshots.inspection import FEATURES, LOSSES, RANK_LOSSES, Inspection

MATCHED = (
    ("rounds", "rounds", False),
    ("waiting documents", "pending_documents", True),
    ("early labels", "early_labels", True),
    ("expired documents", "expired_documents", False),
    ("superseded", "superseded", False),
    ("unmatched labels", "unmatched_labels", False),
)
MOST_LETTERS, MOST_LETTERS_OF_A_PATH = 120, 4096
MOST_ROWS = 40
SCALES = [
    column for column in (*TOPIC_COLUMNS, *RANK_COLUMNS) if column[1] in (*LOSSES, *RANK_LOSSES)
]


def as_json(found: Sequence[Inspection], several: bool) -> str:
    """One object, or a list of them for a folder."""
    objects = [
        {
            "path": str(one.path).encode("utf-8", "backslashreplace").decode(),
            "good": one.good,
            "problem": one.problem,
            "size_bytes": one.size_bytes,
            "written": moment(one),
            **one.facts,
        }
        for one in found
    ]
    return orjson.dumps(objects if several else objects[0], option=orjson.OPT_INDENT_2).decode()


def listing(found: Sequence[Inspection]) -> str:
    """A line for each snapshot; below them, what is wrong with those that are damaged."""
    rows = [["snapshot", "position", "size", "age"]]
    rows += [
        [
            shown(str(one.path), MOST_LETTERS_OF_A_PATH),
            f"{one.facts['position']:,}" if one.good else "n.a.",
            size(one.size_bytes),
            age(one),
        ]
        for one in found
    ]
    notes = ["  state    lanes"]
    notes += [f"  good     {names(one)}" if one.good else "  damaged" for one in found]
    lines = [line + note for line, note in zip(aligned(rows).splitlines(), notes, strict=True)]
    return "\n".join(
        [*lines, *(shown(one.problem, MOST_LETTERS_OF_A_PATH) for one in found if one.problem)]
    )


def description(one: Inspection) -> str:
    """Everything that a good snapshot says of itself."""
    facts = one.facts
    parts = [
        "\n".join(f"{name:<18}{value}" for name, value in rows(one)),
        table(["source", "partition", "read up to"], coverage(facts), "partitions"),
        table(["lane", "", "rounds", *titles(facts), "model"], lanes(facts), "lanes"),
        "\n".join(
            f"{shown(name)} = {lane_options(lane)}" for name, lane in first(facts["lanes"].items())
        ),
        *(combined(*one) for one in first(facts["lanes"].items()) if "combines" in one[1]),
    ]
    return "\n\n".join(parts)


def combined(name: str, lane: dict[str, Any]) -> str:
    """What a stacker makes of the lanes that it combines."""
    rows = [
        [shown(other), *("n.a." if weight is None else f"{weight:.4g}" for weight in mine.values())]
        for other, mine in lane["combines"].items()
    ]
    by = "by these weights"
    if lane["follows"] is not None:
        by = f"as {shown(lane['follows'])}, which has done better than these weights"
    return (
        table([f"weights of {shown(name)}", *FEATURES], rows, "lanes")
        + f"\nit ranks {by}; documents kept to train on: {lane['documents_kept']:,}"
    )


def rows(one: Inspection) -> Iterator[tuple[str, str]]:
    """The numbers of a snapshot, by name."""
    facts, settings = one.facts, one.facts["settings"]
    yield "snapshot", f"{shown(str(one.path), MOST_LETTERS_OF_A_PATH)}: good"
    yield "written", f"{moment(one)}, {age(one)} ago; {size(one.size_bytes)}"
    yield "position", f"{facts['position']:,} of the log {shown(facts['log']) or 'n.a.'}"
    yield "documents", f"{facts['documents']:,}"
    yield "vocabulary terms", f"{facts['vocabulary_terms']:,} of {settings['max_terms']:,}"
    yield "topics", f"{facts['topics']:,} of {settings['max_topics']:,}"
    yield "topics refused", f"{facts['topics_refused']:,}"
    # Topics and ranks come as they like: each kind has its rounds and its waiting documents.
    ordinal = ["ranks" in lane["options"] for lane in facts["lanes"].values()]
    kinds = [*([facts] if not all(ordinal) else []), *([facts["ranks"]] if any(ordinal) else [])]
    for name, key, ceiling in MATCHED:
        said = " and ".join(f"{kind[key]:,}" for kind in kinds)
        yield name, said + (f" of {settings['max_pending']:,}" if ceiling else "")
    if len(kinds) == 1:  # otherwise what one kind of lanes cannot learn from, the other does
        yield "ignored labels", f"{kinds[0]['ignored_labels']:,}"
    said = ", ".join(f"{key}={value}" for key, value in settings.items())
    yield "settings", shown(said, 400)


def coverage(facts: dict[str, Any]) -> list[list[str]]:
    """How far the log had come in the sources."""
    return [
        [shown(entry["topic"]), f"{entry['partition']}", f"{entry['offset']:,}"]
        for entry in facts["coverage"]
    ]


def lanes(facts: dict[str, Any]) -> list[list[str]]:
    """How far the lanes had come, and how well."""
    found = []
    for name, lane in facts["lanes"].items():
        row = [shown(name), standing(lane), f"{lane['rounds']:,}"]
        for _, loss, scale, digits in columns(facts):
            value = lane.get(loss)
            row.append("n.a." if value is None else f"{value * scale:.{digits}f}")
        found.append([*row, size(lane["model_bytes"])])
    return found


def standing(lane: dict[str, Any]) -> str:
    """What a lane is there for."""
    if lane["helper"]:
        return "helper"
    return "published" if lane["published"] else "watched"


def columns(facts: dict[str, Any]) -> list[TableColumn]:
    """The columns of the losses that some lane has."""
    return [
        column for column in SCALES if any(column[1] in lane for lane in facts["lanes"].values())
    ]


def titles(facts: dict[str, Any]) -> list[str]:
    """What the columns of the losses are called."""
    return [title for title, *_ in columns(facts)]


def lane_options(lane: dict[str, Any]) -> str:
    """A lane's learner and all its options, as a spec says them."""
    options = ",".join(f"{key}={in_a_spec(value)}" for key, value in lane["options"].items())
    return shown(f"{lane['learner']}:{options}", 400)


def in_a_spec(value: Value) -> str:
    """An option's value as a spec has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def table(header: list[str], found: list[list[str]], what: str) -> str:
    """Rows below a header; of very many, the first."""
    more = f"\nand {len(found) - MOST_ROWS:,} {what} more; --json has them all"
    return aligned([header, *found[:MOST_ROWS]]) + (more if len(found) > MOST_ROWS else "")


def first(items: Any) -> list[Any]:  # noqa: ANN401 - whatever there are many of
    """As many as a table shows."""
    return list(items)[:MOST_ROWS]


def names(one: Inspection) -> str:
    """The lanes of a snapshot, without helpers."""
    lanes = one.facts["lanes"].items()
    return shown(", ".join(first(name for name, lane in lanes if not lane["helper"])))


def shown(text: str, most: int = MOST_LETTERS) -> str:
    """A text from outside, as far as it can be printed, in one line and not too long."""
    cut = text if len(text) <= most else text[:most] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def moment(one: Inspection) -> str | None:
    """When the file was written."""
    if one.written is None:
        return None
    return datetime.fromtimestamp(one.written, UTC).isoformat(timespec="seconds")


def age(one: Inspection) -> str:
    """How long ago that was, in whole units of the largest that fits twice."""
    if one.written is None:
        return "n.a."
    seconds = max(0.0, time.time() - one.written)
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{seconds:.0f} s"


def size(count: float | None) -> str:
    """A number of bytes."""
    if count is None:
        return "n.a."
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
