"""Text from outside reaches terminals, logs and figures escaped."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from consumers.logs import LineFormatter, LogFormat
from pipeline.commands.experiment import show_findings
from pipeline.experiments.experiment import Findings
from pipeline.experiments.run_all import FAILED, SummaryLine, summary_table
from pipeline.experiments.runner import RunOutcome
from pipeline.experiments.tables import Column, Number, Row, Table
from pipeline.printable import printable, printable_lines
from pipeline.reports.plots import plot_curves
from pipeline.reports.report import aligned
from tests.support.command_line import wirerank
from tests.support.scraping import learn, new_engine, readings

HOSTILE = "a\x1b[2J\x9b31m\u202eevil\u2066\r\nforged"
SHOWN = r"a\x1b[2J\x9b31m\u202eevil\u2066\r\nforged"


def test_only_what_is_not_printed_is_escaped() -> None:
    assert printable(HOSTILE) == SHOWN
    assert printable("Zürich 東京 😀") == "Zürich 東京 😀"
    assert printable("\udce9") == r"\udce9"  # of a file name that is not UTF-8
    assert printable("abcdef", 3) == "abc..."
    assert printable_lines("a\x1b\nb\x07") == "a\\x1b\nb\\x07"


def test_a_cell_cannot_leave_its_row() -> None:
    assert aligned([["lane", "loss"], [HOSTILE, "1"]]).count("\n") == 1


@pytest.mark.parametrize("log_format", LogFormat)
def test_log_lines_are_single_and_plain(log_format: LogFormat) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "topic %s", (HOSTILE,), None)
    line = LineFormatter("a worker", log_format).format(record)
    assert line.isprintable()
    if log_format is LogFormat.JSON:
        assert json.loads(line)["message"] == f"topic {HOSTILE}"
    else:
        assert line.endswith(f"topic {SHOWN}")


def test_the_name_of_a_source_is_escaped() -> None:
    result = wirerank("replay", HOSTILE)
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert SHOWN in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_name_of_a_file_is_escaped_while_it_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "x\x1b[2J.jsonl"
    path.write_text('{"id": 1, "text": "wheat", "topics": ["grain"]}\n')
    result = wirerank("replay", str(path), "--lane", "frequency")
    assert result.exit_code == 0
    assert "\x1b" not in result.stderr + result.stdout
    assert r"x\x1b[2J.jsonl" in result.stderr


@pytest.mark.parametrize("name", ["a $x^$ b", "$\\frac{$", "\x1b$"])
def test_dollar_signs_in_names_are_no_formulas(name: str, tmp_path: Path) -> None:
    """matplotlib takes what is between two dollar signs for a formula, and fails on a bad one."""
    pytest.importorskip("matplotlib")
    engine = new_engine(("frequency",))
    for reading in readings("synthetic:50", 50):
        learn(engine, reading)
    engine.lanes[0].name = name
    plot_curves(tmp_path / "curves.png", engine.lanes, name)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_results_of_experiments_are_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of members of an archive are in messages, and names of files in the last line."""
    summary = summary_table([SummaryLine("one", FAILED, f"corpus.tar: {HOSTILE}")])
    assert summary.splitlines()[1:] == [f"one  FAILED  corpus.tar: {SHOWN}"]
    column = Column("loss", f"loss {HOSTILE}", 1)
    title = HOSTILE.replace("\n", "")
    table = Table("t", title, [column], [Row(HOSTILE, {"loss": Number(1.0)})], [title])
    findings = Findings([table], [], [title])
    show_findings(RunOutcome(findings, 1, 1, None, [Path(HOSTILE)]), quiet=False)
    printed = capsys.readouterr()
    assert printable_lines(printed.out) == printed.out
    assert printed.err == f"written: {SHOWN}\n"
