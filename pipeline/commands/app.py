"""The command line: `replay`, `curves`, `experiment`, `report`, `corpora`, `lanes`, and more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from learners.learner import MOST, OptionError
from learners.specs import LEARNERS, options_of
from pipeline.commands import options
from pipeline.commands.bench import stage_table, stage_times
from pipeline.commands.curves import curves_app
from pipeline.commands.defaults import lanes_for, settings_for
from pipeline.commands.experiment import experiment_command
from pipeline.commands.options import DEFAULTS
from pipeline.commands.outcome import conclude, fail
from pipeline.commands.report import report_command
from pipeline.commands.terminal import TerminalWatch
from pipeline.corpora import SourceError, catalogue
from pipeline.engine.warmup import warm_up
from pipeline.errors import UsageError
from pipeline.events.formats import FORMATS
from pipeline.interruption import wait_for_interruption
from pipeline.page.feed import PageFeed
from pipeline.page.samples import ENDED, FAILED
from pipeline.replay.pacing import AS_FAST_AS_IT_GOES, read_speed
from pipeline.replay.playback import Played, Player, PlaySettings
from pipeline.replay.replay import DEFAULT_LANES, ReplaySettings, check_choice, read_lanes, replay
from pipeline.snapshots.inspection import inspect
from pipeline.snapshots.inspection_tables import as_json, description, listing, shown
from pipeline.storage.output_files import STANDARD_OUTPUT
from pipeline.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from pipeline.page.server import PageServer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_show_locals=False,  # they may hold passwords
    help="Rank the topics of every document of a text stream the moment it arrives.",
)

# Plays a source into a topic; set by `consumers.cli`, since nothing here knows Kafka.
kafka_player: Player | None = None
# Which options of `replay` go with --kafka only, and which with it and without it.
ONLY_WITH_KAFKA = ("topic", "speed", "until_ranked", "times")
ALSO_WITH_KAFKA = ("source", "kafka", "limit", "format_", "max_event_bytes", "quiet")


def show_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        typer.echo(f"wirerank {version('wirerank')}")
        raise typer.Exit


@app.callback()
def common(
    asked: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Rank the topics of every document of a text stream the moment it arrives."""


corpora_app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="List the known corpora, and fetch one."
)
app.add_typer(corpora_app, name="corpora")
app.add_typer(curves_app, name="curves")
app.command("experiment")(experiment_command)
app.command("report")(report_command)


@app.command("replay")
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
    speed: options.Speed = AS_FAST_AS_IT_GOES,
    until_ranked: options.UntilRanked = False,
    times: options.Pass = 1,
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
            to_play = PlaySettings(
                source, kafka, topic, read_speed(speed), until_ranked, times, limit, format_,
                max_event_bytes,
            )  # fmt: skip
            play(to_play, quiet)
        except (UsageError, SourceError) as error:
            fail(str(error))
        return
    try:
        lanes = lanes_for(source, lane)
        settings = ReplaySettings(
            source=source, lanes=lanes, limit=limit, block=block,
            format=format_, profile=profile, topics=topics, rankings=rankings, top=top,
            curves=curves, report=report, plot=plot, dead_letters=dead_letters,
            max_event_bytes=max_event_bytes, metrics=metrics, metric_topics=metric_topics,
            engine=settings_for(source, lanes, max_terms, min_df, max_topics, max_pending),
        )  # fmt: skip
        watch = TerminalWatch(quiet, bar=rankings != STANDARD_OUTPUT or not sys.stdout.isatty())
        with live_page(settings, page, page_port) as feed:
            outcome = replay(settings, watch, feed)
            conclude(settings, outcome, quiet)
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


def check_page(asked: bool, port: int) -> None:
    """Refuse a port for a page that nobody asked for."""
    if port and not asked:
        fail("--page-port is the port of a page; ask for one with --page.")


def page_server() -> type[PageServer]:
    """What serves the page, or an end with what is missing for it."""
    missing = [name for name in ("starlette", "uvicorn", "plotly") if not find_spec(name)]
    if missing:
        raise UsageError(
            f"--page needs {', '.join(missing)}, not installed: pip install 'wirerank[page]'"
        )
    from pipeline.page.server import PageServer  # noqa: PLC0415 - an extra, and slow to import

    return PageServer


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


