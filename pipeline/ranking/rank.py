"""Rank a source with a model, without learning from it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from learners.cores import usable_cores
from pipeline.corpora import SourceError, open_source, source_path
from pipeline.errors import UsageError
from pipeline.events.dead_letters import DeadLetterFile
from pipeline.events.event import MAX_EVENT_BYTES, Event
from pipeline.events.fields import FieldMapping
from pipeline.events.formats import check_format, new_decoder
from pipeline.events.usability import Usability
from pipeline.interruption import Interruption
from pipeline.log.block import make_block
from pipeline.log.prefetcher import Prefetcher
from pipeline.models.frozen_lanes import FrozenLanes, load_frozen_lanes
from pipeline.models.model import InputSettings
from pipeline.printable import printable
from pipeline.ranking.batches import Answer, Batch, BatchRanker, batches
from pipeline.ranking.block_ranker import BlockRanker
from pipeline.ranking.evaluation import Evaluation
from pipeline.ranking.processes import RankingPool
from pipeline.replay.progress import Progress
from pipeline.replay.replay import SWITCH_INTERVAL_SECONDS
from pipeline.replay.settings import check_fields
from pipeline.reports.report import Report, write_report
from pipeline.snapshots.new_deciders import new_deciders
from pipeline.storage.output_files import (
    STANDARD_OUTPUT,
    check_outputs,
    naming,
    open_for_results,
)
from pipeline.text.profile import canonical_profile
from pipeline.text.tokenizer import Tokenizer

WARM_UP = (
    Event("1", "wheat and corn", ("grain",), 1, None),
    Event("2", {"oil": 1.0}, ("crude",), 1, None),
)


@dataclass(frozen=True, slots=True)
class RankSettings:
    """Which model ranks which source, and where the rankings go."""

    model: Path
    source: str = "-"
    lanes: tuple[str, ...] = ()  # none: all lanes of the model
    rankings: Path = STANDARD_OUTPUT
    top: int = 10
    why: bool = False
    evaluate: bool = False
    report: Path | None = None
    limit: int = 0
    # None: as the model says.
    format: str | None = None
    fields: FieldMapping | None = None
    profile: str | None = None
    dead_letters: Path = Path("wirerank-dead-letters.jsonl")
    max_event_bytes: int = MAX_EVENT_BYTES
    processes: int = 0  # 0: as many as there are cores

    def __post_init__(self) -> None:
        if self.profile is not None:
            object.__setattr__(self, "profile", canonical_profile(self.profile))


@dataclass(frozen=True, slots=True)
class RankResult:
    """How a run ended."""

    documents: int
    late_labels: int
    unknown_labels: int  # of those that were evaluated: topics that the model does not know
    seconds: float
    report: Report | None  # the measures by lane, if labels were evaluated
    dead_letters: DeadLetterFile
    interrupted: int | None
    failure: SourceError | None


def check_rank_settings(settings: RankSettings) -> None:
    """Refuse settings that would fail late, or overwrite an input."""
    if settings.format is not None:
        check_format(settings.format, "--format")
    if settings.dead_letters == STANDARD_OUTPUT:
        raise UsageError("--dead-letters must be a file: standard output is for results.")
    if settings.report is not None and not settings.evaluate:
        raise UsageError("--report needs --evaluate.")
    written = [settings.rankings, settings.dead_letters]
    written += [settings.report] if settings.report else []
    read = [settings.model]
    read += [] if settings.source == "-" else [source_path(settings.source)]
    if settings.model == STANDARD_OUTPUT:
        raise UsageError("A model cannot be read from standard input; give the name of its file.")
    check_outputs(written, read)


def input_settings(settings: RankSettings, parts: Sequence[FrozenLanes]) -> InputSettings:
    """Return how events become terms: as the options say, or else as the model says."""
    saved = parts[0].input or InputSettings()
    format_, fields = settings.format or saved.format, settings.fields or saved.fields
    if settings.format is not None and settings.fields is None:
        fields = None  # those of the model are for another format
    check_fields(format_, fields)
    profiles = {part.input.profile for part in parts if part.input is not None}
    profile = settings.profile or saved.profile
    if profiles - {profile}:
        raise UsageError(
            f"{settings.model} was made with --profile {', '.join(sorted(profiles))}, so its terms "
            f"are not those of {profile}. Leave --profile out."
        )
    return InputSettings(format_, fields, profile)


def describe(settings: RankSettings, parts: Sequence[FrozenLanes], profile: str) -> Sequence[str]:
    """Describe the model, line by line."""
    lines = [
        f"model = {part.name}   documents = {part.documents:,}   "
        f"topics = {len(part.engine.topics):,}   terms = {len(part.engine.vocabulary):,}   "
        f"lanes = {', '.join(lane.name for lane in part.engine.lanes)}"
        for part in parts
    ]
    if any(part.input is None for part in parts) and settings.profile is None:
        lines.append(
            f"profile = {profile}: the snapshot does not say with which one it was made; give "
            "--profile if the configuration of its stream has another"
        )
    return lines


def rank(settings: RankSettings, progress: Progress) -> RankResult:
    """Rank a source with a model, and write the rankings in the order of the source."""
    check_rank_settings(settings)
    parts = load_frozen_lanes(settings.model, settings.lanes, progress.warn)
    input_ = input_settings(settings, parts)
    source = open_source(settings.source, settings.max_event_bytes, input_.format)
    for line in describe(settings, parts, input_.profile):
        progress.say(printable(line))
    for part in parts:
        for warning in new_deciders(part.engine):
            progress.warn(warning)
    tokenizer = Tokenizer(input_.profile)
    ranker = BlockRanker(parts, settings.top, settings.why, settings.evaluate)
    ranker.rank(make_block(WARM_UP, tokenizer))  # compiled here, so that no process has to
    decode = new_decoder(input_.format, input_.fields)
    batch_ranker = BatchRanker(ranker, tokenizer, decode, settings.max_event_bytes)
    dead_letters = DeadLetterFile(settings.dead_letters, settings.source, settings.max_event_bytes)
    interruption = Interruption()
    failure: SourceError | None = None
    with ExitStack() as stack:
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        stack.callback(dead_letters.close)
        stack.enter_context(interruption.installed())
        output = open_output(settings.rankings, stack)
        pool = stack.enter_context(RankingPool(batch_ranker, settings.processes or usable_cores()))
        evaluations = [Evaluation(part.engine) for part in parts] if settings.evaluate else []
        run = RankRun(output, dead_letters, evaluations, progress)
        total = source.total
        limit = settings.limit
        progress.begin(min(limit, total) if limit and total else limit or total)
        stack.callback(progress.end)
        readings = Prefetcher(batches(source, limit))
        stack.callback(readings.close)
        try:
            for batch in readings:
                if interruption.signal is not None:
                    break
                if batch is not None:
                    pool.put(batch)
                for done, answer in pool.ready():
                    run.take(done, answer)
        except SourceError as error:
            failure = error
        for done, answer in pool.ready(all_of_them=True):
            run.take(done, answer)
        report = run.end(settings, input_) if settings.evaluate else None
    return RankResult(
        run.documents, run.late_labels, run.unknown_labels, run.seconds, report, dead_letters,
        interruption.signal, failure,
    )  # fmt: skip


class RankRun:
    """What a run writes and counts, batch by batch."""

    def __init__(
        self,
        output: IO[bytes],
        dead_letters: DeadLetterFile,
        evaluations: Sequence[Evaluation],
        progress: Progress,
    ) -> None:
        self._output = output
        self._dead_letters = dead_letters
        self._evaluations = evaluations
        self._progress = progress
        self._usability = Usability(kafka=False)
        self._started = time.perf_counter()
        self.documents = self.late_labels = 0

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._started

    @property
    def unknown_labels(self) -> int:
        """Labels of topics that a model does not know."""
        return max((evaluation.unknown_labels for evaluation in self._evaluations), default=0)

    def take(self, batch: Batch, answer: Answer) -> None:
        """Write what became of a batch."""
        self._output.write(answer.rankings)
        self._output.flush()
        self._dead_letters.write(answer.dead_letters)
        letters = [(*letter.refusal, letter.raw) for letter in answer.dead_letters]
        events = answer.documents + answer.late_labels + len(letters)
        warning = self._usability.note(events, letters)
        if warning is not None:
            self._progress.warn(warning)
        self.documents += answer.documents
        self.late_labels += answer.late_labels
        for number, evaluation in enumerate(self._evaluations):
            start = f"{number}/"
            evaluation.add(
                {
                    name.removeprefix(start): array
                    for name, array in answer.places.items()
                    if name.startswith(start)
                }
            )
        self._progress.advance(batch.read)

    def end(self, settings: RankSettings, input_: InputSettings) -> Report:
        """Return the measures by lane, and write them if there is a file for them."""
        own: dict[str, Any] = {
            "model": os.fsencode(settings.model).decode("utf-8", "replace"),
            "source": settings.source.encode("utf-8", "replace").decode(),
            "format": input_.format,
            "profile": input_.profile,
        }
        report: Report = {}
        for evaluation in self._evaluations:
            report.update(evaluation.report(self.documents, own))
        if settings.report is not None:
            write_report(settings.report, report)
        return report


def open_output(path: Path, stack: ExitStack) -> IO[bytes]:
    """Open the file for rankings; `-` is standard output."""
    if path == STANDARD_OUTPUT:
        return sys.stdout.buffer
    stack.enter_context(naming(path))
    return stack.enter_context(open_for_results(path))
