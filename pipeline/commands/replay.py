"""`wirerank replay`: rank and learn a source in this process, or play it into Kafka."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from learners.options import MOST, OptionError
from pipeline.commands import options
from pipeline.commands.defaults import choose_lanes, engine_settings
from pipeline.commands.failure import fail
from pipeline.commands.field_options import read_fields
from pipeline.commands.live_page import check_page, page_server
from pipeline.commands.model_settings import with_model
from pipeline.commands.options import DEFAULTS
from pipeline.commands.result import show_result
from pipeline.commands.terminal import TerminalProgress
from pipeline.corpora import SourceError
from pipeline.errors import UsageError
from pipeline.events.formats import check_format
from pipeline.interruption import wait_for_interruption
from pipeline.log.block import MAX_BLOCK
from pipeline.models.model_file import read_model
from pipeline.page.feed import PageFeed
from pipeline.page.samples import ENDED, FAILED
from pipeline.replay.pacing import UNPACED, read_speed
from pipeline.replay.playback import KafkaPlayer, PlaybackSettings
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings, check_fields
from pipeline.storage.container import DamagedError
from pipeline.storage.output_files import STANDARD_OUTPUT

# Options that need --kafka, and options that may be given with and without --kafka. All other
# options may not be given with --kafka.
ONLY_WITH_KAFKA = ("topic", "speed", "until_ranked", "pass_number")
ALSO_WITH_KAFKA = ("source", "kafka", "limit", "format_", "fields", "max_event_bytes", "quiet")


def replay_command(
    context: typer.Context,
    source: options.Source,
    lane: options.Lanes = None,
    limit: options.Limit = 0,
    block: Annotated[
        int,
        typer.Option(
            min=1,
            max=MAX_BLOCK,
            metavar="N",
            help="Events per block; results do not depend on it.",
        ),
    ] = 1024,
    format_: options.Format = DEFAULTS.format,
    fields: options.Fields = None,
    profile: options.Profile = DEFAULTS.profile,
    topics: options.Topics = None,
    rankings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the rankings to this file (JSON lines); - is standard output.",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=0, max=MOST, metavar="N", help="Topics per ranking; 0 writes all.")
    ] = 10,
    curves: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the learning curves to this file (CSV)."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report to this file (JSON).")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the learning curves to this file (.png, .svg or .pdf)."
        ),
    ] = None,
    dead_letters: options.DeadLetters = DEFAULTS.dead_letters,
    max_event_bytes: options.MaxEventBytes = DEFAULTS.max_event_bytes,
    max_terms: options.MaxTerms = None,
    min_df: options.MinDf = None,
    max_topics: options.MaxTopics = None,
    max_pending: options.MaxPending = DEFAULTS.engine.max_pending,
    max_pending_bytes: options.MaxPendingBytes = DEFAULTS.engine.max_pending_bytes,
    save: options.Save = None,
    save_every: options.SaveEvery = 0,
    resume: options.Resume = None,
    from_start: options.FromStart = False,
    metrics: options.MetricsPort = None,
    metric_topics: options.MetricTopics = DEFAULTS.metric_topics,
    page: options.Page = False,
    page_port: options.PagePort = 0,
    quiet: options.Quiet = False,
    kafka: options.Kafka = None,
    topic: options.Topic = None,
    speed: options.Speed = UNPACED,
    until_ranked: options.UntilRanked = False,
    pass_number: options.Pass = 1,
) -> None:
    """Rank and learn a source as if it were live.

    Every lane ranks each document before it learns from the labels. The comparison of the lanes
    goes to standard output, progress to standard error. --save keeps the model, --resume goes on
    from it. With --kafka the events are written to a Kafka topic instead.
    """
    check_options(context, kafka)
    if kafka is not None:
        if topic is None:
            fail("--kafka needs --topic NAME, the Kafka topic to write the events to.")
        try:
            check_format(format_, "--format")
            mapping = read_fields(fields)
            check_fields(format_, mapping)
            playback = PlaybackSettings(
                source, kafka, topic, read_speed(speed), until_ranked, pass_number, limit, format_,
                mapping, max_event_bytes,
            )  # fmt: skip
            play(context.obj, playback, quiet)
        except (UsageError, SourceError) as error:
            fail(str(error))
        return
    try:
        model = None if resume is None else read_model(resume)
        lanes = choose_lanes(source, lane)
        settings = ReplaySettings(
            source=source, lanes=lanes, limit=limit, block=block,
            format=format_, fields=read_fields(fields), profile=profile, topics=topics,
            rankings=rankings, top=top,
            curves=curves, report=report, plot=plot, dead_letters=dead_letters,
            max_event_bytes=max_event_bytes, metrics=metrics, metric_topics=metric_topics,
            engine=engine_settings(
                source, lanes, max_terms, min_df, max_topics, max_pending, max_pending_bytes,
                profile,
            ),
            save=save, save_every=save_every, resume=resume, from_start=from_start,
        )  # fmt: skip
        if model is not None:
            settings = with_model(settings, model, given_options(context))
        progress = TerminalProgress(
            quiet, bar=rankings != STANDARD_OUTPUT or not sys.stdout.isatty()
        )
        with live_page(settings, page, page_port) as feed:
            result = replay(settings, progress, feed, model)
            show_result(settings, result, quiet)
    except (UsageError, OptionError, SourceError) as error:
        fail(str(error))
    except DamagedError as error:
        fail(f"{error}.", 1)


@contextmanager
def live_page(settings: ReplaySettings, asked: bool, port: int) -> Iterator[PageFeed | None]:
    """Serve the live page of a run, if `--page` was given.

    At a terminal the page stays after the run until Ctrl-C, so that it can be read. In a script it
    ends with the run.
    """
    check_page(asked, port)
    if not asked:
        yield None
        return
    serve = page_server()
    feed = PageFeed("standard input" if settings.source == "-" else settings.source)
    with serve(feed, port) as server:
        typer.echo(f"live page: {server.address}", err=True)
        ended: typer.Exit | None = None
        try:
            yield feed
        except typer.Exit as error:
            ended = error
        if feed.sample.state in (ENDED, FAILED) and sys.stderr.isatty():
            line = f"the page stays at {server.address}; press Ctrl-C to end"
            wait_for_interruption(lambda: typer.echo(line, err=True))
        if ended:
            raise ended


def given_options(context: typer.Context) -> set[str]:
    """Return the names of the parameters that are on the command line."""
    names = {option.name or "" for option in context.command.params}
    sources = {name: context.get_parameter_source(name) for name in names}
    return {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}


def check_options(context: typer.Context, kafka: str | None) -> None:
    """Refuse options that need --kafka, or cannot be combined with it."""
    given = given_options(context)
    for option in context.command.params:
        if option.name not in given:
            continue
        if kafka is None and option.name in ONLY_WITH_KAFKA:
            fail(f"{option.opts[0]} needs --kafka HOST:PORT.")
        if kafka is not None and option.name not in (*ONLY_WITH_KAFKA, *ALSO_WITH_KAFKA):
            fail(
                f"{option.opts[0]} cannot be combined with --kafka, which only writes the events "
                "to a Kafka topic. The workers that read the topic have their own configuration."
            )


def play(kafka_player: KafkaPlayer | None, settings: PlaybackSettings, quiet: bool) -> None:
    """Play a source into a Kafka topic; ends with an exit code if it was not played whole."""
    if kafka_player is None:
        fail("this program has no Kafka client. Run `wirerank` or `python -m consumers` instead.")
    result = kafka_player(settings, TerminalProgress(quiet))
    code = 1 if result.interrupted is None else 128 + result.interrupted
    if result.failure is not None:
        fail(result.failure, code)
    if result.interrupted is not None:
        raise typer.Exit(code)
