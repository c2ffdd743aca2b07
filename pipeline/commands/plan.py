"""`wirerank plan`: what a stream needs, by the model of costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer

from learners.options import OptionError
from learners.specs import LEARNERS
from pipeline.commands.completion import complete_lane
from pipeline.commands.failure import fail
from pipeline.commands.terminal import TerminalProgress
from pipeline.errors import UsageError
from pipeline.planning.cost_model import Costs, read_costs
from pipeline.planning.plan import Demand, make_plan
from pipeline.planning.plan_report import (
    plan_content,
    plan_text,
    simulation_content,
    simulation_text,
)
from pipeline.planning.scenario import WORKER, Restart, Scenario
from pipeline.planning.simulation import simulate
from pipeline.replay.settings import DEFAULT_LANES, parse_lanes

SIMULATED_BLOCKS = 3000  # roughly; what a simulation takes grows with blocks and shards


def plan_command(
    documents_per_second: Annotated[
        float, typer.Option(metavar="D", help="Documents per second at the peak.")
    ],
    topics: Annotated[int, typer.Option(metavar="K", help="Number of topics.")],
    lanes: Annotated[
        list[str] | None,
        typer.Option(
            "--lanes",
            "--lane",
            metavar="SPECS",
            help="Lanes, with commas between them; repeat if you like. Default: "
            f"{','.join(DEFAULT_LANES)}.",
            autocompletion=complete_lane,
        ),
    ] = None,
    terms: Annotated[
        int, typer.Option(metavar="T", help="Different terms per document; news has about 125.")
    ] = 125,
    vocabulary: Annotated[
        int, typer.Option(min=1, metavar="N", help="Terms in the vocabulary (max_terms).")
    ] = 1 << 17,
    cores_per_machine: Annotated[
        int, typer.Option(min=1, max=1024, metavar="N", help="Cores of one machine.")
    ] = 8,
    memory_per_machine: Annotated[
        float, typer.Option(min=1, metavar="GIB", help="Memory of one machine, in GiB.")
    ] = 32,
    headroom: Annotated[
        float,
        typer.Option(metavar="X", help="Plan for this multiple of the rate, to catch up."),
    ] = 2.0,
    replication: Annotated[
        int, typer.Option(min=1, max=9, metavar="N", help="Copies of every record on brokers.")
    ] = 3,
    log_days: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Days for which the log is kept (log.keep)."),
    ] = None,
    with_simulation: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Play the planned cluster, with one worker killed after a third of the time.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the simulation.")] = 1,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="First measure text, lanes and sets on this machine; takes about a minute.",
        ),
    ] = False,
    costs_file: Annotated[
        Path | None,
        typer.Option(
            "--costs",
            metavar="FILE",
            help="Costs to plan with. With --measure: the file to write them to.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan processes, machines, brokers and disks for a stream.

    The plan follows from a model of costs that was fitted to measurements. It says how many
    tokenizers, workers, shards and threads reach the rate with some headroom, what memory and
    which bytes per second they need, and what is full first.
    """
    try:
        demand = Demand(
            documents_per_second, topics, tuple(parse_lanes(split_lanes(lanes or DEFAULT_LANES))),
            terms, vocabulary, cores_per_machine, memory_per_machine, headroom, replication,
            log_days=log_days,
        )  # fmt: skip
        costs = chosen_costs(demand, measure, costs_file)
        plan = make_plan(costs, demand)
        result = None
        if with_simulation:
            blocks_per_second = documents_per_second / max(1.0, plan.block)
            seconds = min(60.0, max(5.0, SIMULATED_BLOCKS / blocks_per_second))
            killed = Restart(seconds / 3, WORKER)
            scenario = Scenario(seconds, restarts=(killed,), vocabulary=vocabulary, seed=seed)
            result = simulate(
                costs, plan.shape, demand.load(plan.block), documents_per_second, scenario
            )
    except (UsageError, OptionError) as error:
        fail(str(error))
    if json:
        content = plan_content(plan, costs)
        if result is not None:
            content["simulation"] = simulation_content(result)
        typer.echo(orjson.dumps(content, option=orjson.OPT_INDENT_2).decode())
        return
    typer.echo(plan_text(plan, costs))
    if result is not None:
        typer.echo("\n" + simulation_text(result))


def chosen_costs(demand: Demand, measure: bool, path: Path | None) -> Costs:
    """The costs of a file, those that were shipped, or those measured now."""
    if not measure:
        return read_costs() if path is None else read_costs(path)
    # Slow to import, and seldom needed.
    from pipeline.planning.calibration import measure_here  # noqa: PLC0415

    progress = TerminalProgress()
    learners = list(dict.fromkeys(lane.learner for lane in demand.lanes))
    costs = measure_here(read_costs(), learners, progress.say)
    if path is not None:
        costs.write(path)
        progress.say(f"written: {path}")
    return costs


def split_lanes(texts: Sequence[str]) -> list[str]:
    """The specs in lists of lanes. A part that begins with no learner is an option of the last one.

    >>> split_lanes(["soft-arow,mmp:loss=1,margin=0.1"])
    ['soft-arow', 'mmp:loss=1,margin=0.1']
    """
    specs: list[str] = []
    for text in texts:
        first = True
        for part in text.split(","):
            learner = part.strip().partition(":")[0]
            if first or learner in LEARNERS or "=" not in part:
                specs.append(part.strip())
            else:
                specs[-1] += f",{part}"
            first = False
    return specs
