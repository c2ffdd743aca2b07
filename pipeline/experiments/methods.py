"""The methods that are compared: how each is called and drawn, the same in all experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.experiments.experiment import Result
from pipeline.experiments.hits import harmonic
from pipeline.experiments.tables import Column, Number, mean_of
from pipeline.reports.plots import COLOURS

# A colour for each learner, in every picture.
COLOUR = {
    "feature-focus": COLOURS[0],
    "perceptron": COLOURS[1],
    "committee": COLOURS[2],
    "svm": COLOURS[3],
    "top-down": COLOURS[4],
    "independent": COLOURS[5],
    "frequency": COLOURS[7],
}

COLUMNS = (
    Column("hr", "HR", 3, better=-1),
    Column("r1", "R1", 3, with_deviation=True, better=1),
    Column("r5", "R5", 3, better=1),
    Column("seconds", "training s", 2),
    Column("d", "d", 1),
    Column("connections", "|W|", 0),
)
R1_AND_TIME = tuple(column for column in COLUMNS if column.key in ("r1", "r5", "seconds", "d"))


def over_splits(results: Sequence[Result], after: int = -1) -> dict[str, Number]:
    """The measures of one method after a pass (the last, if not said), averaged over splits."""
    measured = [result["passes"][after] for result in results]
    found = {"hr": harmonic([one["mrr"] for one in measured])}
    for key in ("r1", "r5", "train_r1", "seconds", "d", "connections"):
        found[key] = [one[key] for one in measured if one.get(key) is not None]
    return {key: mean_of(values) for key, values in found.items() if values}


def choices_in_words(results: Sequence[Result]) -> str:
    """What was chosen on held-out examples, split by split."""
    said: dict[str, int] = {}
    for result in results:
        chosen: Mapping[str, object] = result.get("chosen", {})
        words = " ".join(f"{name}={value}" for name, value in chosen.items())
        said[words] = said.get(words, 0) + 1
    return ", ".join(f"{words} ({count}x)" for words, count in said.items())
