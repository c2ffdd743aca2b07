"""The results of a run: the report, the curves as CSV, and the table of lanes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from learners.decisions.reordering import HEAD
from learners.scores import LabelKind
from learners.specs import LEARNERS
from pipeline.curves.confidence import CONFIDENCE
from pipeline.curves.recent import recent_points, recent_values
from pipeline.engine.engine import Engine
from pipeline.engine.lane import Lane
from pipeline.printable import printable
from pipeline.reports.decision_report import decision_report, topic_rows, unused_topics
from pipeline.reports.lane_changes import change_entries
from pipeline.storage.output_files import write_whole

Report = dict[str, dict[str, Any]]


def make_report(
    engine: Engine,
    seconds: float,
    dead_letters: int,
    settings: dict[str, Any],
    learned: int | None = None,
) -> Report:
    """Return the report: all measures by lane; numbers that do not exist are None.

    Each lane has the `settings` of the run, so that a report says what was run. `learned` are the
    documents of these `seconds`, if others came before: those of the model that a run resumed.
    """
    speed = (engine.documents if learned is None else learned) / seconds if seconds > 0 else None
    report = {}
    for number, lane in enumerate(engine.lanes):
        options = {o.name: getattr(lane.learner, o.name) for o in lane.learner.options}
        own = {"learner": lane.spec.learner, "norm": lane.spec.norm, "options": options}
        measured = lane_report(engine, lane, seconds, speed, dead_letters)
        against = {"against": differences_to_others(engine, number), "confidence": CONFIDENCE}
        report[lane.name] = {**measured, **against, "settings": {**settings, **own}}
    return report


def differences_to_others(engine: Engine, number: int) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the differences in loss to each other lane; `better` names the better lane."""
    against: dict[str, dict[str, dict[str, Any]]] = {}
    lane = engine.lanes[number]
    for place, other in enumerate(engine.lanes):
        if place == number:
            continue
        against[other.name] = {}
        for loss, difference in engine.differences.between(number, place).items():
            low, high = difference.low, difference.high
            better = lane.name if high < 0 else other.name if low > 0 else None
            against[other.name][loss] = {
                "rounds": difference.rounds,
                "difference": difference.mean,
                "low": low,
                "high": high,
                "better": better,
            }
    return against


def lane_report(
    engine: Engine, lane: Lane, seconds: float, speed: float | None, dead_letters: int
) -> dict[str, Any]:
    """Return the measures of one lane over the whole run, with counts, times and sizes."""
    curve, pending = lane.curve, engine.group_of(lane).pending
    return {
        "rounds": curve.rounds,
        "rounds_with_topics": curve.rounds_with_topics,
        "documents": engine.documents,
        **curve.last().values,
        **curve.derived(),
        **decision_report(engine, lane),
        "recent": recent_values(curve),
        **change_entries(engine, lane),
        "documents_per_second": speed,
        "seconds": seconds,
        "learner_seconds": lane.seconds,
        "model_bytes": lane.size_bytes(),
        **lane.learner.sizes(),
        "topics": len(engine.topics),
        "topics_refused": engine.topics.refused,
        "vocabulary_terms": len(engine.vocabulary),
        "terms_refused": engine.vocabulary.refused,
        "pending_documents": len(pending.documents),
        "expired_documents": pending.expired_documents,
        "superseded_documents": pending.superseded,
        "unmatched_labels": pending.labels_without_document,
        **({"ranks_refused": engine.rank_labels.refused} if lane.is_ordinal else {}),
        "ignored_labels": engine.ignored_labels,
        "dead_letters": dead_letters,
        **curve.graph(),
    }


def write_report(path: Path, report: Report) -> None:
    """Write the report as JSON."""
    write_whole(path, orjson.dumps(report, option=orjson.OPT_INDENT_2) + b"\n")


