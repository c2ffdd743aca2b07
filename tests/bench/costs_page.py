"""Writes the tables of docs/measurements/costs.md and docs/guide/plan.md.

`python -m tests.bench.costs_page` writes those that follow from the costs alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from learners.specs import parse_spec
from pipeline.planning.cost_model import Costs, read_costs
from pipeline.planning.formula import Formula
from pipeline.planning.plan import Demand, NoPlanError, make_plan
from pipeline.planning.plan_report import memory, size
from pipeline.replay.settings import DEFAULT_LANES
from tests.bench.cluster_costs import Check
from tests.conftest import REPOSITORY

MEASUREMENTS = REPOSITORY / "docs/measurements/costs.md"
GUIDE = REPOSITORY / "docs/guide/plan.md"
# Documents per second, topics and lanes of typical streams.
CASES: tuple[tuple[float, int, tuple[str, ...]], ...] = (
    (10, 100, DEFAULT_LANES),
    (100, 1_000, DEFAULT_LANES),
    (1_000, 100, ("soft-arow",)),
    (1_000, 1_000, ("mmp:loss=1",)),
    (50, 10_000, ("soft-arow",)),
    (500, 10_000, ("perceptron",)),
    (500, 10_000, ("soft-arow", "mmp:loss=1")),
    (500, 100_000, ("feature-focus",)),
)


def replaced(text: str, name: str, content: str) -> str:
    """The text of a page with another content between the two comments of a name."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
    if not pattern.search(text):
        raise ValueError(f"the page has no place for {name}")
    return pattern.sub(lambda match: f"{match[1]}{content}\n{match[2]}", text, count=1)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first row is its head."""
    head, *rest = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join((head, "|" + "---|" * len(rows[0]), *rest))


def formula_text(formula: Formula) -> str:
    """A formula as a sum."""
    terms = (
        f"{each:.3g}" + (f" {of}" if of != "1" else "") for of, each in formula.coefficients.items()
    )
    return " + ".join(terms)


def machine_table(costs: Costs) -> str:
    """The facts of the machine."""
    return table([("machine", ""), *costs.machine.items()])


def fit_table(costs: Costs) -> str:
    """All formulas, and how well they fit."""
    rows: list[tuple[str, ...]] = [
        ("what", "formula", "measurements", "median error", "largest error")
    ]
    for name, formula in sorted(costs.formulas.items()):
        errors = (f"{formula.median_error:.0%}", f"{formula.largest_error:.0%}")
        rows.append((f"{name}", formula_text(formula), str(formula.samples), *errors))
    return table(rows)


def check_table(checks: Sequence[Check]) -> str:
    """Real runs beside their simulations."""
    rows: list[tuple[str, ...]] = [
        ("lane", "shards", "documents per block", "cores left", "documents/s", "simulated", "error")
    ]
    for check in checks:
        error = check.simulated_rate / check.rate - 1
        run = check.run
        given = (f"`{run.lane}`", str(run.shards), f"{run.block:.0f}", f"{run.cores:.1f}")
        rates = (f"{check.rate:,.0f}", f"{check.simulated_rate:,.0f}", f"{error:+.0%}")
        rows.append((*given, *rates))
    return table(rows)


def case_table(costs: Costs) -> str:
    """What typical streams need."""
    rows: list[tuple[str, ...]] = [(
        "documents/s", "topics", "lanes", "tokenizers", "learners", "cores", "memory of a learner",
        "log and rankings per day", "one core alone",
    )]  # fmt: skip
    for rate, topics, lanes in CASES:
        specs = tuple(parse_spec(lane) for lane in lanes)
        given = (f"{rate:,g}", f"{topics:,}", ", ".join(f"`{spec.name}`" for spec in specs))
        try:
            plan = make_plan(costs, Demand(rate, topics, specs))
        except NoPlanError:
            rows.append((*given, "", "not possible", "", "", "", ""))
            continue
        learners = ", ".join(
            f"{worker.group.shards} x {worker.group.threads}" for worker in plan.workers
        )
        rows.append((
            *given, str(plan.tokenizers), learners, str(plan.cores),
            memory(max(worker.memory for worker in plan.workers)), size(plan.stored_per_day),
            f"{plan.one_core:,.0f}/s",
        ))  # fmt: skip
    return table(rows)


def write_tables(path: Path, tables: dict[str, str]) -> None:
    """Replace tables of a page."""
    text = path.read_text()
    for name, content in tables.items():
        text = replaced(text, name, content)
    path.write_text(text)


def write(costs: Costs, checks: Sequence[Check] | None = None) -> None:
    """Write all tables; those of real runs only if there are any."""
    tables = {"machine": machine_table(costs), "fit": fit_table(costs)}
    if checks is not None:
        tables["check"] = check_table(checks)
    write_tables(MEASUREMENTS, tables)
    write_tables(GUIDE, {"cases": case_table(costs)})


if __name__ == "__main__":
    write(read_costs())
