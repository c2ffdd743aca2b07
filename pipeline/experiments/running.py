"""Runs an experiment: what is not done yet, part by part; then its tables, files and pictures."""

from __future__ import annotations

import importlib
import importlib.util
import io
import platform
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import orjson

from pipeline.errors import UsageError
from pipeline.experiments.experiment import Drawing, Experiment, Findings, Result
from pipeline.experiments.finding_data import fingerprints
from pipeline.experiments.keeping import Folder
from pipeline.interruption import Interruption
from pipeline.outputs import write_whole
from pipeline.replay import Watch


class Ended(NamedTuple):
    """How a run ended: with findings, or before them by a signal."""

    findings: Findings | None
    done: int
    parts: int
    signal: int | None
    written: Sequence[Path]


def check_packages(kind: type[Experiment]) -> None:
    """Refuse an experiment whose packages are not installed."""
    missing = [name for name in kind.packages if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{kind.name} needs {', '.join(missing)}, not installed: "
            "pip install 'wirerank[experiments]'"
        )


def run(experiment: Experiment, out: Path, anew: bool, watch: Watch) -> Ended:
    """Compute the parts that are not there yet, and write everything that follows from them."""
    watch.say(f"{experiment.name}: {experiment.title}")
    sums = fingerprints(experiment.needs, experiment.data)
    for kind, path in experiment.data.items():
        watch.say(f"{kind}:{path} sha256 {sums[kind]}")
    record = {"experiment": experiment.name, **experiment.choices(), "sha256": sums}
    folder = Folder(out, record, anew)
    parts = list(experiment.parts())
    results = experiment.known
    interruption = Interruption()
    watch.begin(len(parts))
    try:
        with interruption.installed():
            for part in parts:
                kept = folder.kept(part.name)
                if kept is None:
                    before = time.perf_counter()
                    kept = part.run()
                    folder.keep(part.name, kept)
                    watch.say(f"{part.name}: {time.perf_counter() - before:,.1f} s")
                results[part.name] = kept
                watch.advance(len(results))
                if interruption.signal is not None and len(results) < len(parts):
                    return Ended(None, len(results), len(parts), interruption.signal, ())
    except KeyboardInterrupt:  # asked for a second time: the part at hand is given up
        return Ended(None, len(results), len(parts), interruption.signal, ())
    finally:
        watch.end()
    findings = experiment.findings(results)
    about = {
        **record,
        "title": experiment.title,
        "paper": experiment.paper,
        "splits": experiment.settings.splits,
        "data": {kind: str(path) for kind, path in experiment.data.items()},
        "versions": versions(experiment.packages),
    }
    written = write_findings(out, about, findings, results)
    return Ended(findings, len(parts), len(parts), None, written)


def versions(packages: Sequence[str]) -> dict[str, str]:
    """What the numbers were made with."""
    found = {"python": platform.python_version(), "wirerank": version("wirerank")}
    for name in ("numpy", "numba", *packages):
        found[name] = str(importlib.import_module(name).__version__)
    return found


def write_findings(
    out: Path, about: Mapping[str, object], findings: Findings, results: Mapping[str, Result]
) -> list[Path]:
    """Write `results.json`, CSV of tables and series, and pictures; returns what was written."""
    whole = {
        **about,
        "tables": {table.name: table.json() for table in findings.tables},
        "remarks": list(findings.remarks),
        "parts": dict(results),
    }
    written = [out / "results.json"]
    write_whole(written[0], orjson.dumps(whole, option=orjson.OPT_INDENT_2) + b"\n")
    for table in findings.tables:
        written.append(out / f"{table.name}.csv")
        write_whole(written[-1], table.csv())
    for series in findings.series:
        written.append(out / f"{series.name}.csv")
        write_whole(written[-1], series.csv)
    for drawing in findings.drawings:
        written += draw(out, drawing)
    return written


def draw(out: Path, drawing: Drawing) -> list[Path]:
    """Draw a picture as PNG and as SVG, without the date, so that it is the same every time."""
    figure = drawing.draw()
    paths = []
    for kind, options in (("png", {"dpi": 140}), ("svg", {"metadata": {"Date": None}})):
        drawn = io.BytesIO()
        figure.savefig(drawn, format=kind, **options)
        paths.append(out / f"{drawing.name}.{kind}")
        write_whole(paths[-1], drawn.getvalue())
    return paths
