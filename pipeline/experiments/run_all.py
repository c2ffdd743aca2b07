"""Runs all experiments whose data and packages are available, one after the other."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from learners.options import OptionError
from pipeline.corpora import SourceError
from pipeline.errors import UsageError
from pipeline.experiments.data_files import NoDataError, find_data, given_for
from pipeline.experiments.experiment import Experiment, Settings
from pipeline.experiments.runner import RunOutcome, missing_packages, run
from pipeline.interruption import Interruption
from pipeline.printable import printable
from pipeline.replay.progress import Progress
from pipeline.reports.report import aligned

ALL = "all"  # no experiment may have this name
RAN, LEFT_OUT, FAILED, STOPPED, WAITING = "ran", "left out", "FAILED", "interrupted", "not begun"

Kinds = Mapping[str, type[Experiment]]
Show = Callable[[RunOutcome], None]


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """The outcome of one experiment, for the table at the end."""

    name: str
    outcome: str  # RAN, LEFT_OUT, FAILED, STOPPED or WAITING
    about: str = ""  # where its results are, or what is missing, or what went wrong
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RunAllOptions:
    """The options of a run of all experiments; splits=0 means each experiment's own number."""

    data: Sequence[str]
    out: Path
    seed: int = 0
    splits: int = 0
    quick: bool = False
    unconstrained: bool = False
    anew: bool = False

    def settings(self, kind: type[Experiment]) -> Settings:
        """The settings of one experiment."""
        splits = self.splits or kind.splits[self.quick]
        return Settings(self.seed, splits, self.quick, self.unconstrained)


def run_all(
    kinds: Kinds, options: RunAllOptions, progress: Progress, show: Show
) -> tuple[list[SummaryLine], int | None]:
    """Run all experiments; `show` is called with the outcome of each.

    Returns a line per experiment, and the signal that ended the run, if any. When one experiment
    fails, the others are still run.
    """
    check_data(kinds, options.data)
    lines: list[SummaryLine] = []
    interruption = Interruption()
    with interruption.installed():
        for name in kinds:
            if interruption.signal is not None:
                lines.append(SummaryLine(name, WAITING))
                continue
            line, outcome = run_one(name, kinds, options, progress, interruption)
            lines.append(line)
            if outcome is not None and outcome.findings is not None:
                show(outcome)
    return lines, interruption.signal


def check_data(kinds: Kinds, given: Sequence[str]) -> None:
    """Refuse items of --data that are neither a known kind nor an existing path."""
    known = needed(kinds)
    for text in given:
        kind, colon, _ = text.partition(":")
        if not (colon and kind in known) and not Path(text).exists():
            raise UsageError(
                f"--data {text} does not exist; expected a folder, or kind:PATH where kind is one "
                f"of {', '.join(sorted(known))}."
            )


def needed(kinds: Kinds) -> set[str]:
    """The kinds of all corpora that the experiments read."""
    return {need.kind for kind in kinds.values() for need in kind.needs}


def run_one(
    name: str, kinds: Kinds, options: RunAllOptions, progress: Progress, interruption: Interruption
) -> tuple[SummaryLine, RunOutcome | None]:
    """Run one experiment, if its data and packages are available."""
    kind = kinds[name]
    if missing := missing_packages(kind):
        how = f"needs {', '.join(missing)}: pip install 'wirerank[experiments]'"
        return SummaryLine(name, LEFT_OUT, how), None
    out, before = options.out / name, time.perf_counter()
    try:
        data = find_data(kind.needs, given_for(kind.needs, options.data, needed(kinds)))
        experiment = kind(options.settings(kind), data, progress.say)
        outcome = run(experiment, out, options.anew, progress, interruption)
    except NoDataError:
        corpora = " or ".join(f"{need.kind}:PATH ({need.title})" for need in kind.needs)
        return SummaryLine(name, LEFT_OUT, f"needs --data {corpora}"), None
    except (UsageError, OptionError, SourceError) as error:
        progress.say(f"{name} failed: {error}")
        return SummaryLine(name, FAILED, str(error)), None
    except Exception as error:  # the other experiments can still be run
        progress.say(traceback.format_exc())
        return SummaryLine(name, FAILED, f"{type(error).__name__}: {error}"), None
    except KeyboardInterrupt:  # the second Ctrl-C, between two parts or after the last one
        return SummaryLine(name, STOPPED), None
    seconds = time.perf_counter() - before
    if outcome.findings is None:
        done = f"{outcome.done} of {outcome.parts} parts are done and stored"
        return SummaryLine(name, STOPPED, done, seconds), outcome
    return SummaryLine(name, RAN, str(out), seconds), outcome


def summary_table(lines: Sequence[SummaryLine]) -> str:
    """A row per experiment: its outcome, its time, and where its results are or what is missing."""
    rows = [("", "", "s")]
    for line in lines:
        seconds = "" if line.seconds is None else f"{line.seconds:,.1f}"
        rows.append((line.name, line.outcome, seconds))
    first, *texts = aligned(rows).splitlines()
    width = max(map(len, texts), default=0)
    full = (
        f"{text:<{width}}  {printable(line.about)}".rstrip()
        for text, line in zip(texts, lines, strict=True)
    )
    return "\n".join((first, *full))
