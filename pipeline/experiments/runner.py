"""Runs an experiment: the parts that are not done yet, then its tables, files and figures."""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from pipeline.errors import UsageError
from pipeline.experiments.data_files import fingerprints
from pipeline.experiments.experiment import Experiment, Findings, Result
from pipeline.experiments.results_folder import RESULTS, ResultsFolder
from pipeline.interruption import Interruption
from pipeline.replay.progress import Progress
from pipeline.storage.output_files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class RunOutcome(NamedTuple):
    """How a run ended: with findings, or interrupted by a signal."""

    findings: Findings | None
    done: int
    parts: int
    signal: int | None  # may be set together with findings, if it came during the last part
    written: Sequence[Path]


def missing_packages(kind: type[Experiment]) -> list[str]:
    """The packages that an experiment imports and that are not installed."""
    return [name for name in kind.packages if importlib.util.find_spec(name) is None]


def check_packages(kind: type[Experiment]) -> None:
    """Refuse an experiment whose packages are not installed."""
    if missing := missing_packages(kind):
        raise UsageError(
            f"{kind.name} needs {', '.join(missing)}, not installed: run "
            "pip install 'wirerank[experiments]'"
        )


def run(
    experiment: Experiment,
    out: Path,
    anew: bool,
    progress: Progress,
    listening: Interruption | None = None,
) -> RunOutcome:
    """Compute the parts that are not stored yet, then write the tables, figures and results.

    `listening` is given by a caller that handles signals for several experiments.
    """
    progress.say(f"{experiment.name}: {experiment.title}")
    sums = fingerprints(experiment.needs, experiment.data)
    for kind, path in experiment.data.items():
        progress.say(f"{kind}:{path} sha256 {sums[kind]}")
    record = {"experiment": experiment.name, **experiment.recorded_settings(), "sha256": sums}
    folder = ResultsFolder(out, record, anew)
    parts = list(experiment.parts())
    folder.begin(len(parts))
    results = experiment.known
    interruption = listening or Interruption()
    progress.begin(len(parts))
    try:
        with nullcontext() if listening else interruption.installed():
            for part in parts:
                kept = folder.kept(part.name)
                if kept is None:
                    before = time.perf_counter()
                    kept = part.run()
                    seconds = time.perf_counter() - before
                    folder.keep(part.name, kept, seconds)
                    progress.say(f"{part.name}: {seconds:,.1f} s")
                results[part.name] = kept
                progress.advance(len(results))
                if interruption.signal is not None and len(results) < len(parts):
                    return RunOutcome(None, len(results), len(parts), interruption.signal, ())
    except KeyboardInterrupt:  # the second Ctrl-C: the current part is abandoned
        return RunOutcome(None, len(results), len(parts), interruption.signal, ())
    finally:
        progress.end()
    findings = experiment.findings(results)
    about = {
        **record,
        "title": experiment.title,
        "paper": experiment.paper,
        "splits": experiment.settings.splits,
        "data": {kind: str(path) for kind, path in experiment.data.items()},
        "versions": versions(experiment.packages),
        "run": provenance(experiment, folder, list(results)),
    }
    written = write_findings(folder, about, findings, results)
    return RunOutcome(findings, len(parts), len(parts), interruption.signal, written)


def provenance(
    experiment: Experiment, folder: ResultsFolder, parts: Sequence[str]
) -> dict[str, Any]:
    """When, for how long and by which versions the parts were computed, over all runs.

    A value is null if it is unknown for some part, because an earlier version stored that part.
    """
    made = [one for part in parts if (one := folder.part_run(part))]
    whole = len(made) == len(parts) > 0
    return {
        "settings": asdict(experiment.settings),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "wirerank": sorted({one.wirerank for one in made}) if whole else None,
        "seconds": round(sum(one.seconds for one in made), 3) if whole else None,
        "finished": max(one.finished for one in made) if whole else None,
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions of Python, Wirerank and the packages that computed the numbers."""
    by_name = {"python": platform.python_version(), "wirerank": version("wirerank")}
    for name in ("numpy", "numba", *packages):
        by_name[name] = str(importlib.import_module(name).__version__)
    return by_name


def write_findings(
    folder: ResultsFolder,
    about: Mapping[str, object],
    findings: Findings,
    results: Mapping[str, Result],
) -> list[Path]:
    """Write CSV files, figures and `results.json`; return the paths that were written."""
    files = {f"{table.name}.csv": table.csv() for table in findings.tables}
    files |= {f"{series.name}.csv": series.csv for series in findings.series}
    drawings = []
    for drawing in findings.drawings:
        figure = drawing.draw()
        files |= figure_files(drawing.name, figure)
        drawings.append({"name": drawing.name, **described(figure)})
    whole = {
        **about,
        "tables": {table.name: table.json() for table in findings.tables},
        "series": [series.name for series in findings.series],
        "drawings": drawings,
        "remarks": list(findings.remarks),
        "parts": dict(results),
    }
    # Written last: when it exists, all the files that it names exist.
    files[RESULTS] = orjson.dumps(whole, option=orjson.OPT_INDENT_2) + b"\n"
    folder.will_write(list(files))
    for name, content in files.items():
        write_whole(folder.path / name, content)
    return [folder.path / name for name in files]


def figure_files(name: str, figure: Figure) -> dict[str, bytes]:
    """A figure as PNG and as SVG, without the date, so that the files are the same every time."""
    files = {}
    for kind, options in (("png", {"dpi": 140}), ("svg", {"metadata": {"Date": None}})):
        content = io.BytesIO()
        figure.savefig(content, format=kind, **options)
        files[f"{name}.{kind}"] = content.getvalue()
    return files


def described(figure: Figure) -> dict[str, str]:
    """The title of a figure, and a text that describes it for readers who cannot see it."""
    panels = []
    for axis in figure.axes:
        ticks = (tick.get_text() for tick in axis.get_yticklabels())
        rows = [text for text in ticks if text[:1].isalpha()]  # names of methods, not numbers
        lines = [label for label in axis.get_legend_handles_labels()[1] if label]
        measures = " against ".join(filter(None, (axis.get_ylabel(), axis.get_xlabel())))
        shown = "; ".join(", ".join(names) for names in (lines, rows) if names)
        title = " ".join(axis.get_title().split())  # without line breaks
        panels.append(f"{title}: {measures}" + (f" ({shown})" if shown else ""))
    return {"title": figure.get_suptitle(), "text": ". ".join(panels) + "."}
