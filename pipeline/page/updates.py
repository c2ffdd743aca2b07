"""Samples as JSON for the browser: everything at first, then only what is new."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from learners.measures import MEASURES
from pipeline.curves.confidence import CONFIDENCE, LossDifference
from pipeline.curves.rank_curve import WINDOW, value_of
from pipeline.page.decisions import decision_object
from pipeline.page.feed import LAST_DOCUMENTS
from pipeline.page.samples import LaneSample, Sample, ShownDocument, milliseconds
from pipeline.reports.lane_comparison import COLUMN_FORMATS, format_difference
from pipeline.reports.report import HIGHER_IS_BETTER, RANK_COLUMNS, columns_for, format_column

MEANINGS = {
    "loss1": "share of rankings with at least one wrong pair of topics, in percent",
    "loss2": "wrong pairs of topics per ranking",
    "loss3": "share of pairs of topics that are wrong, in percent",
    "one_error": "share of rankings whose first topic is not relevant, in percent",
    "coverage": "rank of the last relevant topic, counted from 0",
    "average_precision": "mean precision at the ranks of the relevant topics",
    "max_f1": "best F1 over all cut-off ranks",
    "r1": "share of rankings whose first topic is relevant and was retrieved, in percent",
    "r5": "share of rankings with a relevant topic among the first five, in percent",
    "mrr": "mean of 1 / rank of the best relevant topic",
    "ranking_loss": "distance between predicted and true rank",
    "miss_rate": "share of documents with a wrong predicted rank, in percent",
    "tau_b": "Kendall's tau-b of predicted and true ranks",
}
ALL_ROUNDS = ("loss1", "loss2", "loss3")  # averaged over all rounds, not only those with labels
RANK_CURVES = tuple(key for _, key, _, _ in RANK_COLUMNS)


def run_header(sample: Sample) -> dict[str, Any]:
    """Return the part that does not change while the lanes stay the same."""
    return {
        "source": sample.source,
        "counted": sample.counted,
        "last_documents": LAST_DOCUMENTS,
        "confidence": CONFIDENCE,
        "compared": [
            {
                "kind": group.kind,
                "lanes": group.lanes,
                "best_in": group.losses[0],  # the loss that decides which lane is best
                "titles": [COLUMN_FORMATS[loss][0] for loss in group.losses],
            }
            for group in sample.groups
            if len(group.lanes) > 1
        ],
        "measures": [
            {
                "key": key,
                "title": title,
                "meaning": MEANINGS[key],
                "scale": scale,
                "digits": digits,
                "higher": key in HIGHER_IS_BETTER,
                "curve": key in (*MEASURES, *RANK_CURVES),
                "window": WINDOW if key == "tau_b" else None,  # rounds that it covers; None: all
                "per": "round" if key in ALL_ROUNDS else "labelled",  # what it is averaged over
            }
            for title, key, scale, digits in columns_of(sample.lanes)
        ],
    }


def columns_of(lanes: Sequence[LaneSample]) -> tuple[tuple[str, str, int, int], ...]:
    """Return the columns of the table of lanes."""
    return columns_for(lane.learner for lane in lanes)


def update_since(sample: Sample, since: int) -> dict[str, Any]:
    """Return a sample, with only the points and documents that are newer than version `since`.

    The status is always complete: it is small and changes all the time.
    """
    return {
        "version": sample.version,
        "status": {
            "state": sample.state,
            "note": sample.note,
            "documents": sample.documents,
            "rounds": sample.rounds,
            "topics": sample.topics,
            "terms": sample.terms,
            "groups": [
                {
                    "kind": group.kind,
                    "rounds": group.rounds,
                    "waiting": group.waiting,
                    "unmatched": group.unmatched,
                }
                for group in sample.groups
            ],
            "stream_time": sample.stream_time,
            "stream_ms": milliseconds(sample.stream_time),
            "wall_ms": sample.wall_ms,
            "read": sample.progress.read,
            "total": sample.progress.total,
            "put_aside": sample.progress.put_aside,
            "behind": sample.progress.behind,
            "rate": sample.rate,
            "average_rate": sample.average_rate,
        },
        "lanes": [
            {
                "name": lane.name,
                "learner": lane.learner,
                "ranks": lane.ranks,
                "explains": lane.explains,
                "rounds": lane.rounds,
                "rounds_with_topics": lane.rounds_with_topics,
                "last": {measure: lane.values[measure] for measure in curves_of(lane)},
                "changes": [{"round": round_, "text": text} for round_, text in lane.changes],
                "curve": columns(lane, since),
            }
            for lane in sample.lanes
        ],
        "table": table(sample.lanes),
        "against": against(sample),
        "decisions": [decision_object(one) for one in sample.decisions],
        "documents": [document(shown) for shown in sample.last_documents if shown.stamp > since],
    }


def table(lanes: Sequence[LaneSample]) -> list[list[tuple[str, bool]]]:
    """Return the table of lanes as the report prints it: per cell the text, and if it is best."""
    shown = (
        format_column([lane.values.get(key) for lane in lanes], key, scale, digits)
        for _, key, scale, digits in columns_of(lanes)
    )
    return [list(row) for row in zip(*shown, strict=True)]


def against(sample: Sample) -> list[list[dict[str, Any]]]:
    """Return, for each lane, the differences in loss to each other lane of its kind."""
    lanes = range(len(sample.lanes))
    rows: list[list[dict[str, Any]]] = [[] for _ in lanes]
    for one in lanes:
        for other in lanes[one + 1 :]:
            found = sample.differences.between(one, other)
            if not found:
                continue  # lanes of different kinds cannot be compared
            turned = {loss: difference.turned() for loss, difference in found.items()}
            rows[one].append(compared(other, found))
            rows[other].append(compared(one, turned))
    return rows


def compared(other: int, found: dict[str, LossDifference]) -> dict[str, Any]:
    """Return the differences to one other lane: texts, whether better, whether worse."""
    return {
        "other": other,
        "rounds": min(difference.rounds for difference in found.values()),
        "losses": [
            (format_difference(loss, d), d.high < 0, d.low > 0) for loss, d in found.items()
        ],
    }


def curves_of(lane: LaneSample) -> Sequence[str]:
    """Return the measures of a lane that have a curve."""
    return lane.measures if lane.ranks is None else RANK_CURVES


def columns(lane: LaneSample, since: int) -> dict[str, list[float | None]]:
    """Return the points of a curve that are newer than version `since`, column by column."""
    new = lane.points[bisect_right(lane.points, since, key=lambda point: point.stamp) :]
    return {
        "round": [point.round for point in new],
        "labelled": [point.labelled for point in new],
        "document_ms": [point.document_ms for point in new],
        "wall_ms": [point.wall_ms for point in new],
        **{
            measure: [value_of(point.values, measure) for point in new]
            for measure in curves_of(lane)
        },
    }


def document(shown: ShownDocument) -> dict[str, Any]:
    """Return one of the last documents, with its ranking by every lane."""
    explained = shown.explained
    return {
        "number": explained.number,
        "id": str(explained.document.id),
        "time": explained.document.time,
        "rounds": explained.rounds,
        "terms": explained.terms,
        "true": shown.true,
        "untold": shown.untold,
        "rank": shown.rank,
        "rankings": explained.rankings,
        "decisions": [decided and decided._asdict() for decided in shown.decisions],
    }
