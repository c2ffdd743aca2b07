"""Runs every experiment whose data and packages are there, one after the other."""

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
from pipeline.replay.progress import Progress
from pipeline.reports.report import aligned

ALL = "all"  # no experiment may be called so
RAN, LEFT_OUT, FAILED, STOPPED, WAITING = "ran", "left out", "FAILED", "interrupted", "not begun"

Kinds = Mapping[str, type[Experiment]]
Show = Callable[[RunOutcome], None]


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """What became of an experiment."""

    name: str
    word: str
    about: str = ""  # where its results are, or what is missing, or what went wrong
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RunAllOptions:
    """What a person chose about all of them; no splits are as many as each paper has."""

    data: Sequence[str]
    out: Path
    seed: int = 0
    splits: int = 0
    quick: bool = False
    unconstrained: bool = False
    anew: bool = False

    def settings(self, kind: type[Experiment]) -> Settings:
        """The settings of one of them."""
        splits = self.splits or kind.splits[self.quick]
        return Settings(self.seed, splits, self.quick, self.unconstrained)


def run_all(
    kinds: Kinds, choices: RunAllOptions, watch: Progress, show: Show
) -> tuple[list[SummaryLine], int | None]:
    """Run them all; `show` gets what each found. Returns outcomes, and the signal that ended it.

    A failure of one does not keep the others from being run.
    """
    check_data(kinds, choices.data)
    outcomes: list[SummaryLine] = []
    interruption = Interruption()
    with interruption.installed():
        for name in kinds:
            if interruption.signal is not None:
                outcomes.append(SummaryLine(name, WAITING))
                continue
            outcome, ended = run_one(name, kinds, choices, watch, interruption)
            outcomes.append(outcome)
            if ended is not None and ended.findings is not None:
                show(ended)
    return outcomes, interruption.signal


def check_data(kinds: Kinds, given: Sequence[str]) -> None:
    """Refuse data that no experiment can have meant."""
    known = needed(kinds)
    for text in given:
        kind, colon, _ = text.partition(":")
        if not (colon and kind in known) and not Path(text).exists():
            raise UsageError(
                f"--data {text} does not exist; expected a folder, or kind:PATH where kind is one "
                f"of {', '.join(sorted(known))}."
            )


def needed(kinds: Kinds) -> set[str]:
    """The kinds of all corpora that experiments read."""
    return {need.kind for kind in kinds.values() for need in kind.needs}


def run_one(
    name: str, kinds: Kinds, choices: RunAllOptions, watch: Progress, interruption: Interruption
) -> tuple[SummaryLine, RunOutcome | None]:
    """Run one of them, if it can be run."""
    kind = kinds[name]
    if missing := missing_packages(kind):
        how = f"needs {', '.join(missing)}: pip install 'wirerank[experiments]'"
        return SummaryLine(name, LEFT_OUT, how), None
    out, before = choices.out / name, time.perf_counter()
    try:
        data = find_data(kind.needs, given_for(kind.needs, choices.data, needed(kinds)))
        experiment = kind(choices.settings(kind), data, watch.say)
        ended = run(experiment, out, choices.anew, watch, interruption)
    except NoDataError:
        corpora = " or ".join(f"{need.kind}:PATH ({need.title})" for need in kind.needs)
        return SummaryLine(name, LEFT_OUT, f"needs --data {corpora}"), None
    except (UsageError, OptionError, SourceError) as error:
        watch.say(f"{name} failed: {error}")
        return SummaryLine(name, FAILED, str(error)), None
    except Exception as error:  # whatever it is, the others can still be run
        watch.say(traceback.format_exc())
        return SummaryLine(name, FAILED, f"{type(error).__name__}: {error}"), None
    except KeyboardInterrupt:  # asked for a second time, between two parts or after the last
        return SummaryLine(name, STOPPED), None
    seconds = time.perf_counter() - before
    if ended.findings is None:
        done = f"{ended.done} of {ended.parts} parts are done and kept"
        return SummaryLine(name, STOPPED, done, seconds), ended
    return SummaryLine(name, RAN, str(out), seconds), ended


def summary_table(outcomes: Sequence[SummaryLine]) -> str:
    """What became of each, and below it what to do about those that were not run."""
    rows = [("", "", "s")]
    for one in outcomes:
        seconds = "" if one.seconds is None else f"{one.seconds:,.1f}"
        rows.append((one.name, one.word, seconds))
    first, *lines = aligned(rows).splitlines()
    width = max(map(len, lines), default=0)
    told = (
        f"{line:<{width}}  {outcome.about}".rstrip()
        for line, outcome in zip(lines, outcomes, strict=True)
    )
    return "\n".join((first, *told))
