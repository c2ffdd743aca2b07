"""Exported curves in a real Prometheus: promtool takes them, queries find them at their dates."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.corpora import open_source
from pipeline.corpora.reuters21578 import Reuters21578
from pipeline.curves.decision_curve import MEASURES as SET_MEASURES
from pipeline.history.corpus_time import milliseconds
from tests.support.command_line import wirerank
from tests.support.prometheus_server import Prometheus, program, prometheus

# By lane and measure: the value after each round.
Curve = dict[tuple[str, str], dict[int, float]]
# The metric of learning curves and that of sets, each with its label for a measure.
AVERAGES = {
    "wirerank_round_averaged_loss": "loss",
    "wirerank_round_averaged_decision": "measure",
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program("promtool")
    monkeypatch.chdir(tmp_path)


def run_curve(*arguments: str) -> Curve:
    """The curves that a replay writes by itself."""
    result = wirerank("replay", *arguments, "--curves", "curves.csv", "--quiet")
    assert result.exit_code == 0, result.stderr
    curve: Curve = {}
    with Path("curves.csv").open() as file:
        for row in csv.DictReader(file):
            own = curve.setdefault((row["lane"], row["loss"]), {})
            own[int(row["round"])] = float(row["value"])
    return curve


def of_metric(curve: Curve, metric: str) -> Curve:
    """The curves that a metric shows: those of sets, or all others."""
    is_of_sets = AVERAGES[metric] == "measure"
    return {key: own for key, own in curve.items() if (key[1] in SET_MEASURES) == is_of_sets}


def backfill(source: str, *options: str) -> Path:
    """Export the curves and make blocks of them."""
    result = wirerank("curves", "export", source, "--openmetrics", "curves.om", "--quiet")
    assert result.exit_code == 0, result.stderr
    command = ["promtool", "tsdb", "create-blocks-from", *options, "openmetrics", "curves.om"]
    done = subprocess.run([*command, "data"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Path("data").absolute()


def values(result: Sequence[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """An instant query's answer, by lane and measure."""
    labels = [series["metric"] for series in result]
    assert {(label["stream"], label["shard"]) for label in labels} == {("replay", "0")}
    numbers = [float(series["value"][1]) for series in result]
    return {
        (label["lane"], label.get("loss", label.get("measure", ""))): number
        for label, number in zip(labels, numbers, strict=True)
    }


def check_points(server: Prometheus, curve: Curve, dates: Sequence[int]) -> int:
    """Every point of the curve is a sample at the date of its document, and says the same.

    `dates` are those of the rounds, in ms. Of points with the same date the last is there.
    """
    at_date = {dates[round_ - 1]: round_ for round_ in next(iter(curve.values()))}
    end = max(dates) / 1000 + 1
    days = (max(dates) - min(dates)) // 86_400_000 + 2
    for metric, label in AVERAGES.items():
        answer = server.query(f"{metric}[{days}d]", end)
        assert len(answer) == len(of_metric(curve, metric)) > 0
        for series in answer:
            lane, measure = series["metric"]["lane"], series["metric"][label]
            samples = {round(1000 * time): float(value) for time, value in series["values"]}
            own = curve[lane, measure]  # OneErr and others may begin later than the losses
            for date, round_ in at_date.items():
                assert samples.get(date) == own.get(round_), (lane, measure, round_)
    return len(at_date)


def test_a_synthetic_corpus_in_prometheus() -> None:
    source = "synthetic:420"
    curve = run_curve(source)
    events = [orjson.loads(event) for event in open_source(source)]
    dates = [milliseconds(event["time"]) or 0 for event in events]
    with prometheus(backfill(source)) as server:
        assert check_points(server, curve, dates) > 200
        # As a dashboard asks: at the date of a document, and at any time between two.
        for number in (1, 128, 256, 420):
            for metric in AVERAGES:
                answer = values(server.query(metric, dates[number - 1] / 1000))
                of_curve = of_metric(curve, metric).items()
                assert answer == {key: own[number] for key, own in of_curve if number in own}
            answer = values(server.query("wirerank_round_averaged_loss", dates[number - 1] / 1000))
            rounds = values(server.query("wirerank_rounds_total", dates[number - 1] / 1000))
            assert set(rounds.values()) == {float(number)}
            sums = values(server.query("wirerank_loss_total", dates[number - 1] / 1000))
            with_topics = values(
                server.query("wirerank_rounds_with_topics_total", dates[number - 1] / 1000)
            )
            for (lane, loss), average in answer.items():
                over = number if loss.startswith("loss") else with_topics[lane, ""]
                assert sums[lane, loss] == pytest.approx(over * average, rel=1e-12)
        check_regular_moments(server, source, dates)


def check_regular_moments(server: Prometheus, source: str, dates: Sequence[int]) -> None:
    """At a full minute: what a replay has learned from the documents up to then."""
    for minute in (dates[300] // 60_000, dates[395] // 60_000):
        so_far = sum(date <= 60_000 * minute for date in dates)
        curve = run_curve(source, "--limit", str(so_far))
        for metric in AVERAGES:
            answer = values(server.query(metric, 60 * minute))
            of_curve = of_metric(curve, metric).items()
            assert answer == {key: own[so_far] for key, own in of_curve}
        window = "increase(wirerank_rounds_total[30m]) / 1800"  # a document in about 36 s
        assert all(0.01 < rate < 0.1 for rate in values(server.query(window, 60 * minute)).values())


def test_reuters_of_1987_in_prometheus(shared_corpus: Callable[[str], Path]) -> None:
    folder = shared_corpus("reuters21578")
    source = f"reuters21578:{folder}"
    curve = run_curve(source)
    stories = [story for story in Reuters21578(folder).stories if story.labelled]
    assert all(story.date for story in stories)
    dates = [round(1000 * story.date.timestamp()) for story in stories if story.date]
    blocks = backfill(source, "--max-block-duration=2160h")
    with prometheus(blocks, "--query.lookback-delta=12h") as server:
        assert check_points(server, curve, dates) > 500
        for day in ("1987-02-27", "1987-05-01", "1987-10-20"):  # May has no story at all
            noon = milliseconds(f"{day}T12:00:00Z") or 0
            so_far = sum(date <= noon for date in dates)
            rounds = values(server.query("wirerank_rounds_total", noon / 1000))
            assert set(rounds.values()) == {float(so_far)}
