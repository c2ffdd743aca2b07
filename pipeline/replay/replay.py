"""Replay a source through the engine in this process, without Kafka."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from pipeline.corpora import Source, SourceError, open_source, remarks_for
from pipeline.engine.engine import Engine
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import RankingWriter
from pipeline.engine.warmup import warm_up
from pipeline.events.dead_letters import DeadLetterFile
from pipeline.events.formats import new_decoder
from pipeline.events.suggestions import as_toml
from pipeline.events.usability import Usability
from pipeline.interruption import Interruption
from pipeline.log.block import Block
from pipeline.log.block_reader import BlockReader, SourceBlock
from pipeline.log.prefetcher import Prefetcher
from pipeline.models.model import Model
from pipeline.page.feed import Feed
from pipeline.page.samples import ENDED, FAILED, INTERRUPTED, ReadProgress
from pipeline.printable import printable
from pipeline.replay.progress import Progress
from pipeline.replay.rankings_output import RankingsOutput, open_rankings
from pipeline.replay.resuming import input_settings, new_engine, resumed_lines, start_in
from pipeline.replay.saving import ModelSaver
from pipeline.replay.settings import ReplaySettings, check_settings
from pipeline.reports.loss_table import LossTable
from pipeline.reports.plots import plot_curves
from pipeline.reports.report import Report, make_report, write_curves, write_report
from pipeline.snapshots.new_deciders import new_deciders
from pipeline.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from pipeline.metrics.replay_metrics import ReplayMetrics

# How long a thread may hold the interpreter lock. Kernels run without the lock and take it back
# when they finish. With Python's default of 5 ms they would wait longer than they work.
SWITCH_INTERVAL_SECONDS = 0.0001


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """How a replay ended: its report, its dead letters, and what stopped it early, if anything."""

    report: Report
    dead_letters: DeadLetterFile
    interrupted: int | None  # the signal that stopped it
    failure: SourceError | None
    unwritten: list[OSError]  # why outputs of the whole run are missing


def describe(settings: ReplaySettings, engine: Engine) -> Iterator[str]:
    """Describe the settings in force, line by line."""
    features = settings.engine.features
    source = printable(settings.source)
    yield f"source = {source}   block = {settings.block}   lanes = {len(engine.lanes)}"
    yield (
        f"features = {features.description}   statistics = running   "
        f"profile = {settings.profile}   max_terms = {features.max_terms:,}   "
        f"min_df = {features.min_df}"
    )
    count = len(engine.topics.declared)
    declared = f"{count:,} declared" if count else "discovered"
    yield (
        f"topics = {declared}, at most {engine.topics.max_topics:,}   "
        f"max_pending = {engine.pending.max_pending:,}   "
        f"max_pending_bytes = {engine.pending.max_bytes:,}"
    )


def replay(
    settings: ReplaySettings,
    progress: Progress,
    feed: Feed | None = None,
    model: Model | None = None,
) -> ReplayResult:
    """Rank and learn a source with all lanes, write the outputs, and feed the page, if any.

    With a `model` the run goes on from it, as if there had been no break.
    """
    feed = feed or Feed()
    check_settings(settings)
    source = open_source(settings.source, settings.max_event_bytes, settings.format)
    engine = new_engine(settings, source, model)
    lanes = [lane.spec for lane in engine.lanes]
    tokenizer = Tokenizer(settings.profile)
    for line in (*describe(settings, engine), *remarks_for(settings.source)):
        progress.say(line)
    for line in resumed_lines(model, engine) if model else ():
        progress.say(line)
    for warning in new_deciders(engine):
        progress.warn(warning)
    metrics = serve_metrics(settings, progress)
    warm_up(lanes, tokenizer, progress.say, source)
    if settings.source == "-" and sys.stdin.isatty():
        progress.say(
            "reading events from the terminal, one JSON object per line; press Ctrl-D to end"
        )
    total = expected_events(source, settings.limit)
    dead_letters = DeadLetterFile(settings.dead_letters, settings.source, settings.max_event_bytes)
    interruption = Interruption()
    failure: SourceError | None = None
    unwritten = list[OSError]()
    with ExitStack() as stack:
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        stack.callback(engine.close)
        if metrics is not None:
            stack.callback(metrics.close)
        stack.callback(dead_letters.close)
        stack.enter_context(interruption.installed())
        place = start_in(settings, source, model, interruption, progress)
        if model is not None:
            dead_letters.counts.update(model.run.dead_letters)
        written = model.run.rankings if model and place.is_known else None
        writer = RankingWriter([lane.name for lane in lanes], settings.top)
        output = settings.rankings if place.is_found else None
        rankings = open_rankings(output, writer, stack, written)
        saver = ModelSaver(
            settings.save, settings.save_every, engine, input_settings(settings), dead_letters,
            rankings, place.digest.so_far,
        )  # fmt: skip
        reader = BlockReader(
            source, tokenizer, settings.block, settings.limit, settings.max_event_bytes,
            new_decoder(settings.format, settings.fields), place,
        )  # fmt: skip
        if metrics is not None:
            metrics.begin(engine, place.digest.events)
        progress.begin(total)
        stack.callback(progress.end)
        feed.begin(engine, ReadProgress(place.digest.events, total))
        run = Run(engine, progress, feed, metrics, dead_letters, rankings, saver, total)
        try:
            try:
                for reading in read_until_stopped(reader, interruption, stack, metrics, feed):
                    run.take(reading)
            except SourceError as error:
                failure = error
            if place.is_found:
                unwritten += failures([partial(saver.finish, progress)])
        finally:  # however a run ends, keep the results so far
            report = run.end(run_settings(settings, interruption))
            state = FAILED if failure else INTERRUPTED if interruption.signal else ENDED
            feed.end(state, run.seconds, str(failure or ""))
            unwritten += failures(final_outputs(settings, engine, report))
    return ReplayResult(report, dead_letters, interruption.signal, failure, unwritten)


class Run:
    """Everything that takes part in a run, block by block."""

    def __init__(
        self,
        engine: Engine,
        progress: Progress,
        feed: Feed,
        metrics: ReplayMetrics | None,
        dead_letters: DeadLetterFile,
        rankings: RankingsOutput | None,
        saver: ModelSaver,
        total: int | None,
    ) -> None:
        self._engine = engine
        self._progress = progress
        self._feed = feed
        self._metrics = metrics
        self._dead_letters = dead_letters
        self._rankings = rankings
        self._saver = saver
        self._total = total
        self._table = LossTable(engine.lanes, progress.say)
        self._usability = Usability(kafka=False)
        self._before = engine.documents  # those of the model that the run resumed
        self._started = time.perf_counter()
        self._ended: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds from the beginning of the run to its end, or until now."""
        return (self._ended or time.perf_counter()) - self._started

    @property
    def learned(self) -> int:
        """The documents of this run."""
        return self._engine.documents - self._before

    def take(self, reading: SourceBlock) -> None:
        """Rank and learn a block, write its rankings, and tell everybody who watches."""
        self._dead_letters.write(reading.dead_letters)
        warn_of_letters(self._usability, reading, self._progress)
        letters = self._dead_letters.counts.total()
        standing = ReadProgress(reading.events, self._total, letters)
        began = time.perf_counter()
        segments = learn_block(self._engine, reading.block, self._rankings, self._feed, standing)
        if self._metrics is not None:
            self._metrics.block(self._engine, reading, time.perf_counter() - began)
        self._progress.block_learned(reading.block, segments)
        self._progress.advance(reading.events)
        self._saver.note(reading.read, self._progress)
        self._table.update(self.learned / self.seconds)

    def end(self, settings: dict[str, str | int | float]) -> Report:
        """Return the report of the run, and show the last line of each lane."""
        self._ended = time.perf_counter()
        self._table.finish(self.learned / self.seconds)
        warn(self._progress, self._usability.end())
        letters = self._dead_letters.counts.total()
        return make_report(self._engine, self.seconds, letters, settings, self.learned)


