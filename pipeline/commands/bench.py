"""`wirerank bench`: the speed of this machine, stage by stage."""

from __future__ import annotations

from typing import Annotated

import typer

from learners.options import OptionError
from pipeline.commands.completion import complete_lane
from pipeline.commands.failure import fail
from pipeline.commands.stage_times import stage_table, stage_times
from pipeline.commands.terminal import TerminalProgress
from pipeline.engine.warmup import warm_up
from pipeline.errors import UsageError
from pipeline.replay.settings import DEFAULT_LANES, parse_lanes
from pipeline.text.tokenizer import Tokenizer


def bench_command(
    documents: Annotated[
        int, typer.Option(min=1, metavar="N", help="Measure N synthetic documents.")
    ] = 20_000,
    block: Annotated[int, typer.Option(min=1, metavar="N", help="Documents per block.")] = 1024,
    lane: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="A lane to measure; repeat for several.",
            autocompletion=complete_lane,
        ),
    ] = None,
) -> None:
    """Measure the speed of this machine, stage by stage."""
    progress = TerminalProgress()
    try:
        lanes = parse_lanes(lane or DEFAULT_LANES)
    except (UsageError, OptionError) as error:
        fail(str(error))
    warm_up(lanes, Tokenizer(), progress.say)
    progress.say(f"{documents:,} synthetic documents of about 1.2 KB, blocks of {block}")
    typer.echo(stage_table(stage_times(lanes, documents, block), documents))
