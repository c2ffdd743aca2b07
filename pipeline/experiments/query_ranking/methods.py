"""The methods that rank query-document sets: trained ones, and baselines without training."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from pipeline.experiments.experiment import Result
from pipeline.reports.plots import COLOURS
from pipeline.retrieval.features import Form
from pipeline.retrieval.measures import measured
from pipeline.retrieval.model_selection import FORMS, ModelSelector, Split

# The paper uses 50 bins in all rows.
GLOBAL = (Form("none", 50),)
MINMAX = (Form("minmax", 50),)
PERCENTILES = (Form("percentile", 50),)


class RetrievalMethod(NamedTuple):
    """A row of the tables: a trained machine, a single function, or the sum of all functions."""

    key: str
    label: str
    colour: str
    machine: str = ""
    forms: tuple[Form, ...] = FORMS
    nth: int = 0  # if not 0: the n-th best function on the training queries
    quick: bool = True


METHODS = (
    RetrievalMethod("map", "SVM-map", COLOURS[0], "map"),
    RetrievalMethod("best", "best function", COLOURS[7], nth=1),
    RetrievalMethod("second", "2nd best", COLOURS[7], nth=2, quick=False),
    RetrievalMethod("third", "3rd best", COLOURS[7], nth=3, quick=False),
    RetrievalMethod("sum", "sum of scores (ours)", COLOURS[5]),
    RetrievalMethod("roc", "SVM-roc", COLOURS[1], "roc"),
    RetrievalMethod("acc", "SVM-acc, forms as SVM-map", COLOURS[2], "acc"),
    RetrievalMethod(
        "acc2", "SVM-acc2 (min-max bins, balanced)", COLOURS[2], "acc2", MINMAX, quick=False
    ),
    RetrievalMethod(
        "acc3", "SVM-acc3 (percentile bins)", COLOURS[2], "acc", PERCENTILES, quick=False
    ),
    RetrievalMethod("acc4", "SVM-acc4 (min-max bins)", COLOURS[2], "acc", MINMAX),
)
ON_RAW_SCORES = (
    RetrievalMethod("map-global", "SVM-map, global bins", COLOURS[0], "map", GLOBAL),
    RetrievalMethod("acc-global", "SVM-acc, global bins", COLOURS[2], "acc", GLOBAL),
)


def methods_for(selector: ModelSelector, quick: bool) -> list[RetrievalMethod]:
    """The methods that make sense for a set; those on raw scores only if scores are not normalised.

    A set whose values are the same after min-max normalisation has no raw scores.
    """
    same = np.array_equal(selector.values("minmax"), selector.queries.values, equal_nan=True)
    methods = METHODS if same else (*METHODS, *ON_RAW_SCORES)
    return [
        method
        for method in methods
        if (method.quick or not quick) and method.nth <= len(selector.queries.functions)
    ]


def result_of(method: RetrievalMethod, selector: ModelSelector, split: Split, thin: int) -> Result:
    """Train and choose settings, then measure on the test queries; NaN is stored as null."""
    chosen: dict[str, object] = {}
    if method.machine:
        best = selector.chosen(method.machine, split, method.forms, thin)
        scores = selector.scored(best, split.test)
        chosen = {"form": best.form.text(), "cost": best.cost, "validated": best.validated}
    elif method.nth:
        function = int(selector.best_functions(split.train)[method.nth - 1])
        scores = selector.queries.values[selector.rows(split.test), function]
        chosen = {"function": selector.queries.functions[function]}
    else:
        scores = summed(selector.values("minmax")[selector.rows(split.test)])
    test = selector.queries.select(split.test)
    return {
        "chosen": chosen,
        "queries": list(test.queries),
        "measures": measured(test, scores, selector.depth).tolist(),
    }


def summed(values: Floats) -> Floats:
    """The sum of the functions' scores (CombSUM), which needs no training."""
    total: Floats = np.nan_to_num(values).sum(axis=1)
    return total