def warn_of_letters(usability: Usability, reading: SourceBlock, progress: Progress) -> None:
    """Warn if hardly any event can be used."""
    letters = reading.dead_letters
    refused = [(*letter.refusal, letter.raw) for letter in letters]
    warn(progress, usability.note(len(reading.block.entries) + len(letters), refused))


def warn(progress: Progress, warning: str | None) -> None:
    """Show a warning, if there is one."""
    if warning is not None:
        progress.warn(warning)


def serve_metrics(settings: ReplaySettings, progress: Progress) -> ReplayMetrics | None:
    """Serve metrics if `--metrics` was given, and show their address."""
    if settings.metrics is None:
        return None
    from pipeline.metrics.replay_metrics import ReplayMetrics  # noqa: PLC0415 - slow to import

    metrics = ReplayMetrics(settings.source, settings.metrics, settings.metric_topics)
    progress.say(f"metrics = {metrics.url}")
    return metrics


def read_until_stopped(
    reader: BlockReader,
    interruption: Interruption,
    stack: ExitStack,
    metrics: ReplayMetrics | None,
    feed: Feed,
) -> Iterator[SourceBlock]:
    """Read blocks, prepared by another thread, until the source ends or a signal arrives."""
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


def learn_block(
    engine: Engine,
    block: Block,
    rankings: RankingsOutput | None,
    feed: Feed,
    standing: ReadProgress,
) -> list[RankedSegment]:
    """Rank and learn a block, write its rankings, and feed the page; returns the rankings."""
    lanes = range(len(engine.lanes))
    segments = []
    for segment in engine.process(block, feed.wanted(last=standing.read == standing.total)):
        segments.append(segment)
        feed.take(segment)
        if rankings is not None:
            rankings.write(segment, engine.topics.names, lanes)
    if rankings is not None:
        rankings.flush()
    feed.advance(block, standing)
    return segments


