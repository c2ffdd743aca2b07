"""Print inspections of snapshots: as tables for people, as JSON for programs.

The content of a file may come from anybody. So text from a file is printed without control
characters, which could move the cursor or hide something, and is cut to a limited length.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from learners.options import Value
from pipeline.printable import printable as escaped
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
MAX_CHARACTERS, MAX_PATH_CHARACTERS = 120, 4096
MAX_ROWS = 40
SCALES = [
    column for column in (*TOPIC_COLUMNS, *RANK_COLUMNS) if column[1] in (*LOSSES, *RANK_LOSSES)
]


def as_json(inspections: Sequence[Inspection], several: bool) -> str:
    """Return one JSON object, or a list of objects if there are `several`."""
    objects = [
        {
            "path": str(one.path).encode("utf-8", "backslashreplace").decode(),
            "good": one.good,
            "problem": one.problem,
            "size_bytes": one.size_bytes,
            "written": moment(one),
            **one.facts,
        }
        for one in inspections
    ]
    return orjson.dumps(objects if several else objects[0], option=orjson.OPT_INDENT_2).decode()


def listing(inspections: Sequence[Inspection]) -> str:
    """Return one line per snapshot, then the problems of the damaged ones."""
    rows = [["snapshot", "position", "size", "age"]]
    rows += [
        [
            printable(str(one.path), MAX_PATH_CHARACTERS),
            f"{one.facts['position']:,}" if one.good else "n.a.",
            size(one.size_bytes),
            age(one),
        ]
        for one in inspections
    ]
    notes = ["  state    lanes"]
    notes += [f"  good     {names(one)}" if one.good else "  damaged" for one in inspections]
    lines = [line + note for line, note in zip(aligned(rows).splitlines(), notes, strict=True)]
    return "\n".join(
        [
            *lines,
            *(printable(one.problem, MAX_PATH_CHARACTERS) for one in inspections if one.problem),
        ]
    )


def description(one: Inspection) -> str:
    """Return all facts about a valid snapshot."""
    facts = one.facts
    parts = [
        "\n".join(f"{name:<18}{value}" for name, value in rows(one)),
        *(
            [table(["source", "partition", "read up to"], coverage(facts), "partitions")]
            if facts["model"] is None or facts["backup"] is not None
            else []
        ),
        table(["lane", "", "rounds", *titles(facts), "model"], lanes(facts), "lanes"),
        "\n".join(
            f"{printable(name)} = {lane_options(lane)}"
            for name, lane in first(facts["lanes"].items())
        ),
        *(
            combined(name, lane)
            for name, lane in first(facts["lanes"].items())
            if "combines" in lane
        ),
    ]
    return "\n\n".join(parts)


def combined(name: str, lane: dict[str, Any]) -> str:
    """Return the weights that a stacker gives to the lanes that it combines."""
    rows = [
        [
            printable(other),
            *("n.a." if weight is None else f"{weight:.4g}" for weight in weights.values()),
        ]
        for other, weights in lane["combines"].items()
    ]
    by = {
        "lane": f"as {printable(lane['follows'] or '')}, which has done better than all blends",
        "blend": "by a blend of its lanes without these weights, which has done better",
        "weights": "by these weights and its best lane",
    }.get(lane["ranks_by"], "as its first lane until labels come")
    return (
        table([f"weights of {printable(name)}", *FEATURES], rows, "lanes")
        + f"\nit ranks {by}; training documents kept: {lane['documents_kept']:,}"
    )


def rows(one: Inspection) -> Iterator[tuple[str, str]]:
    """Yield the facts about a snapshot as pairs of name and value."""
    facts, settings = one.facts, one.facts["settings"]
    yield "snapshot", f"{printable(str(one.path), MAX_PATH_CHARACTERS)}: good"
    yield "written", f"{moment(one)}, {age(one)} ago; {size(one.size_bytes)}"
    if facts["model"] is None:
        yield "position", f"{facts['position']:,} of the log {printable(facts['log']) or 'n.a.'}"
    elif facts["backup"] is not None:
        yield from backup_rows(facts["backup"], facts["model"])
    else:
        yield from model_rows(facts["model"])
    yield "documents", f"{facts['documents']:,}"
    yield "vocabulary terms", f"{facts['vocabulary_terms']:,} of {settings['max_terms']:,}"
    yield "topics", f"{facts['topics']:,} of {settings['max_topics']:,}"
    yield "topics refused", f"{facts['topics_refused']:,}"
    # Topic lanes and ordinal lanes each have their own rounds and pending documents.
    ordinal = ["ranks" in lane["options"] for lane in facts["lanes"].values()]
    groups = [*([facts] if not all(ordinal) else []), *([facts["ranks"]] if any(ordinal) else [])]
    for name, key, limited in MATCHED:
        counts = " and ".join(f"{group[key]:,}" for group in groups)
        yield name, counts + (f" of {settings['max_pending']:,}" if limited else "")
    if len(groups) == 1:  # with both groups no label is ignored: one of them learns it
        yield "ignored labels", f"{groups[0]['ignored_labels']:,}"
    yield "settings", printable(", ".join(f"{key}={value}" for key, value in settings.items()), 400)


def model_rows(model: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the facts that only the model of a replay has."""
    yield "model of", f"a replay, saved by Wirerank {printable(model['release'])}"
    yield "events read", f"{model['events_read']:,} of its source"
    yield "events", f"format={printable(model['format'])}, profile={printable(model['profile'])}"
    yield "dead letters", f"{model['dead_letters']:,}"


