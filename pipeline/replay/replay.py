"""Replay a corpus through the engine in one process: the embedded way to run Wirerank."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING

from learners.specs import LaneSpec, parse_spec, resolved
from pipeline.corpora import Source, SourceError, open_source, remarks_for, source_path
from pipeline.engine.engine import Engine, EngineSettings, RankedSegment
from pipeline.engine.ranking_events import RankingWriter
from pipeline.engine.warmup import warm_up
from pipeline.errors import UsageError
from pipeline.events.dead_letters import DeadLetterFile
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.events.formats import FORMATS
from pipeline.interruption import Interruption
from pipeline.log.block import Block
from pipeline.log.block_reader import BlockReader, SourceBlock
from pipeline.log.prefetcher import Prefetcher
from pipeline.page.feed import Feed
from pipeline.page.samples import ENDED, FAILED, INTERRUPTED, Standing
from pipeline.replay.watch import Watch
from pipeline.reports.loss_table import LossTable
from pipeline.reports.plots import check_plot, plot_curves
from pipeline.reports.report import Report, make_report, write_curves, write_report
from pipeline.storage.output_files import STANDARD_OUTPUT, check_outputs
from pipeline.text.tokenizer import PROFILES, Tokenizer

if TYPE_CHECKING:
    from pipeline.metrics.replay_metrics import ReplayMetrics

DEFAULT_LANES = ("mmp:loss=1", "mmp:loss=2", "mmp:loss=3", "perceptron")


# How long a thread may keep the interpreter to itself. Kernels run without it and need it back
# when they are done; with the usual 5 ms they would wait longer than they work.
SWITCH_INTERVAL_SECONDS = 0.0001


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """What to replay, through which lanes, and what to write."""

    source: str
    lanes: tuple[str, ...] = DEFAULT_LANES
    limit: int = 0
    block: int = 1024
    format: str = "wirerank"
    profile: str = "reuters2000"
    topics: Path | None = None
    rankings: Path | None = None
    top: int = 10
    curves: Path | None = None
    report: Path | None = None
    plot: Path | None = None
    dead_letters: Path = Path("wirerank-dead-letters.jsonl")
    max_event_bytes: int = MAX_EVENT_BYTES
    metrics: int | None = None  # the port to serve them on; 0 is any free one
    metric_topics: int = 0  # how many topics have a loss of their own there
    engine: EngineSettings = field(default_factory=EngineSettings)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a replay ended: its report, what was put aside, and what stopped it, if anything did."""

    report: Report
    dead_letters: DeadLetterFile
    interrupted: int | None  # by which signal
    failure: SourceError | None


