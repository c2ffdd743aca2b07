"""The columns of the tables of index learning, and the averages over splits that fill them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.experiments.experiment import Result
from pipeline.experiments.index_learning.recall_at_rank import harmonic_ranks
from pipeline.experiments.tables import Column, Number, mean_of

COLUMNS = (
    Column("hr", "HR", 3, better=-1),
    Column("r1", "R1", 3, with_deviation=True, better=1),
    Column("r5", "R5", 3, better=1),
    Column("seconds", "training s", 2),
    Column("d", "d", 1),
    Column("connections", "|W|", 0),
)


def over_splits(results: Sequence[Result], after: int = -1) -> dict[str, Number]:
    """The measures of a method after one of its passes (by default the last), averaged."""
    measured = [result["passes"][after] for result in results]
    values = {"hr": harmonic_ranks([one["mrr"] for one in measured])}
    for key in ("r1", "r5", "train_r1", "seconds", "d", "connections"):
        values[key] = [one[key] for one in measured if one.get(key) is not None]
    return {key: mean_of(numbers) for key, numbers in values.items() if numbers}


def chosen_settings(results: Sequence[Result]) -> str:
    """The settings that were chosen on held-out examples, with how many splits chose each."""
    counts = Counter(
        " ".join(f"{name}={value}" for name, value in result.get("chosen", {}).items())
        for result in results
    )
    return ", ".join(f"{settings} ({count}x)" for settings, count in counts.items())
