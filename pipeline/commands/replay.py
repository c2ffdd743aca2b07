"""`wirerank replay`: through the engine in this process, or with `--kafka` to a Kafka topic."""

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
from pipeline.commands.live_page import check_page, page_server
from pipeline.commands.options import DEFAULTS
from pipeline.commands.result import show_result
from pipeline.commands.terminal import TerminalProgress
from pipeline.corpora import SourceError
from pipeline.errors import UsageError
from pipeline.events.formats import FORMATS
from pipeline.interruption import wait_for_interruption
from pipeline.page.feed import PageFeed
from pipeline.page.samples import ENDED, FAILED
from pipeline.replay.pacing import UNPACED, read_speed
from pipeline.replay.playback import KafkaPlayer, PlaybackSettings
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings, check_choice
from pipeline.storage.output_files import STANDARD_OUTPUT

# Which options of `replay` go with --kafka only, and which with it and without it.
ONLY_WITH_KAFKA = ("topic", "speed", "until_ranked", "pass_number")
ALSO_WITH_KAFKA = ("source", "kafka", "limit", "format_", "max_event_bytes", "quiet")


def replay_command(
    context: typer.Context,
    source: options.Source,
    lane: options.Lanes = None,
    limit: options.Limit = 0,
    block: Annotated[
        int,
        typer.Option(min=1, max=100_000, help="Events to a block; results do not depend on it."),
    ] = 1024,
    format_: options.Format = DEFAULTS.format,
    profile: options.Profile = DEFAULTS.profile,
    topics: options.Topics = None,
    rankings: Annotated[
        Path | None,
        typer.Option(help="Write ranking events here (JSON lines; - is standard output)."),
    ] = None,
    top: Annotated[
        int, typer.Option(min=0, max=MOST, help="Topics in a ranking event; 0 writes all.")
    ] = 10,
    curves: Annotated[
        Path | None, typer.Option(help="Write the learning curves here (CSV).")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the report here (JSON).")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the learning curves here (PNG, SVG or PDF).")
    ] = None,
    dead_letters: options.DeadLetters = DEFAULTS.dead_letters,
    max_event_bytes: options.MaxEventBytes = DEFAULTS.max_event_bytes,
    max_terms: options.MaxTerms = None,
    min_df: options.MinDf = DEFAULTS.engine.features.min_df,
    max_topics: options.MaxTopics = None,
    max_pending: options.MaxPending = DEFAULTS.engine.max_pending,
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
    """Replay a corpus through one or more lanes, as if it were live; or, with --kafka, to a topic.

    Narration goes to standard error, the comparison of the lanes to standard output.
    """
    check_options(context, kafka)
    if kafka is not None:
        if topic is None:
            fail("--kafka needs --topic NAME: the topic that the events are written to.")
        try:
            check_choice("--format", format_, FORMATS)
            to_play = PlaybackSettings(
                source, kafka, topic, read_speed(speed), until_ranked, pass_number, limit, format_,
                max_event_bytes,
            )  # fmt: skip
            play(context.obj, to_play, quiet)
        except (UsageError, SourceError) as error:
            fail(str(error))
        return
    try:
        lanes = choose_lanes(source, lane)
        settings = ReplaySettings(
            source=source, lanes=lanes, limit=limit, block=block,
            format=format_, profile=profile, topics=topics, rankings=rankings, top=top,
            curves=curves, report=report, plot=plot, dead_letters=dead_letters,
            max_event_bytes=max_event_bytes, metrics=metrics, metric_topics=metric_topics,
            engine=engine_settings(source, lanes, max_terms, min_df, max_topics, max_pending),
        )  # fmt: skip
        progress = TerminalProgress(
            quiet, bar=rankings != STANDARD_OUTPUT or not sys.stdout.isatty()
        )
        with live_page(settings, page, page_port) as feed:
            result = replay(settings, progress, feed)
            show_result(settings, result, quiet)
    except (UsageError, OptionError, SourceError) as error:
        fail(str(error))


@contextmanager
def live_page(settings: ReplaySettings, asked: bool, port: int) -> Iterator[PageFeed | None]:
    """The live page of a run, if it is asked for.

    Who reads it at a terminal is not done when the run is: the page stays until Ctrl-C. In a script
    it ends with the run.
    """
    check_page(asked, port)
    if not asked:
        yield None
        return
    serve = page_server()
    feed = PageFeed("standard input" if settings.source == "-" else settings.source)
    with serve(feed, port) as server:
        typer.echo(f"live page: {server.address}", err=True)
        code: typer.Exit | None = None
        try:
            yield feed
        except typer.Exit as end:
            code = end
        if feed.sample.state in (ENDED, FAILED) and sys.stderr.isatty():
            words = f"the page stays at {server.address}; Ctrl-C ends it"
            wait_for_interruption(lambda: typer.echo(words, err=True))
        if code:
            raise code


def check_options(context: typer.Context, kafka: str | None) -> None:
    """Refuse options that have no meaning with --kafka, or without it."""
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "")
        if given is None or given.name != "COMMANDLINE":
            continue
        if kafka is None and option.name in ONLY_WITH_KAFKA:
            fail(f"{option.opts[0]} has a meaning only with --kafka HOST:PORT.")
        if kafka is not None and option.name not in (*ONLY_WITH_KAFKA, *ALSO_WITH_KAFKA):
            fail(
                f"{option.opts[0]} has no meaning with --kafka: the events are only written to the "
                "topic. What becomes of them is for the workers' configuration to say."
            )


def play(kafka_player: KafkaPlayer | None, settings: PlaybackSettings, quiet: bool) -> None:
    """Play a source into a topic, and end accordingly."""
    if kafka_player is None:
        fail("--kafka is not there in this program; run `wirerank` or `python -m consumers`.")
    played = kafka_player(settings, TerminalProgress(quiet))
    code = 1 if played.interrupted is None else 128 + played.interrupted
    if played.failure is not None:
        fail(played.failure, code)
    if played.interrupted is not None:
        raise typer.Exit(code)
