"""What the stacker gains over its best lane, on any sources: one row per source and set of lanes.

    python -m tests.bench.stacking reuters21578:PATH newsgroups:PATH events.jsonl

All lanes follow each source once, with one stacker per set. The best lane is another one for each
measure. Values are averaged over the whole stream.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from learners.specs import parse_spec, resolved
from pipeline.corpora import open_source
from pipeline.engine.engine import Engine
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
}
SETS = (
    ("m1", "m2", "m3", "perceptron"),
    ("perceptron", "rocchio"),
    ("A", "arow"),
    ("arow", "frequency"),
    ("A", "B", "arow", "feature-focus"),
    ("A", "B", "arow", "feature-focus", "perceptron", "rocchio"),
    ("m1", "m2", "m3", "perceptron", "arow"),
)
HIGHER = "average_precision"
MEASURES = (HIGHER, "coverage", "one_error", "loss1", "loss3")
IN_PERCENT = ("coverage", "loss3")  # differences are shown as a share of the best lane's value


def run(source: str) -> dict[str, dict[str, float]]:
    """Return the measures of all lanes and stackers; the name of a stacker is that of its set."""
    stackers = [f"svm-map:of=[{','.join(lanes)}],name={' '.join(lanes)}" for lanes in SETS]
    opened = open_source(source)
    specs = resolved([parse_spec(lane) for lane in (*LANES.values(), *stackers)])
    engine = Engine(specs, opened.topics)
    for reading in BlockReader(opened, Tokenizer(), 256):
        for _ in engine.process(reading.block):
            pass
    values = {lane.name: lane.curve.last().values for lane in engine.lanes}
    return {
        name: {measure: of_lane[measure] or 0.0 for measure in MEASURES}
        for name, of_lane in values.items()
    }


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


def main(sources: Sequence[str]) -> None:
    """Print the table."""
    titles = [
        f"{measure} | stacker" for measure in ("AvgP", "Coverage", "OneErr", "loss1", "loss3")
    ]
    print(f"| source | lanes combined | {' | '.join(titles)} |")
    print("|" + "---|" * (2 + 2 * len(MEASURES)))
    for source in sources:
        values = run(source)
        name = source.rstrip("/").rsplit("/", 1)[-1].split(":")[-1].split(".")[0]
        for lanes in SETS:
            found = cells(values[" ".join(lanes)], [values[lane] for lane in lanes])
            print(f"| {name} | {', '.join(lanes)} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
