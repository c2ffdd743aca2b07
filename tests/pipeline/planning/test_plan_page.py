"""The pages about plans show what the shipped costs say."""

from __future__ import annotations

import doctest

from pipeline.planning.cost_model import read_costs
from tests.bench.costs_page import GUIDE, MEASUREMENTS, case_table, fit_table, machine_table

AGAIN = "python -m tests.bench.costs_page"


def test_the_tables_are_those_of_the_shipped_costs() -> None:
    costs = read_costs()
    assert case_table(costs) in GUIDE.read_text(), f"write it again: {AGAIN}"
    measured = MEASUREMENTS.read_text()
    assert fit_table(costs) in measured, f"write it again: {AGAIN}"
    assert machine_table(costs) in measured, f"write it again: {AGAIN}"


def test_the_example_of_the_guide_is_right() -> None:
    failures, tried = doctest.testfile(str(GUIDE), False)
    assert (failures, tried > 5) == (0, True)