def run_settings(
    settings: ReplaySettings, interruption: Interruption
) -> dict[str, str | int | float]:
    """The settings of a run, for its report."""
    features = settings.engine.features
    return {
        "version": version("wirerank"),
        "source": settings.source.encode("utf-8", "replace").decode(),
        "topics": str(settings.topics or ""),
        "limit": settings.limit,
        "format": settings.format,
        "fields": as_toml(settings.fields.settings) if settings.fields else "",
        "profile": settings.profile,
        "slope": features.slope,
        "pivot": features.pivot,
        "text_norm": features.norm,
        "max_terms": features.max_terms,
        "min_df": features.min_df,
        "max_topics": settings.engine.max_topics,
        "max_pending": settings.engine.max_pending,
        "max_pending_bytes": settings.engine.max_pending_bytes,
        "interrupted": interruption.signal is not None,
    }


def expected_events(source: Source, limit: int) -> int | None:
    """The number of events that a run will read, if known."""
    return min(limit, source.total) if limit and source.total else limit or source.total


def final_outputs(
    settings: ReplaySettings, engine: Engine, report: Report
) -> Iterator[Callable[[], None]]:
    """Yield what writes the outputs that need the whole run: curves, report and plot."""
    if settings.curves:
        yield partial(write_curves, settings.curves, engine.lanes)
    if settings.report:
        yield partial(write_report, settings.report, report)
    if settings.plot:
        yield partial(plot_curves, settings.plot, engine.lanes, settings.source)


def failures(writers: Iterable[Callable[[], None]]) -> Iterator[OSError]:
    """Call all writers, and yield the errors: an output that fails does not cost the others."""
    for write in writers:
        try:
            write()
        except OSError as error:
            yield error
