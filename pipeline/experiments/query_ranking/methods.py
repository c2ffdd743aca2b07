"""The methods that rank query-document sets: trained ones, and what needs no training."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Floats
from pipeline.experiments.experiment import Result
from pipeline.reports.plots import COLOURS
from pipeline.retrieval.features import Form
from pipeline.retrieval.measures import measured
from pipeline.retrieval.model_selection import FORMS, ModelSelector, Split

# Of the paper, which has 50 bins in all rows:
GLOBAL = (Form("none", 50),)
MINMAX = (Form("minmax", 50),)
PERCENTILES = (Form("percentile", 50),)


class RetrievalMethod(NamedTuple):
    """A row of the tables: a machine with its forms, or a function alone, or their sum."""

    key: str
    label: str
    colour: str
    machine: str = ""
    forms: tuple[Form, ...] = FORMS
    nth: int = 0  # the nth best function on the training queries
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


def methods_for(bench: ModelSelector, quick: bool) -> list[RetrievalMethod]:
    """Those that make sense for a set: scores that are normalised by query have no others."""
    same = np.array_equal(bench.values("minmax"), bench.queries.values, equal_nan=True)
    found = METHODS if same else (*METHODS, *ON_RAW_SCORES)
    return [
        method
        for method in found
        if (method.quick or not quick) and method.nth <= len(bench.queries.functions)
    ]


def result_of(method: RetrievalMethod, bench: ModelSelector, split: Split, thin: int) -> Result:
    """Train and choose, then measure on the test queries; a NaN is a null in the file."""
    chosen: dict[str, object] = {}
    if method.machine:
        found = bench.chosen(method.machine, split, method.forms, thin)
        scores = bench.scored(found, split.test)
        chosen = {"form": found.form.words(), "cost": found.cost, "validated": found.validated}
    elif method.nth:
        function = int(bench.best_functions(split.train)[method.nth - 1])
        scores = bench.queries.values[bench.rows(split.test), function]
        chosen = {"function": bench.queries.functions[function]}
    else:
        scores = summed(bench.values("minmax")[bench.rows(split.test)])
    test = bench.queries.some(split.test)
    return {
        "chosen": chosen,
        "queries": list(test.queries),
        "measures": measured(test, scores, bench.depth).tolist(),
    }


def summed(values: Floats) -> Floats:
    """The sum of what functions say (CombSUM), from which nothing is learned."""
    total: Floats = np.nan_to_num(values).sum(axis=1)
    return total
