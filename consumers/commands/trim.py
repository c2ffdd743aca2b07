"""`wirerank trim`: delete the records of the log that every lane has behind its snapshots."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from consumers.audit import audit
from consumers.commands.configuration import configured, stream_named
from consumers.commands.options import ConfigFile, StreamName
from consumers.log_settings import FOREVER, parse_keep
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.printable import printable

LOCK_SECONDS = 60.0
FAILED = 1  # the exit code: the broker does not answer


def trim_command(
    path: ConfigFile,
    stream: StreamName = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="What to keep: snapshots (as little as possible), or also a time such as 30d or a "
            "size such as 100GB. Without it, log.keep of the configuration.",
        ),
    ] = None,
    forget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LANE",
            help="Remove the snapshots of a lane that is no longer in the configuration and will "
            "not come back: the log is kept for it otherwise.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be trimmed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before trimming.")] = False,
) -> None:
    """Delete the records of the log that no lane needs.

    A lane needs the log from the oldest of its kept snapshots on. Nothing is trimmed, and the exit
    code is 3, if a lane has too few snapshots or anything is in doubt.
    """
    config = configured(path)
    settings = stream_named(config, stream)
    chosen = settings.log.keep if keep is None else keep
    try:
        parse_keep(chosen)
    except ValueError as error:
        fail(f"--keep: {error}.")
    if chosen == FOREVER:
        fail(
            f"log.keep of stream {settings.name} is {FOREVER}. Name what to keep, for instance "
            "--keep snapshots or --keep 30d."
        )
    configured_lanes = {lane.parsed.name for lane in settings.lanes}
    for lane in forget or ():
        if lane in configured_lanes:
            fail(f"--forget {lane}: the lane is in the configuration; take it out first.")
    try:
        run(config, settings, chosen, forget or [], dry_run, yes)
    except UsageError as error:
        fail(printable(str(error)))


def run(
    config: Config, stream: StreamSettings, keep: str, forget: list[str], dry_run: bool, yes: bool
) -> None:
    """Show the plan, ask, and trim."""
    from consumers.kafka.errors import KafkaError, describe_error  # noqa: PLC0415 - slow to import
    from consumers.kafka.log_reader import LogError  # noqa: PLC0415
    from consumers.sharding.snapshot_folders import stream_folder  # noqa: PLC0415
    from consumers.supervisor import NEEDS_AN_OPERATOR  # noqa: PLC0415
    from consumers.trimming.forgetting import forget_lanes  # noqa: PLC0415
    from consumers.trimming.log_start import LogBusyError  # noqa: PLC0415
    from consumers.trimming.trimmer import Trimmer  # noqa: PLC0415
    from consumers.trimming.wording import describe_plan  # noqa: PLC0415
    from pipeline.storage.container import DamagedError  # noqa: PLC0415

    folder, snapshots_kept = stream_folder(config, stream), config.snapshots.keep
    trimmer = Trimmer()
    try:
        if forget:
            for path in forget_lanes(folder, forget, snapshots_kept, dry=True):
                typer.echo(f"to be removed: {printable(str(path))}")
        plan = trimmer.plan(config, stream, keep)
        if dry_run or (not forget and (plan.refusals or not plan.records)):
            say(describe_plan(plan, done=False))
            if plan.refusals:
                raise typer.Exit(NEEDS_AN_OPERATOR)
            return
        if not yes:
            say(describe_plan(plan, done=False))
            confirm()
        what = {"keep": keep, "before": plan.target, "forget": forget}
        with audit("trim", config.audit, stream=stream.name, **what) as entry:
            if forget:
                removed = forget_lanes(folder, forget, snapshots_kept, dry=False)
                entry.found(removed=[str(path) for path in removed])
            plan = trimmer.trim(config, stream, keep, LOCK_SECONDS)
            entry.found(records=plan.records, first=plan.target)
        say(describe_plan(plan, done=True))
        if plan.refusals:
            raise typer.Exit(NEEDS_AN_OPERATOR)
    except (LogError, LogBusyError, DamagedError) as error:
        fail(printable(str(error)), NEEDS_AN_OPERATOR)
    except (KafkaError, OSError) as error:
        fail(printable(f"nothing is known to be trimmed: {describe_error(error)}"), FAILED)


def say(lines: list[str]) -> None:
    """Print lines on standard output."""
    for line in lines:
        typer.echo(printable(line))


def confirm() -> None:
    """Ask whether to go on; without a terminal there is nobody to ask."""
    if not sys.stdin.isatty():
        fail("nothing was trimmed: add --yes to trim without being asked, or --dry-run.")
    if not typer.confirm("Delete these records for good?", err=True):
        fail("nothing was trimmed.", FAILED)
