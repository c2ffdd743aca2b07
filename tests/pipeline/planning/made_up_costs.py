"""Costs with round numbers, for tests that compute by hand."""

from __future__ import annotations

from pipeline.planning.cost_model import FEATURES_OF, PER_LEARNER, Costs
from pipeline.planning.formula import Formula

NOTHING = Formula({"1": 0.0})


def costs_of(**given: dict[str, float]) -> Costs:
    """Costs of nothing but what is given; names with underscores instead of blanks."""
    formulas = {name: NOTHING for name in FEATURES_OF if name not in PER_LEARNER}
    formulas["lane perceptron"] = NOTHING
    formulas |= {name.replace("_", " "): Formula(each) for name, each in given.items()}
    return Costs({"processor": "made up"}, formulas)
