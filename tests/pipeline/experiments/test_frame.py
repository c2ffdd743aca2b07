"""The frame of experiments: finding data, storing results, and the command."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import UsageError
from pipeline.experiments import runner as running
from pipeline.experiments.data_files import find_data, fingerprint
from pipeline.experiments.index_learning.feature_focus_text import FeatureFocusText
from pipeline.experiments.index_learning.recall_at_rank import recall_measures, true_class_ranks
from pipeline.experiments.results_folder import ResultsFolder
from pipeline.experiments.sign_test import sign_test
from pipeline.experiments.tables import Column, Number, Row, Table
from tests.conftest import REPOSITORY
from tests.support.command_line import WIRERANK, wirerank
from tests.support.small_corpora import write_newsgroups, write_reuters


def test_list_names_experiments_papers_and_data() -> None:
    result = wirerank("experiment", "--list")
    assert result.exit_code == 0
    assert "feature-focus-text\n" in result.stdout
    assert "text:PATH" in result.stdout
    assert "data   none: the experiment generates its own" in result.stdout


def test_an_unknown_experiment_is_refused() -> None:
    result = wirerank("experiment", "feature-focus")
    assert result.exit_code == 2
    assert "feature-focus-words, prank-synthetic" in result.stderr
    assert "or all. Got feature-focus." in result.stderr


@pytest.mark.parametrize("data", [(), ("--data", "nowhere"), ("--data", ".")])
def test_missing_data_are_named(
    data: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = wirerank("experiment", "feature-focus-text", *data)
    assert result.exit_code == 2
    assert "expected --data newsgroups:PATH (20 Newsgroups" in result.stderr
    assert "wirerank corpora" in result.stderr
    assert not (tmp_path / "experiments").exists()


def test_wrong_data_are_refused(tmp_path: Path) -> None:
    (tmp_path / "20news.tar.gz").write_bytes(b"no archive")
    result = wirerank("experiment", "feature-focus-text", "--data", f"newsgroups:{tmp_path}")
    assert result.exit_code == 2
    assert "has no posts" in result.stderr
    result = wirerank("experiment", "feature-focus-text", "--data", str(tmp_path))
    assert result.exit_code == 2
    assert "no corpus was found in" in result.stderr


def test_corpora_are_found_by_name_wherever_they_lie(tmp_path: Path) -> None:
    (tmp_path / "20newsgroups").mkdir()
    (tmp_path / "20newsgroups" / "README.md").write_text("about")
    posts = write_newsgroups(tmp_path / "20newsgroups" / "20news-bydate-train")
    (tmp_path / "reuters").mkdir()
    stories = write_reuters(tmp_path / "reuters" / "reuters21578")
    actual = find_data(FeatureFocusText.needs, [str(tmp_path)])
    # The folder above would do as well: it opens as the corpus that its name promises.
    assert actual["newsgroups"] in (posts, posts.parent)
    assert actual["reuters21578"] in (stories, stories.parent)
    assert find_data(FeatureFocusText.needs, [f"newsgroups:{posts}"]) == {"newsgroups": posts}


def test_a_fingerprint_is_of_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    first = fingerprint(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    second = fingerprint(tmp_path)
    (tmp_path / "b").write_text("y")
    assert len({first, second, fingerprint(tmp_path)}) == 3
    # of a file what `sha256sum` says
    (tmp_path / "b").write_bytes(b"abc")
    assert fingerprint(tmp_path / "b").startswith("ba7816bf8f01cfea414140de5dae2223")


def test_a_fingerprint_of_a_pattern_is_of_all_that_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a")
    actual = [fingerprint(Path("*.txt"))]
    Path("b.txt").write_text("b")
    actual.append(fingerprint(Path("*.txt")))
    Path("b.txt").write_text("c")
    actual.append(fingerprint(Path("*.txt")))
    Path("b.md").write_text("d")
    assert len(set(actual)) == 3
    assert fingerprint(Path("*.txt")) == actual[-1]


def test_a_fingerprint_is_also_of_files_behind_links(tmp_path: Path) -> None:
    (tmp_path / "novels").mkdir()
    (tmp_path / "a").write_text("x")
    (tmp_path / "novels" / "a.txt").symlink_to(tmp_path / "a")
    first = fingerprint(tmp_path / "novels")
    (tmp_path / "a").write_text("y")
    assert fingerprint(tmp_path / "novels") != first


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FeatureFocusText, "packages", ("numpy", "no_such_package"))
    with pytest.raises(UsageError, match=r"no_such_package, not installed: .*\[experiments\]"):
        running.check_packages(FeatureFocusText)


def test_a_folder_keeps_parts_and_refuses_those_of_others(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "out", {"seed": 1, "grid": (1, 2)}, anew=False)
    folder.keep("a split 1 x=0.5", {"r1": 0.5}, seconds=2.0)
    folder.keep("another", {"r1": 0.5}, seconds=2.0)
    again = ResultsFolder(tmp_path / "out", {"seed": 1, "grid": (1, 2)}, anew=False)
    assert again.kept("a split 1 x=0.5") == {"r1": 0.5}
    assert again.kept("a split 2 x=0.5") is None
    damaged = tmp_path / "out" / "parts" / "a-split-1-x=0.5.json"
    damaged.write_bytes(damaged.read_bytes()[:20])
    assert again.kept("a split 1 x=0.5") is None
    with pytest.raises(UsageError, match="grid, seed differ"):
        ResultsFolder(tmp_path / "out", {"seed": 2, "grid": (1, 3)}, anew=False)
    ResultsFolder(tmp_path / "out", {"seed": 2}, anew=True)
    # What is no part is nobody's to throw away; it is written over when its turn comes.
    assert list((tmp_path / "out" / "parts").iterdir()) == [damaged]
    # Nothing was done with that seed, say because the data were wrong: there is nothing to mix.
    ResultsFolder(tmp_path / "out", {"seed": 3}, anew=False)


def test_a_signal_ends_a_run_between_two_parts(tmp_path: Path) -> None:
    data = write_newsgroups(tmp_path / "20news")
    out = tmp_path / "out"
    arguments = ["experiment", "feature-focus-text", "--data", str(data), "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen(
        [*WIRERANK, *arguments, "--splits", "1000"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120
        while not list(out.glob("parts/*.json")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGINT
    assert "parts; run the same command again to continue." in stderr


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "p"),
    [(10, 0, 0, 2 / 1024), (9, 1, 0, 22 / 1024), (8, 2, 0, 112 / 1024), (0, 0, 3, 1.0)],
)
def test_sign_test_against_the_binomial_by_hand(
    wins: int, losses: int, ties: int, p: float
) -> None:
    ours = [1.0] * wins + [0.0] * losses + [0.5] * ties
    actual = sign_test(ours, [0.5] * len(ours))
    assert actual[:3] == (wins, losses, ties)
    assert actual.p == pytest.approx(p)


def test_ranks_and_measures_by_hand() -> None:
    scores = np.array([[0.0, 2.0, 2.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    labels = np.array([2, 0, 1], np.int32)
    assert true_class_ranks(scores, labels, 0.0).tolist() == [
        2,
        1,
        0,
    ]  # level: the earlier class first
    assert true_class_ranks(scores, labels, -np.inf).tolist() == [2, 1, 2]
    actual = recall_measures(np.array([2, 1, 0, 6]))
    assert actual == {"r1": 0.25, "r5": 0.5, "mrr": pytest.approx((0.5 + 1 + 1 / 6) / 4)}


def test_a_table_shows_the_paper_and_the_difference() -> None:
    columns = [Column("r1", "R1", 3, with_deviation=True), Column("d", "d", 1)]
    rows = [
        Row("ours alone", {"r1": Number(0.5)}),
        Row("both", {"r1": Number(0.5, 0.01), "d": Number(2.0)}, {"r1": Number(0.6)}),
    ]
    assert Table("t", "A title", columns, rows, ["A note."]).text().splitlines() == [
        "A title",
        "                         R1     d",
        "ours alone    0.500          n.a.",
        "both          0.500 +-0.010   2.0",
        "  paper       0.600          n.a.",
        "  difference         -0.100  n.a.",
        "A note.",
    ]