def read_topics(path: Path) -> list[str]:
    """A list of topics, one per line; blank lines are passed over."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The list of topics {path} cannot be read: {error}.") from None
    return [line.strip() for line in lines if line.strip()]


def read_lanes(texts: Sequence[str]) -> list[LaneSpec]:
    """The lanes that were asked for; each needs a name of its own."""
    lanes = [parse_spec(text) for text in texts]
    names = [lane.name for lane in lanes]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"Two lanes are called {name!r}; tell them apart with name=...")
    return resolved(lanes)


def check_choice(option: str, value: str, known: Iterable[str]) -> None:
    """Refuse what is not among the known."""
    if value not in known:
        raise UsageError(f"{option} must be one of {', '.join(known)}. Got {value!r}.")


def check_settings(settings: ReplaySettings) -> None:
    """Refuse what could only fail at the end of a long run, or would destroy something."""
    check_choice("--profile", settings.profile, PROFILES)
    check_choice("--format", settings.format, FORMATS)
    written = (settings.rankings, settings.curves, settings.report, settings.plot)
    outputs = [path for path in (*written, settings.dead_letters) if path is not None]
    read = [] if settings.source == "-" else [source_path(settings.source)]
    if settings.dead_letters == STANDARD_OUTPUT:
        raise UsageError("--dead-letters must be a file; standard output is for results.")
    check_outputs(outputs, [*read, settings.topics] if settings.topics else read)
    if settings.plot:
        check_plot(settings.plot)
    if settings.metric_topics and settings.metrics is None:
        raise UsageError("--metric-topics adds to the metrics; ask for them with --metrics PORT.")


def describe(settings: ReplaySettings, engine: Engine) -> Iterator[str]:
    """The settings in force."""
    features = settings.engine.features
    yield f"source = {settings.source}   block = {settings.block}   lanes = {len(engine.lanes)}"
    yield (
        f"features = pivoted(slope={features.slope:.2f})   statistics = running   "
        f"profile = {settings.profile}   max_terms = {features.max_terms:,}   "
        f"min_df = {features.min_df}"
    )
    declared = f"{len(engine.topics):,} declared" if len(engine.topics) else "discovered"
    yield (
        f"topics = {declared}, at most {engine.topics.max_topics:,}   "
        f"max_pending = {engine.pending.max_pending:,}"
    )


def replay(settings: ReplaySettings, watch: Watch, feed: Feed | None = None) -> Outcome:
    """Run a source through the lanes, write what was asked for, and feed a page if there is one."""
    feed = feed or Feed()
    check_settings(settings)
    lanes = read_lanes(settings.lanes)
    source = open_source(settings.source, settings.max_event_bytes)
    declared = read_topics(settings.topics) if settings.topics else source.topics
    engine = Engine(lanes, declared, settings.engine)
    tokenizer = Tokenizer(settings.profile)
    for line in (*describe(settings, engine), *remarks_for(settings.source)):
        watch.say(line)
    metrics = serve_metrics(settings, watch)
    warm_up(lanes, tokenizer, watch.say, source)
    if settings.source == "-" and sys.stdin.isatty():
        watch.say("reading events from the terminal, one JSON object a line; Ctrl-D ends")
    total = expected(source, settings.limit)
    dead_letters = DeadLetterFile(settings.dead_letters, settings.source, settings.max_event_bytes)
    reader = BlockReader(
        source,
        tokenizer,
        settings.block,
        settings.limit,
        settings.max_event_bytes,
        FORMATS[settings.format],
    )
    interruption = Interruption()
    failure: SourceError | None = None
    started = time.perf_counter()
    with ExitStack() as stack:
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        stack.callback(engine.close)
        if metrics is not None:
            stack.callback(metrics.close)
            metrics.begin(engine)
        stack.callback(dead_letters.close)
        stack.enter_context(interruption.installed())
        rankings = open_rankings(settings.rankings, stack)
        writer = RankingWriter([lane.name for lane in lanes], settings.top)
        watch.begin(total)
        stack.callback(watch.end)
        feed.begin(engine, Standing(0, total))
        table = LossTable(engine.lanes, watch.say)
        try:
            for reading in until_stopped(reader, interruption, stack, metrics, feed):
                dead_letters.write(reading.dead_letters)
                standing = Standing(reading.events, total, dead_letters.counts.total())
                began = time.perf_counter()
                ranked = follow(engine, reading.block, rankings, writer, feed, standing)
                if metrics is not None:
                    metrics.block(engine, reading, time.perf_counter() - began)
                watch.followed(reading.block, ranked)
                watch.advance(reading.events)
                table.update(engine.documents / (time.perf_counter() - started))
        except SourceError as error:
            failure = error
        finally:  # whatever ends a run, what it learned so far is worth keeping
            seconds = time.perf_counter() - started
            table.finish(engine.documents / seconds)
            total_dead = dead_letters.counts.total()
            report = make_report(engine, seconds, total_dead, told(settings, interruption))
            how = FAILED if failure else INTERRUPTED if interruption.signal else ENDED
            feed.end(how, seconds, str(failure or ""))
            write_results(settings, engine, report)
    return Outcome(report, dead_letters, interruption.signal, failure)


def serve_metrics(settings: ReplaySettings, watch: Watch) -> ReplayMetrics | None:
    """Serve metrics if that was asked for, and say where."""
    if settings.metrics is None:
        return None
    from pipeline.metrics.replay_metrics import ReplayMetrics  # noqa: PLC0415 - slow to import

    metrics = ReplayMetrics(settings.source, settings.metrics, settings.metric_topics)
    watch.say(f"metrics = {metrics.url}")
    return metrics


def until_stopped(
    reader: BlockReader,
    interruption: Interruption,
    stack: ExitStack,
    metrics: ReplayMetrics | None,
    feed: Feed,
) -> Iterator[SourceBlock]:
    """The blocks, made ahead by a thread of their own, until somebody asks to stop."""
    readings = Prefetcher(reader)
    stack.callback(readings.close)
    for reading in readings:
        if metrics is not None:
            metrics.health.moved()
        if interruption.signal is not None:
            return
        if reading is None:
            feed.idle()
        else:
            yield reading


def follow(
    engine: Engine,
    block: Block,
    rankings: IO[bytes] | None,
    writer: RankingWriter,
    feed: Feed,
    standing: Standing,
) -> list[RankedSegment]:
    """Rank and learn a block, write its rankings, and show it to the page."""
    lanes = range(len(engine.lanes))
    pieces = []
    for ranked in engine.process(block, feed.wanted(last=standing.read == standing.total)):
        pieces.append(ranked)
        feed.take(ranked)
        if rankings is not None:
            events = writer.write(ranked, engine.topics.names, lanes).to_strings()
            rankings.writelines(event + b"\n" for event in events)
    if rankings is not None:
        rankings.flush()
    feed.advance(block, standing)
    return pieces


def told(settings: ReplaySettings, interruption: Interruption) -> dict[str, str | int | float]:
    """What the report says of how a run was made."""
    features = settings.engine.features
    return {
        "version": version("wirerank"),
        "source": settings.source.encode("utf-8", "replace").decode(),
        "topics": str(settings.topics or ""),
        "limit": settings.limit,
        "format": settings.format,
        "profile": settings.profile,
        "slope": features.slope,
        "max_terms": features.max_terms,
        "min_df": features.min_df,
        "max_topics": settings.engine.max_topics,
        "max_pending": settings.engine.max_pending,
        "interrupted": interruption.signal is not None,
    }


def open_rankings(path: Path | None, stack: ExitStack) -> IO[bytes] | None:
    """The file that rankings go to; `-` is standard output."""
    if path is None:
        return None
    return sys.stdout.buffer if path == STANDARD_OUTPUT else stack.enter_context(path.open("wb"))


def expected(source: Source, limit: int) -> int | None:
    """How many events a run will read, if that is known."""
    return min(limit, source.total) if limit and source.total else limit or source.total


def write_results(settings: ReplaySettings, engine: Engine, report: Report) -> None:
    """Write the files that come at the end."""
    if settings.curves:
        write_curves(settings.curves, engine.lanes)
    if settings.report:
        write_report(settings.report, report)
    if settings.plot:
        plot_curves(settings.plot, engine.lanes, settings.source)
