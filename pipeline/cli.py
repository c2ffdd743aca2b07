"""The command line: `wirerank replay`, `corpora`, `lanes`, `inspect`, `bench`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from learners.learner import MOST, OptionError
from learners.specs import LANE_OPTIONS, LEARNERS
from pipeline.bench import stage_table, stage_times
from pipeline.corpora import SourceError, catalogue
from pipeline.engine import EngineSettings
from pipeline.errors import UsageError
from pipeline.events import MAX_EVENT_BYTES
from pipeline.features import FeatureSettings
from pipeline.formats import FORMATS
from pipeline.inspection import inspect
from pipeline.inspection_tables import as_json, description, listing, shown
from pipeline.outputs import STANDARD_OUTPUT
from pipeline.pacing import AS_FAST_AS_IT_GOES, read_speed
from pipeline.playing import Played, Player, PlaySettings
from pipeline.replay import (
    DEFAULT_LANES,
    Outcome,
    ReplaySettings,
    read_lanes,
    replay,
)
from pipeline.report import comparison, remarks, sizes
from pipeline.terminal import TerminalWatch
from pipeline.tokenizer import PROFILES, Tokenizer
from pipeline.warmup import warm_up

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


def fail(message: str, code: int = 2) -> NoReturn:
    """End with a message on standard error."""
    typer.echo(f"wirerank: {message}", err=True)
    raise typer.Exit(code)


@app.command("replay")
def replay_command(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="FILE.jsonl, FILE.jsonl.gz, - (standard input) or kind:PATH; "
            "`wirerank corpora` lists the kinds."
        ),
    ],
    lane: Annotated[
        list[str] | None,
        typer.Option(
            help="A lane, e.g. mmp:loss=1 (repeat for several); see `wirerank lanes`. "
            f"Default: {', '.join(DEFAULT_LANES)}.",
            metavar="SPEC",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, max=MOST, help="Read so many events; 0 reads all.")
    ] = 0,
    block: Annotated[
        int,
        typer.Option(min=1, max=100_000, help="Events to a block; results do not depend on it."),
    ] = 1024,
    format_: Annotated[
        str, typer.Option("--format", help=f"What the events are: {' or '.join(FORMATS)}.")
    ] = "wirerank",
    profile: Annotated[
        str, typer.Option(help=f"How text is cut: {' or '.join(PROFILES)}.")
    ] = "reuters2000",
    topics: Annotated[
        Path | None, typer.Option(help="A file that declares topics, one per line.")
    ] = None,
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
    dead_letters: Annotated[
        Path, typer.Option(help="Malformed events go here, if there are any (JSON lines).")
    ] = Path("wirerank-dead-letters.jsonl"),
    max_event_bytes: Annotated[
        int, typer.Option(min=100, max=1 << 30, help="A longer event is a dead letter.")
    ] = MAX_EVENT_BYTES,
    max_terms: Annotated[
        int, typer.Option(min=16, max=MOST, help="Ceiling of the vocabulary.")
    ] = FeatureSettings().max_terms,
    min_df: Annotated[
        int, typer.Option(min=1, max=MOST, help="A term counts from its so-many-th document on.")
    ] = 1,
    max_topics: Annotated[
        int, typer.Option(min=1, max=MOST, help="Ceiling of the topics.")
    ] = EngineSettings().max_topics,
    max_pending: Annotated[
        int, typer.Option(min=0, max=MOST, help="Ceiling of documents that wait for late labels.")
    ] = EngineSettings().max_pending,
    metrics: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            metavar="PORT",
            help="Serve metrics for Prometheus at this port of 127.0.0.1 while it runs; 0 is any.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No narration.")] = False,
    kafka: Annotated[
        str | None,
        typer.Option(
            help="Write the events to a topic of this broker instead; the workers of "
            "`wirerank run` rank and learn them. The same command goes on after a stop.",
            metavar="HOST:PORT",
        ),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="The topic; made if it is missing.", metavar="NAME")
    ] = None,
    speed: Annotated[
        str,
        typer.Option(
            help="As fast as it goes (max), or paced by the events' times: 60x is an hour in a "
            "minute.",
            metavar="max|FACTORx",
        ),
    ] = AS_FAST_AS_IT_GOES,
    until_ranked: Annotated[
        bool, typer.Option("--until-ranked", help="Wait until every event was ranked.")
    ] = False,
    times: Annotated[
        int,
        typer.Option(
            "--pass", min=1, max=MOST, help="2 plays a source that is there already a second time."
        ),
    ] = 1,
) -> None:
    """Replay a corpus through one or more lanes, as if it were live; or, with --kafka, to a topic.

    Narration goes to standard error, the comparison of the lanes to standard output.
    """
    check_options(context, kafka)
    if profile not in PROFILES:
        fail(f"--profile must be one of {', '.join(PROFILES)}. Got {profile!r}.")
    if format_ not in FORMATS:
        fail(f"--format must be one of {', '.join(FORMATS)}. Got {format_!r}.")
    if kafka is not None:
        if topic is None:
            fail("--kafka needs --topic NAME: the topic that the events are written to.")
        try:
            to_play = PlaySettings(
                source, kafka, topic, read_speed(speed), until_ranked, times, limit, format_,
                max_event_bytes,
            )  # fmt: skip
            play(to_play, quiet)
        except (UsageError, SourceError) as error:
            fail(str(error))
        return
    settings = ReplaySettings(
        source=source, lanes=tuple(lane or DEFAULT_LANES), limit=limit, block=block,
        format=format_, profile=profile, topics=topics, rankings=rankings, top=top,
        curves=curves, report=report, plot=plot, dead_letters=dead_letters,
        max_event_bytes=max_event_bytes, metrics=metrics,
        engine=EngineSettings(
            FeatureSettings(max_terms=max_terms, min_df=min_df), max_topics, max_pending
        ),
    )  # fmt: skip
    try:
        watch = TerminalWatch(quiet, bar=rankings != STANDARD_OUTPUT or not sys.stdout.isatty())
        outcome = replay(settings, watch)
    except (UsageError, OptionError, SourceError) as error:
        fail(str(error))
    conclude(settings, outcome, quiet)


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


def conclude(settings: ReplaySettings, outcome: Outcome, quiet: bool) -> None:
    """Show the comparison, say what was put aside and where things are, and end accordingly."""
    written = (settings.rankings, settings.curves, settings.report, settings.plot)
    typer.echo(comparison(outcome.report), err=STANDARD_OUTPUT in written)
    if not quiet:
        typer.echo(sizes(outcome.report), err=True)
    for line in remarks(outcome.report):  # what may be missing is said to the quiet too
        typer.echo(line, err=True)
    letters = outcome.dead_letters
    if letters.counts:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(letters.counts.items()))
        total = f"{letters.counts.total():,} ({reasons})"
        typer.echo(f"malformed events, put aside in {letters.path}: {total}", err=True)
    names = ", ".join(str(path) for path in written if path and path != STANDARD_OUTPUT)
    if names and not quiet:
        typer.echo(f"written: {names}", err=True)
    if outcome.failure is not None:
        fail(str(outcome.failure), 1)
    if outcome.interrupted is not None:
        message = "interrupted; the numbers above are those of what was read so far."
        fail(message, 128 + outcome.interrupted)
    if letters.counts and not any(lane["documents"] for lane in outcome.report.values()):
        fail("no event could be used; see the dead letters for the reasons.", 1)


@app.command("lanes")
def lanes_command() -> None:
    """List the learners that a lane can have, and their options."""
    for name, learner in LEARNERS.items():
        typer.echo(f"{name}: {learner.summary}")
        rows = [
            (f"  {option.name}={option.default}", option.help, f"({option.rule})")
            for option in (*learner.options, *LANE_OPTIONS)
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
