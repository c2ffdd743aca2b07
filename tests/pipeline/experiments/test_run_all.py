"""`wirerank experiment all`: each experiment is run even if others fail."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pipeline.commands import experiment as experiments_cli
from pipeline.corpora import SourceError
from pipeline.experiments.experiment import Need
from pipeline.experiments.registry import EXPERIMENTS
from pipeline.experiments.run_all import ALL
from tests.support.command_line import wirerank
from tests.support.tiny_experiment import Tiny

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")


def is_tea(path: Path) -> None:
    if path.read_text() != "tea":
        raise SourceError(f"{path} is no tea")


TEA = Need("tea", "a file that says tea", "tea", is_tea)
MILK = Need("milk", "a file that says milk", "milk", is_tea)


class WithTea(Tiny):
    name = "with-tea"
    needs = (TEA,)


class WithMilk(Tiny):
    name = "with-milk"
    needs = (MILK,)


class Unpacked(Tiny):
    name = "unpacked"
    packages = ("no_such_package",)


class Failing(Tiny):
    name = "failing"

    @staticmethod
    def do(number: int) -> None:
        raise ZeroDivisionError("of all things")


class Pulled(Tiny):
    """An experiment that receives Ctrl-C while its second part is computed."""

    name = "pulled"

    @staticmethod
    def do(number: int) -> None:
        if number == 1:
            os.kill(os.getpid(), signal.SIGINT)


class Calm(Tiny):
    name = "pulled"


@pytest.fixture
def among(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Run only the experiments that the test chose, in a separate folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def choose(monkeypatch: pytest.MonkeyPatch, *kinds: type[Tiny]) -> None:
    monkeypatch.setattr(experiments_cli, "EXPERIMENTS", {kind.name: kind for kind in kinds})


def lines(output: str) -> dict[str, str]:
    """The lines of the last table, by the name of the experiment."""
    split = (line.split() for line in output.splitlines() if line.strip())
    return {first: " ".join(rest) for first, *rest in split}


def test_no_experiment_is_called_all() -> None:
    assert ALL not in EXPERIMENTS


def test_each_is_run_into_its_folder(among: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, Tiny, WithTea)
    (among / "data").mkdir()
    (among / "data" / "tea.txt").write_text("tea")
    result = wirerank("experiment", "all", "--data", "data", "--out", "out", "--splits", "2")
    assert result.exit_code == 0, result.output
    assert lines(result.stdout)["tiny"].startswith("ran")
    assert lines(result.stdout)["tiny"].endswith("out/tiny")
    assert "Tiny: a method" in result.stdout
    for name in ("tiny", "with-tea"):
        assert (among / "out" / name / "results.json").exists()
        assert len(list((among / "out" / name / "parts").iterdir())) == 2
    assert "wirerank report out" in result.stderr


def test_without_data_or_packages_it_is_left_out_and_that_is_said(
    among: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, WithTea, WithMilk, Unpacked, Tiny)
    (among / "cup").write_text("tea")
    result = wirerank("experiment", "all", "--data", "tea:cup", "--quick")
    assert result.exit_code == 0, result.output
    shown_lines = lines(result.stdout)
    assert shown_lines["with-tea"].startswith("ran")
    assert shown_lines["with-milk"] == "left out needs --data milk:PATH (a file that says milk)"
    expected = "left out needs no_such_package: pip install 'wirerank[experiments]'"
    assert shown_lines["unpacked"] == expected
    assert "wirerank corpora" in result.stderr
    assert not (among / "experiments" / "with-milk").exists()
    choose(monkeypatch, WithMilk)
    assert wirerank("experiment", "all").exit_code == 2


def test_a_failure_of_one_does_not_keep_the_others_from_being_run(
    among: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, Failing, WithTea, Tiny)
    (among / "cup").write_text("coffee")
    result = wirerank("experiment", "all", "--data", "tea:cup", "--out", "out")
    assert result.exit_code == 1
    shown_lines = lines(result.stdout)
    assert shown_lines["failing"] == "FAILED ZeroDivisionError: of all things"
    assert shown_lines["with-tea"] == "FAILED cup is no tea"
    assert shown_lines["tiny"].startswith("ran")
    assert "ZeroDivisionError" in result.stderr


@pytest.mark.usefixtures("among")
def test_data_that_nobody_can_have_meant_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, WithTea, Tiny)
    for given in ("nowhere", "coffee:nowhere"):
        result = wirerank("experiment", "all", "--data", given)
        assert result.exit_code == 2
        assert f"--data {given} does not exist" in result.stderr


def test_a_signal_ends_all_of_it_and_the_same_command_goes_on(
    among: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, Pulled, Tiny)
    arguments = ("experiment", "all", "--out", "out", "--splits", "4")
    stopped = wirerank(*arguments)
    assert stopped.exit_code == 128 + signal.SIGINT
    shown_lines = lines(stopped.stdout)
    assert shown_lines["pulled"].startswith("interrupted")
    assert shown_lines["pulled"].endswith("2 of 4 parts are done and stored")
    assert shown_lines["tiny"] == "not begun"
    assert "run the same command again to continue" in stopped.stderr
    kept = {path: path.stat().st_mtime_ns for path in (among / "out").glob("*/parts/*")}
    assert len(kept) == 2
    choose(monkeypatch, Calm, Tiny)
    assert wirerank(*arguments).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.mark.usefixtures("among")
def test_a_signal_in_the_last_part_keeps_the_next_from_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choose(monkeypatch, Pulled, Tiny)
    stopped = wirerank("experiment", "all", "--out", "out", "--splits", "2")
    assert stopped.exit_code == 128 + signal.SIGINT
    shown_lines = lines(stopped.stdout)
    assert shown_lines["pulled"].startswith("ran")
    assert shown_lines["tiny"] == "not begun"
