"""`wirerank curves export`: learning curves for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from learners.options import MOST, OptionError
from pipeline.commands import options
from pipeline.commands.defaults import choose_lanes, engine_settings
from pipeline.commands.failure import fail
from pipeline.commands.options import DEFAULTS
from pipeline.commands.plain_command import PlainCommand
from pipeline.commands.result import show_result
from pipeline.commands.terminal import TerminalProgress
from pipeline.corpora import SourceError, source_path
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.errors import UsageError
from pipeline.history.moments import History
from pipeline.log.block import Block
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings, parse_lanes
from pipeline.storage.output_files import check_outputs, write_whole

curves_app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Export learning curves for other programs.",
)


@curves_app.callback()
def curves_command() -> None:
    """Export learning curves for other programs."""


class HistoryProgress(TerminalProgress):
    """Shows progress at a terminal, and records the history of the curves."""

    def __init__(self, history: History, quiet: bool) -> None:
        super().__init__(quiet)
        self._history = history

    def block_learned(self, block: Block, segments: Sequence[RankedSegment]) -> None:
        """Add the block to the history."""
        self._history.follow(block, segments)


@curves_app.command("export", cls=PlainCommand)
def export_command(
    source: options.Source,
    target: Annotated[
        Path,
        typer.Option(
            "--openmetrics",
            metavar="FILE",
            help="Write OpenMetrics text to this file, for `promtool tsdb create-blocks-from "
            "openmetrics`; - is standard output.",
        ),
    ],
    lane: options.Lanes = None,
    limit: options.Limit = 0,
    stream: Annotated[
        str, typer.Option(metavar="NAME", help="The value of the label `stream`.")
    ] = "replay",
    step: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST,
            metavar="SECONDS",
            help="Seconds of corpus time between two regular points. Default: chosen so that there "
            "are at most 500 points.",
        ),
    ] = None,
    format_: options.Format = DEFAULTS.format,
    profile: options.Profile = DEFAULTS.profile,
    topics: options.Topics = None,
    dead_letters: options.DeadLetters = DEFAULTS.dead_letters,
    max_event_bytes: options.MaxEventBytes = DEFAULTS.max_event_bytes,
    max_terms: options.MaxTerms = None,
    min_df: options.MinDf = None,
    max_topics: options.MaxTopics = None,
    max_pending: options.MaxPending = DEFAULTS.engine.max_pending,
    max_pending_bytes: options.MaxPendingBytes = DEFAULTS.engine.max_pending_bytes,
    quiet: options.Quiet = False,
) -> None:
    """Replay a source and write its curves, dated by its documents.

    Prometheus and Grafana can then draw the curves on the time axis of the corpus.
    """
    try:
        check_stream(stream)
        lanes = choose_lanes(source, lane)
        settings = ReplaySettings(
            source=source, lanes=lanes, limit=limit, format=format_, profile=profile,
            topics=topics, dead_letters=dead_letters, max_event_bytes=max_event_bytes,
            engine=engine_settings(
                source, lanes, max_terms, min_df, max_topics, max_pending, max_pending_bytes,
                profile,
            ),
        )  # fmt: skip
        read = [path for path in (source_path(source), topics) if path and source != "-"]
        check_outputs([target, dead_letters], read)
        specs = parse_lanes(settings.lanes)
        if ordinal := [spec.name for spec in specs if spec.is_ordinal]:
            fail(
                f"lane {ordinal[0]} learns ranks, but only curves of topic lanes can be exported. "
                "Leave this lane out."
            )
        history = History(specs, step)
        result = replay(settings, HistoryProgress(history, quiet))
    except (UsageError, OptionError, SourceError) as error:
        fail(str(error))
    for line in (*([] if quiet else history.extent()), *history.notes()):
        typer.echo(line, err=True)
    has_dates = bool(history.moments())
    if has_dates:
        from pipeline.history.openmetrics import openmetrics  # noqa: PLC0415 - slow to import

        write_whole(target, openmetrics(history, stream))
    show_result(settings, result, quiet, (target,) if has_dates else ())
    if not has_dates:
        fail(f"no curve of {source} can be dated: no labelled document has a usable `time`.", 1)


def check_stream(name: str) -> None:
    """Raise an error if the name of a stream cannot be written as UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"--stream must be valid UTF-8. Got {name!r}.") from None