def backup_rows(backup: dict[str, Any], model: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the facts that only the backup of a stream has."""
    release = printable(model["release"])
    yield "backup of", f"stream {printable(backup['stream'])}, made by Wirerank {release}"
    yield "made at", printable(backup["made"])
    log = f"{printable(backup['log_topic'])} ({printable(backup['log'])})"
    yield "position", f"{backup['position']:,} of the log {log}"
    yield "events", f"profile={printable(model['profile'])}"


def coverage(facts: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table of source partitions."""
    return [
        [printable(entry["topic"]), f"{entry['partition']}", f"{entry['offset']:,}"]
        for entry in facts["coverage"]
    ]


def lanes(facts: dict[str, Any]) -> list[list[str]]:
    """Return the rows of the table of lanes."""
    table_rows = []
    for name, lane in facts["lanes"].items():
        row = [printable(name), standing(lane), f"{lane['rounds']:,}"]
        for _, loss, scale, digits in columns(facts):
            value = lane.get(loss)
            row.append("n.a." if value is None else f"{value * scale:.{digits}f}")
        table_rows.append([*row, size(lane["model_bytes"])])
    return table_rows


def standing(lane: dict[str, Any]) -> str:
    """Return how a lane is used: published, watched, or only a helper of another lane."""
    if lane["helper"]:
        return "helper"
    if lane["published"] is None:  # in a model
        return ""
    return "published" if lane["published"] else "watched"


def columns(facts: dict[str, Any]) -> list[TableColumn]:
    """Return the columns of the losses that at least one lane has."""
    return [
        column for column in SCALES if any(column[1] in lane for lane in facts["lanes"].values())
    ]


def titles(facts: dict[str, Any]) -> list[str]:
    """Return the titles of the loss columns."""
    return [title for title, *_ in columns(facts)]


def lane_options(lane: dict[str, Any]) -> str:
    """Return a lane's learner and all its options in the notation of a spec."""
    options = ",".join(f"{key}={in_a_spec(value)}" for key, value in lane["options"].items())
    return printable(f"{lane['learner']}:{options}", 400)


def in_a_spec(value: Value) -> str:
    """Return the value of an option in the notation of a spec."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def table(header: list[str], rows: list[list[str]], noun: str) -> str:
    """Return a header and at most `MAX_ROWS` rows below it; `noun` names the rows."""
    more = f"\nand {len(rows) - MAX_ROWS:,} more {noun}; --json shows all of them"
    return aligned([header, *rows[:MAX_ROWS]]) + (more if len(rows) > MAX_ROWS else "")


def first(items: Any) -> list[Any]:  # noqa: ANN401 - any iterable
    """Return the first `MAX_ROWS` items."""
    return list(items)[:MAX_ROWS]


def names(one: Inspection) -> str:
    """Return the names of a snapshot's lanes, without helpers."""
    lanes = one.facts["lanes"].items()
    return printable(", ".join(first(name for name, lane in lanes if not lane["helper"])))


def printable(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Return a text in one line, with control characters escaped, of limited length."""
    return escaped(text, max_characters)


def moment(one: Inspection) -> str | None:
    """Return when the file was written."""
    if one.written is None:
        return None
    return datetime.fromtimestamp(one.written, UTC).isoformat(timespec="seconds")


def age(one: Inspection) -> str:
    """Return the age of the file, in the largest unit of which it has at least two."""
    if one.written is None:
        return "n.a."
    seconds = max(0.0, time.time() - one.written)
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{seconds:.0f} s"


def size(count: float | None) -> str:
    """Return a number of bytes with a unit."""
    if count is None:
        return "n.a."
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
