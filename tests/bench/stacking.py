"""What the stacker gains over its best lane, on any sources: one row per source and set of lanes.

    python -m tests.bench.stacking reuters21578:PATH newsgroups:PATH events.jsonl
    python -m tests.bench.stacking --unlabelled 0.3 events.jsonl

All lanes follow each source once, with one stacker per set. The best lane is another one for each
measure. Values are averaged over the whole stream. With `--unlabelled`, the last documents are
ranked without their labels, and only these are measured. Topics that are not known by then are left
out. The best lane is then the best one on the same documents, so it is known only in hindsight.

A second table has one row per source. A cell is how much more AvgP and Coverage the stacker has
than the best lane of each; `!` stands where it is behind by more than it should be.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from learners.measures import MEASURES as ALL_MEASURES
from learners.scores import Scores
from learners.segment import Steps
from learners.specs import parse_spec, resolved
from pipeline.corpora import open_source
from pipeline.curves.topic_curve import TopicCurve
from pipeline.engine.engine import Engine
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.log.block import Block, Entry
from pipeline.log.block_reader import BlockReader
from pipeline.text.tokenizer import Tokenizer

LANES = {
    "A": "mmp:loss=1,margin=0.5,norm=l2,name=A",
    "B": "mmp:loss=3,margin=0.5,norm=l2,name=B",
    "arow": "arow",
    "feature-focus": "feature-focus",
    "perceptron": "perceptron",
    "rocchio": "rocchio",
    "frequency": "frequency",
    "m1": "mmp:loss=1,name=m1",
    "m2": "mmp:loss=2,name=m2",
    "m3": "mmp:loss=3,name=m3",
    "soft-arow": "soft-arow",
    "smooth": "soft-arow:rho=3,smooth=0.1,name=smooth",
    "ordered": "soft-arow:assign=micro,order=probability,name=ordered",
}
SETS = (
    ("m1", "m2", "m3", "perceptron"),
    ("perceptron", "rocchio"),
    ("A", "arow"),
    ("arow", "frequency"),
    ("A", "B", "arow", "feature-focus"),
    ("A", "B", "arow", "feature-focus", "perceptron", "rocchio"),
    ("m1", "m2", "m3", "perceptron", "arow"),
    ("soft-arow", "m1", "perceptron"),
    ("soft-arow", "smooth"),
    ("ordered", "m1", "perceptron"),
)
HIGHER = "average_precision"
MEASURES = (HIGHER, "coverage", "one_error", "loss1", "loss3")
IN_PERCENT = ("coverage", "loss3")  # differences are shown as a share of the best lane's value
PROMISED = {HIGHER: 0.002, "coverage": 0.02}  # how far the stacker may be behind, at most
CERTAIN = 2.0  # standard errors


Summary = dict[str, list[str]]  # per source: a cell per set of lanes


class Lag(NamedTuple):
    """How far the stacker is behind the best lane of a measure; below 0: it is ahead."""

    mean: float  # as a share for the measures of `IN_PERCENT`
    error: float  # standard error of this mean over the documents


def new_engine(topics: Sequence[str]) -> Engine:
    """An engine with all lanes and one stacker per set; the set is the name of its stacker."""
    stackers = [f"svm-map:of=[{','.join(lanes)}],name={' '.join(lanes)}" for lanes in SETS]
    return Engine(resolved([parse_spec(lane) for lane in (*LANES.values(), *stackers)]), topics)


def run(source: str) -> dict[str, dict[str, float]]:
    """Return the measures of all lanes and stackers over the whole stream."""
    opened = open_source(source)
    engine = new_engine(opened.topics)
    for reading in BlockReader(opened, Tokenizer(), 256):
        for _ in engine.process(reading.block):
            pass
    values = {lane.name: lane.curve.last().values for lane in engine.lanes}
    return {
        name: {measure: of_lane[measure] or 0.0 for measure in MEASURES}
        for name, of_lane in values.items()
    }


def run_held_out(source: str, unlabelled: float) -> dict[str, dict[str, Floats]]:
    """Return the measures of all lanes and stackers for each document of the last part."""
    opened = open_source(source)
    blocks = [reading.block for reading in BlockReader(opened, Tokenizer(), 256)]
    labelled = sum(bool(entry.topics) for block in blocks for entry in block.entries)
    left = labelled - int(unlabelled * labelled)  # labelled documents that are still to be learned
    engine = new_engine(opened.topics)
    found: dict[str, list[Floats]] = {lane.name: [] for lane in engine.lanes}
    for block in blocks:
        entries, held_out = [], []
        for entry in block.entries:
            held_out.append(entry if left == 0 else entry._replace(topics=None))
            entries.append(entry if left > 0 else entry._replace(topics=None))
            left -= left > 0 and bool(entry.topics)
        for segment in engine.process(Block(entries, block.counts, block.ready)):
            steps = steps_of(held_out[: len(segment.documents)], segment, engine.topics.names)
            del held_out[: len(segment.documents)]
            for number, (lane, scores) in enumerate(zip(engine.lanes, segment.scores, strict=True)):
                made = segment.decisions_of(number)
                places = lane.places(steps, scores, made)
                measured = TopicCurve().follow(steps, Scores.expect(scores), places)
                found[lane.name].append(measured)
    return {
        name: {
            measure: np.concatenate(parts)[:, ALL_MEASURES.index(measure)] for measure in MEASURES
        }
        for name, parts in found.items()
    }


def steps_of(held_out: Sequence[Entry], segment: RankedSegment, names: Sequence[str]) -> Steps:
    """One learning step per held-out document of a segment, with its labels that are known."""
    number = {topic: i for i, topic in enumerate(names)}
    rows, known, labels = [], [], []
    for row, entry in enumerate(held_out):
        topics = int(segment.known_topics[row])
        given = [number[topic] for topic in entry.topics or () if topic in number]
        if 0 < len(given) < topics:
            rows.append(row)
            known.append(topics)
            labels.append(given)
    topics_known = np.array(known, np.int32)
    return Steps(
        np.array(rows, np.int32),
        np.ones(len(rows), np.bool_),
        topics_known,
        np.cumsum([0, *map(len, labels)]),
        np.array([label for given in labels for label in given], np.int32),
        topics_known,
    )


def cells(stacker: dict[str, float], lanes: Sequence[dict[str, float]]) -> list[str]:
    """Return the best lane's value and the stacker's difference to it, for each measure."""
    shown = []
    for measure in MEASURES:
        values = [lane[measure] for lane in lanes]
        best = max(values) if measure == HIGHER else min(values)
        more = stacker[measure] - best
        if measure in IN_PERCENT:
            share = f"{100.0 * more / best:+.1f} %" if best else "n.a."
            shown += [f"{best:.4g}", share]
        else:
            shown += [f"{best:.4f}", f"{more:+.4f}"]
    return shown


def lag(measure: str, stacker: Floats, lanes: Sequence[Floats]) -> Lag:
    """How far the stacker is behind the lane that is best by this measure."""
    sign = -1.0 if measure == HIGHER else 1.0
    best = min(lanes, key=lambda lane: sign * float(lane.mean()))
    unit = float(best.mean()) if measure in IN_PERCENT else 1.0
    behind = sign * (stacker - best) / (unit or 1.0)
    return Lag(float(behind.mean()), float(behind.std() / np.sqrt(len(behind))))


def summary_cell(differences: dict[str, float]) -> str:
    """How much more of the promised measures the stacker has; `!` if it is too far behind."""
    more, coverage = differences[HIGHER], differences["coverage"]
    mark = " !" if more < -PROMISED[HIGHER] or coverage > PROMISED["coverage"] else ""
    return f"{more:+.4f}, {100.0 * coverage:+.1f} %{mark}"


def print_summary(summary: Summary) -> None:
    """Print the table with one row per source."""
    print(f"\n| source | {' | '.join(map(', '.join, SETS))} |")
    print("|" + "---|" * (1 + len(SETS)))
    for source, found in summary.items():
        print(f"| {source} | {' | '.join(found)} |")


def name_of(source: str) -> str:
    """The name of a source in the table."""
    return source.rstrip("/").rsplit("/", 1)[-1].split(":")[-1].split(".")[0]


def print_titles(*more: str) -> None:
    """Print the head of the table."""
    titles = [
        f"{measure} | stacker" for measure in ("AvgP", "Coverage", "OneErr", "loss1", "loss3")
    ]
    print(f"| source | lanes combined | {' | '.join([*titles, *more])} |")
    print("|" + "---|" * (2 + 2 * len(MEASURES) + len(more)))


def print_progressive(sources: Sequence[str]) -> None:
    """Print the tables of whole streams."""
    print_titles()
    summary: Summary = {}
    for source in sources:
        values = run(source)
        summary[name_of(source)] = []
        for lanes in SETS:
            name = " ".join(lanes)
            best = max(values[lane][HIGHER] for lane in lanes)
            least = min(values[lane]["coverage"] for lane in lanes)
            more, coverage = values[name][HIGHER] - best, values[name]["coverage"] / (least or 1.0)
            cell = summary_cell({HIGHER: more, "coverage": coverage - 1.0})
            summary[name_of(source)].append(cell)
            found = cells(values[name], [values[lane] for lane in lanes])
            print(f"| {name_of(source)} | {', '.join(lanes)} | {' | '.join(found)} |", flush=True)
    print_summary(summary)


def print_held_out(sources: Sequence[str], unlabelled: float) -> None:
    """Print the tables of the documents without labels, and how often the stacker is behind."""
    print_titles("error AvgP", "error Coverage")
    summary: Summary = {}
    behind = certain = rows = 0
    for source in sources:
        values = run_held_out(source, unlabelled)
        means = {
            lane: {measure: float(values_of.mean()) for measure, values_of in of_lane.items()}
            for lane, of_lane in values.items()
        }
        summary[name_of(source)] = []
        for lanes in SETS:
            name = " ".join(lanes)
            lags = {
                measure: lag(measure, values[name][measure], [values[x][measure] for x in lanes])
                for measure in PROMISED
            }
            late = [found for measure, found in lags.items() if found.mean > PROMISED[measure]]
            behind += bool(late)
            certain += any(found.mean > CERTAIN * found.error for found in late)
            rows += 1
            cell = summary_cell(
                {HIGHER: 0.0 - lags[HIGHER].mean, "coverage": lags["coverage"].mean}
            )
            summary[name_of(source)].append(cell)
            shown = cells(means[name], [means[lane] for lane in lanes])
            shown += [f"{lags[HIGHER].error:.4f}", f"{100.0 * lags['coverage'].error:.1f} %"]
            print(f"| {name_of(source)} | {', '.join(lanes)} | {' | '.join(shown)} |", flush=True)
    print_summary(summary)
    print(
        f"\nMore than 0.002 AvgP or 2 % Coverage behind: {behind} of {rows}; "
        f"{certain} of them by more than {CERTAIN:g} standard errors."
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stacking")
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    parser.add_argument(
        "--unlabelled", type=float, default=0.0, metavar="SHARE",
        help="rank the last documents without their labels, and measure only these",
    )  # fmt: skip
    asked = parser.parse_args()
    if asked.unlabelled:
        print_held_out(asked.sources, asked.unlabelled)
    else:
        print_progressive(asked.sources)


if __name__ == "__main__":
    main()