def play(settings: PlaySettings, quiet: bool) -> None:
    """Play a source into a topic, and end accordingly."""
    if kafka_player is None:
        fail("--kafka is not there in this program; run `wirerank` or `python -m consumers`.")
    played: Played = kafka_player(settings, TerminalWatch(quiet))
    code = 1 if played.interrupted is None else 128 + played.interrupted
    if played.failure is not None:
        fail(played.failure, code)
    if played.interrupted is not None:
        raise typer.Exit(code)


@app.command("lanes")
def lanes_command() -> None:
    """List the learners that a lane can have, and their options."""
    for name, learner in LEARNERS.items():
        typer.echo(f"{name}: {learner.summary}")
        rows = [
            (f"  {option.name}={option.default}", option.help, f"({option.rule})")
            for option in options_of(name)
        ]
        width = max(len(first) for first, *_ in rows)
        for first, meaning, rule in rows:
            typer.echo(f"{first.ljust(width)}  {meaning} {rule}")


@app.command("inspect")
def inspect_command(
    snapshot: Annotated[Path, typer.Argument(help="A snapshot, or a folder that holds some.")],
    machine: Annotated[bool, typer.Option("--json", help="As JSON, for machines.")] = False,
) -> None:
    """Look into a snapshot, or check all in a folder; the exit code is 1 if one is damaged."""
    try:
        found = inspect(snapshot)
    except UsageError as error:
        fail(shown(str(error), 4096))
    several = snapshot.is_dir()
    if machine:
        typer.echo(as_json(found, several))
    elif several:
        typer.echo(listing(found))
    elif found[0].good:
        typer.echo(description(found[0]))
    else:
        fail(shown(f"{found[0].problem}.", 4096), 1)
    if not all(one.good for one in found):
        raise typer.Exit(1)


@app.command("bench")
def bench_command(
    documents: Annotated[int, typer.Option(min=1, help="Synthetic documents to measure.")] = 20_000,
    block: Annotated[int, typer.Option(min=1, help="Documents to a block.")] = 1024,
    lane: Annotated[
        list[str] | None, typer.Option(help="Lanes to measure.", metavar="SPEC")
    ] = None,
) -> None:
    """Measure this machine: microseconds a document, stage by stage."""
    watch = TerminalWatch()
    try:
        lanes = read_lanes(lane or DEFAULT_LANES)
    except (UsageError, OptionError) as error:
        fail(str(error))
    warm_up(lanes, Tokenizer(), watch.say)
    watch.say(f"{documents:,} synthetic documents of about 1.2 KB, blocks of {block}")
    typer.echo(stage_table(stage_times(lanes, documents, block), documents))


@corpora_app.callback(invoke_without_command=True)
def corpora_command(context: typer.Context) -> None:
    """List the known corpora: what each needs and its terms of use."""
    if context.invoked_subcommand is not None:
        return
    for corpus in catalogue.CORPORA:
        typer.echo(corpus.source)
        rows = [("  what", corpus.title), ("  needs", corpus.needs), ("  terms", corpus.terms)]
        rows += [("  options", corpus.options)] if corpus.options else []
        rows += [("  ceilings", corpus.ceilings)] if corpus.ceilings else []
        rows += [("  home", corpus.homepage)] if corpus.homepage else []
        rows += [("  fetch", f"wirerank corpora fetch {corpus.name}")] if corpus.archive else []
        for row in rows:
            typer.echo(f"{row[0]:<11}{row[1]}")


@corpora_app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(help="A corpus that may be fetched.")],
    into: Annotated[Path, typer.Option(help="The folder to put it in.")] = Path("corpora"),
) -> None:
    """Fetch a corpus from its home and check it against its known checksum."""
    watch = TerminalWatch()
    try:
        corpus = catalogue.find(name)
        watch.say(f"terms of use: {corpus.terms}")
        into.mkdir(parents=True, exist_ok=True)
        watch.begin(corpus.size)
        path = catalogue.fetch(corpus, into, lambda received, _: watch.advance(received))
    except (SourceError, OSError) as error:
        watch.end()
        fail(str(error), 1)
    watch.end()
    typer.echo(f"{name}:{path}")


def main() -> None:
    """Run the command line."""
    try:
        app()
    except OSError as error:
        # Nothing more can be said to a standard output that is full or gone, not even at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            where = error.filename or "an output"
            typer.echo(f"wirerank: {where} cannot be written: {error.strerror}.", err=True)
        sys.exit(1)