def write_curves(path: Path, lanes: Iterable[Lane]) -> None:
    """Write the curves as CSV: a row per lane, round and measure that exists.

    `recent` is the average over the last eighth of the rounds; it is empty where none exists.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("lane", "round", "loss", "value", "recent"))
    for lane in lanes:
        points = zip(lane.curve.all_points(), recent_points(lane.curve), strict=True)
        for point, recent in points:
            for measure, value in point.values.items():
                if value is not None:
                    last = recent.values[measure]
                    shown = "" if last is None else repr(last)
                    writer.writerow((lane.name, point.round, measure, repr(value), shown))
        for decided, lately in lane.decision_curve.with_recent() if lane.decision_curve else ():
            for measure, value in decided.values.items():
                if value is not None:
                    last = lately.values[measure]
                    shown = "" if last is None else repr(last)
                    writer.writerow((lane.name, decided.round, measure, repr(value), shown))
    write_whole(path, file.getvalue().encode())


TOPIC_COLUMNS = (
    ("loss1 %", "loss1", 100, 2),
    ("loss2", "loss2", 1, 3),
    ("loss3 %", "loss3", 100, 3),
    ("OneErr %", "one_error", 100, 2),
    ("Coverage", "coverage", 1, 3),
    ("AvgP", "average_precision", 1, 4),
    ("maxF1", "max_f1", 1, 4),
)
# With many topics, what counts is whether the best relevant topic was retrieved, and its rank.
RETRIEVAL_COLUMNS = (("R1 %", "r1", 100, 2), ("R5 %", "r5", 100, 2), ("MRR", "mrr", 1, 4))
# Of lanes that assign topics. ECE is the expected calibration error of the probabilities.
SET_COLUMNS = (
    ("micro F1", "micro_f1", 1, 4),
    ("macro F1", "macro_f1", 1, 4),
    ("mean F1", "sample_f1", 1, 4),
    ("precision", "set_precision", 1, 4),
    ("recall", "set_recall", 1, 4),
    ("ECE", "calibration_error", 1, 4),
)
RANK_COLUMNS = (
    ("rank loss", "ranking_loss", 1, 4),
    ("miss %", "miss_rate", 100, 2),
    ("tau-b", "tau_b", 1, 4),
)
HIGHER_IS_BETTER = frozenset(
    {"average_precision", "max_f1", "r1", "r5", "mrr", "tau_b"}
    | {"micro_f1", "macro_f1", "sample_f1", "set_precision", "set_recall"}
)
TableColumn = tuple[str, str, int, int]  # title, key, factor, digits


def report_columns(report: Report) -> tuple[TableColumn, ...]:
    """Return the columns of the table of a report."""
    return columns_for(lane["settings"]["learner"] for lane in report.values())


def columns_for(learners: Iterable[str]) -> tuple[TableColumn, ...]:
    """Return the columns of a table with lanes of these learners."""
    kinds = [LEARNERS[learner] for learner in learners]
    ordinal = [kind.label_kind() is LabelKind.RANKS for kind in kinds]
    return (
        *(TOPIC_COLUMNS if not all(ordinal) or not kinds else ()),
        *(RETRIEVAL_COLUMNS if any(kind.scores_class.is_sparse for kind in kinds) else ()),
        *(RANK_COLUMNS if any(ordinal) else ()),
    )


def lane_table(report: Report) -> str:
    """Return the table of lanes, as papers print it; a star marks the best of each column."""
    header = ["lane", "rounds "]
    rows = [[name, f"{lane['rounds']:,} "] for name, lane in report.items()]
    if any(lane["rounds"] != lane["rounds_with_topics"] for lane in report.values()):
        header.append("with topics ")  # measures are averaged over these rounds, losses over all
        for row, lane in zip(rows, report.values(), strict=True):
            of_topics = label_kind(lane) == TOPICS
            row.append(f"{lane['rounds_with_topics']:,} " if of_topics else "n.a. ")
    return table_with(header, rows, report, report_columns(report))


def assigning_lanes(report: Report) -> Report:
    """Return the lanes that assign topics."""
    return {name: lane for name, lane in report.items() if "decisions" in lane}


def order_notes(report: Report) -> Iterator[str]:
    """Yield a line for each lane that does not rank all topics by score."""
    for name, lane in assigning_lanes(report).items():
        if lane["decisions"]["order"] == "probability":
            is_sparse = LEARNERS[lane["settings"]["learner"]].scores_class.is_sparse
            which = f"the first {HEAD} topics" + (" that it retrieves" if is_sparse else "")
            yield f"{name} ranks {which} by probability, not by score"


def set_table(report: Report) -> str:
    """Return the table of the sets that lanes assigned; nothing if no lane assigns topics."""
    assigning = assigning_lanes(report)
    rows = [[name, f"{lane['decisions']['assign']} "] for name, lane in assigning.items()]
    return table_with(["sets of", "goal "], rows, assigning, SET_COLUMNS) if assigning else ""


def table_with(
    header: list[str], rows: list[list[str]], report: Report, columns: Iterable[TableColumn]
) -> str:
    """Return a table of lanes: the given first columns, then measures; a star marks the best."""
    for title, key, scale, digits in columns:
        header.append(f"{title} ")
        shown = format_column([lane.get(key) for lane in report.values()], key, scale, digits)
        for row, (text, best) in zip(rows, shown, strict=True):
            row.append(text + ("*" if best else " "))
    return aligned([header, *rows], gap=1)


def topic_tables(report: Report) -> Iterator[str]:
    """Yield a table of the worst topics of each lane that assigns topics."""
    for name, lane in assigning_lanes(report).items():
        rows = list(topic_rows(lane["decisions"]))
        if len(rows) > 1:
            unused = unused_topics(lane["decisions"])
            yield f"topics that {name} knows least{unused}:\n{aligned(rows)}"


def format_column(
    values: Sequence[float | None], key: str, scale: float, digits: int
) -> Iterator[tuple[str, bool]]:
    """Yield the texts of one column, each with whether it is the best value."""
    existing = [value for value in values if value is not None]
    extreme = max if key in HIGHER_IS_BETTER else min
    best = extreme(existing) if len(existing) > 1 else None
    for value in values:
        text = "n.a." if value is None else f"{value * scale:.{digits}f}"
        yield text, value is not None and value == best


def run_totals(report: Report) -> str:
    """Return a line with the numbers of documents, rounds, topics and terms, and the speed."""
    lane = next(iter(report.values()))
    keys = ["documents", "rounds", "topics", "vocabulary_terms"]
    if all(label_kind(lane) == RANK for lane in report.values()):
        keys.remove("topics")
    shown = "   ".join(f"{key.removeprefix('vocabulary_')} {lane[key]:,}" for key in keys)
    return f"{shown}   documents/s {lane['documents_per_second'] or 0:,.0f}"


NOTES = {
    "pending_documents": "documents without labels yet",
    "expired_documents": "documents that expired before their labels came (--max-pending)",
    "superseded_documents": "unlabelled documents superseded by a newer document with the same id",
    "unmatched_labels": "late labels without a document",
    "ignored_labels": "late labels with only {other}, which no lane learns",
    "ranks_refused": "ranks above the highest rank of the lanes, which are not learned",
}
STREAM_NOTES = {
    "topics_refused": "topics of labels refused because --max-topics was reached",
    "terms_refused": "terms that did not fit into the vocabulary (--max-terms)",
}
TOPICS, RANK = "topics", "rank"


def label_kind(lane: dict[str, Any]) -> str:
    """Return the kind of label that a lane learns, by its name in events."""
    kind = LEARNERS[lane["settings"]["learner"]]
    return RANK if kind.label_kind() is LabelKind.RANKS else TOPICS


def run_notes(report: Report) -> Iterator[str]:
    """Yield notes on documents and labels that were not used, and on lanes that did not start."""
    kinds: dict[str, dict[str, Any]] = {}
    for lane in report.values():  # lanes of one kind have the same rounds
        kinds.setdefault(label_kind(lane), lane)
    for kind, lane in kinds.items():
        which = "" if len(kinds) == 1 else f" ({kind})"
        if lane["documents"] and not lane["rounds"]:
            yield (
                f"nothing was learned{which}: no document has `{kind}`, and no late label matched "
                "a document"
            )
        for key, note in NOTES.items():
            if lane.get(key):
                text = note.format(other="a rank" if kind == TOPICS else "topics")
                yield f"{text}{which if key != 'ranks_refused' else ''}: {lane[key]:,}"
    for key, note in STREAM_NOTES.items():
        if lane[key]:
            yield f"{note}: {lane[key]:,}"
    for name, lane in report.items():
        refresh = lane["settings"]["options"].get("refresh", 0)
        if 0 < lane["rounds"] < refresh:
            yield (
                f"{name} has no prototypes yet: it computes them every {refresh:,} rounds (refresh)"
            )


def aligned(rows: Sequence[Sequence[str]], gap: int = 2) -> str:
    """Return rows as text with aligned columns: the first flush left, the others flush right."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for first, *cells in rows:
        rest = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append((" " * gap).join((first.ljust(widths[0]), *rest)).rstrip())
    return "\n".join(lines)
