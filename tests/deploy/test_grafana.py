"""The dashboards: as generated, well-formed, and with data in every panel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from deploy.grafana.files import FOLDER, files
from deploy.grafana.panels import COLUMNS
from learners.rank_measures import RANK_MEASURES
from tests.conftest import REPOSITORY
from tests.support.monitoring import ORDINAL, UNMARKED, Monitored
from tests.support.scraping import LANES

DASHBOARDS = {
    Path(name).stem: json.loads(text) for name, text in files().items() if name.endswith(".json")
}
# What Grafana puts in place of variables, as the tests choose it.
CHOSEN = {"$__rate_interval": "1m", "$window": "1m", "$lane": ".+"}


def filled(text: str, loss: str = "loss1", stream: str = "wire") -> str:
    """An expression with its variables put in."""
    for variable, value in {**CHOSEN, "$loss": loss, "$stream": stream}.items():
        text = text.replace(variable, value)
    assert "$" not in text, text
    return text


def panels(name: str) -> list[Any]:
    actual = [panel for panel in DASHBOARDS[name]["panels"] if panel["type"] != "row"]
    assert len(actual) > 5
    return actual


def queries() -> Iterator[tuple[str, str, str]]:
    """Every query of every panel: dashboard, panel, expression."""
    for name in DASHBOARDS:
        for panel in panels(name):
            for target in panel["targets"]:
                yield name, panel["title"], target["expr"]


def test_the_files_are_what_the_code_makes() -> None:
    """Hand-edited dashboards would be lost at the next `make dashboards`."""
    there = {
        str(path.relative_to(FOLDER)): path.read_text()
        for path in FOLDER.rglob("*")
        if path.is_file()
    }
    assert there == files()


def test_they_can_be_written_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.grafana", str(tmp_path), "--prometheus", "http://p:1"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 7
    assert 'url: "http://p:1"' in (tmp_path / "datasources" / "prometheus.yaml").read_text()
    provider = (tmp_path / "dashboards" / "wirerank.yaml").read_text()
    (path,) = re.findall(r'path: "(.*)"', provider)
    assert {file.name for file in Path(path).iterdir()} == {f"{name}.json" for name in DASHBOARDS}


def test_they_have_names_of_their_own() -> None:
    names = {"decisions", "learning-curves", "operations", "overview", "topics-and-cost"}
    assert set(DASHBOARDS) == names
    assert len({dashboard["uid"] for dashboard in DASHBOARDS.values()}) == 5


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_have_places_that_do_not_overlap(name: str) -> None:
    every = DASHBOARDS[name]["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    for panel in every:
        place = panel["gridPos"]
        assert place["w"] > 0
        assert place["x"] + place["w"] <= COLUMNS
    for one, other in combinations((panel["gridPos"] for panel in every), 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_say_what_they_show(name: str) -> None:
    for panel in panels(name):
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    known = {variable["name"] for variable in DASHBOARDS[name]["templating"]["list"]}
    text = json.dumps(DASHBOARDS[name])
    named = {a or b for a, b in re.findall(r"\$(?:\{(\w+)\}|(\w+))", text)}
    assert named <= known | {"__rate_interval", "__all"}


def test_curves_have_a_logarithmic_axis() -> None:
    for panel in panels("learning-curves"):
        scale = panel["fieldConfig"]["defaults"].get("custom", {}).get("scaleDistribution")
        is_curve = panel["title"] in {"Round-averaged $loss", "$loss over $window", "loss1",
                                      "loss2", "loss3"}  # fmt: skip
        assert ((scale or {}).get("type") == "log") == is_curve, panel["title"]


@pytest.mark.parametrize(("dashboard", "panel", "expression"), list(queries()))
def test_every_panel_has_data(
    monitoring: Monitored, dashboard: str, panel: str, expression: str
) -> None:
    if "past6h" in expression:  # it looks further back than this run; promtool tests that rule
        expression = expression.replace("past6h", "rate30m")
    answer = monitoring.query(filled(expression))
    assert answer, f"{dashboard}: {panel}: {filled(expression)}"
    assert all(series["value"][1] != "NaN" for series in answer) or "quantile" in expression


@pytest.mark.parametrize("loss", ["loss1", "loss2", "loss3", "one_error", "coverage",
                                  "average_precision"])  # fmt: skip
def test_the_curves_have_data_for_every_measure(monitoring: Monitored, loss: str) -> None:
    for panel in panels("learning-curves"):
        for target in panel["targets"]:
            if "$loss" in target["expr"]:
                answer = monitoring.query(filled(target["expr"], loss))
                assert {series["metric"]["lane"] for series in answer} == set(LANES)


@pytest.mark.parametrize("loss", RANK_MEASURES)
def test_an_ordinal_lane_can_be_drawn_beside_others(monitoring: Monitored, loss: str) -> None:
    """In a stream of both kinds it alone has these; tau-b is no mean of rounds of any window."""
    (menu,) = (
        m for m in DASHBOARDS["learning-curves"]["templating"]["list"] if m["name"] == "loss"
    )
    assert loss in [option["value"] for option in menu["options"]]
    for panel in panels("learning-curves"):
        for target in panel["targets"]:
            if "$loss" in target["expr"]:
                answer = monitoring.query(filled(target["expr"], loss, stream="-"))
                no_line = loss == "tau_b" and "rate(" in target["expr"]
                lanes = [series["metric"]["lane"] for series in answer]
                assert lanes == ([] if no_line else [ORDINAL]), panel["title"]


def test_decisions_have_only_the_lanes_that_make_them(monitoring: Monitored) -> None:
    """And what Prometheus computes from counters lies where such numbers lie."""
    for panel in panels("decisions"):
        for target in panel["targets"]:
            answer = monitoring.query(filled(target["expr"]))
            assert {series["metric"]["lane"] for series in answer} == {LANES[1]}, panel["title"]
            assert all(0 <= float(series["value"][1]) <= 1 for series in answer), panel["title"]


def test_decisions_are_those_that_the_counters_say(monitoring: Monitored) -> None:
    """What each panel over a window shows, against what the raw counters grew by in it."""
    grown = {
        (labels["__name__"], labels.get("measure")): values[max(values)] - values[min(values)]
        for labels, values in (
            (series["metric"], {t: float(value) for t, value in series["values"]})
            for series in monitoring.query(
                f'{{__name__=~"wirerank_.*_total", stream="wire", lane="{LANES[1]}"}}[1m]'
            )
        )
    }
    right, assigned, relevant, decided, marked, rounds, reviewed = (
        grown[f"wirerank_{name}_total", None]
        for name in ("right_topics", "assigned_topics", "relevant_topics", "decided_documents",
                     "review_documents", "rounds", "review_rounds")
    )  # fmt: skip
    by_hand = {
        "Precision over $window": right / assigned,
        "Recall over $window": right / relevant,
        "Micro F1 over $window": 2 * right / (assigned + relevant),
        "Documents marked for review": marked / decided,
        "F1 of documents that were not marked":
            grown["wirerank_decision_total", "trusted_f1"] / (rounds - reviewed),
    }  # fmt: skip
    shown = {
        panel["title"]: float(monitoring.query(filled(target["expr"]))[0]["value"][1])
        for panel in panels("decisions")
        for target in panel["targets"]
    }
    assert {title: shown[title] for title in by_hand} == pytest.approx(by_hand, rel=0.1)


def test_decisions_over_all_rounds_are_those_of_the_curves_file(monitoring: Monitored) -> None:
    """Bit for bit, at every scrape whose round the curve keeps."""
    ((_, rounds),) = monitoring.samples(
        f'wirerank_rounds_total{{job="wirerank-learner", lane="{LANES[1]}"}}'
    )
    compared = 0
    for title, measure in (("Micro F1", "micro_f1"), ("Macro F1", "macro_f1"),
                           ("Calibration error", "calibration_error")):  # fmt: skip
        (panel,) = (panel for panel in panels("decisions") if panel["title"] == title)
        assert f'measure="{measure}"' in panel["targets"][0]["expr"]
        ((_, values),) = monitoring.samples(
            f'wirerank_round_averaged_decision{{job="wirerank-learner", measure="{measure}"}}'
        )
        for time, value in values.items():
            point = (LANES[1], int(rounds[time]), measure)
            if point in monitoring.curves["wirerank-learner"]:
                assert value == monitoring.curves["wirerank-learner"][point]
                compared += 1
    assert compared >= 3


def test_decisions_can_be_drawn_over_every_window_of_the_menu(monitoring: Monitored) -> None:
    """As Grafana asks: for a range of times, at a step."""
    (menu,) = (m for m in DASHBOARDS["decisions"]["templating"]["list"] if m["name"] == "window")
    windows = [option["value"] for option in menu["options"]]
    assert "5m" in windows
    times = {"start": monitoring.end - 10, "end": monitoring.end, "step": 2}
    for window in windows:
        for panel in panels("decisions"):
            for target in panel["targets"]:
                expression = filled(target["expr"].replace("$window", window))
                answer = monitoring.prometheus.ask("query_range", query=expression, **times)
                drawn = [float(value) for line in answer["result"] for _, value in line["values"]]
                assert drawn, (panel["title"], window)
                assert all(0 <= value <= 1 for value in drawn), (panel["title"], window)


def test_only_lanes_with_a_risk_have_lines_of_marks(monitoring: Monitored) -> None:
    """A line at 0 would say that nothing needs a review."""
    without = {"Documents marked for review", "F1 of documents that were not marked"}
    lines = {
        panel["title"]: [
            series["metric"]["lane"]
            for target in panel["targets"]
            for series in monitoring.query(filled(target["expr"], stream="-"))
        ]
        for panel in panels("decisions")
        if "topic" not in panel["targets"][0]["expr"]
        or "topics_total" in panel["targets"][0]["expr"]
    }
    assert {title for title, lanes in lines.items() if not lanes} == without
    assert {lane for lanes in lines.values() for lane in lanes} == {UNMARKED}


def test_restarts_are_marked_when_they_happened(monitoring: Monitored) -> None:
    """The values are times in milliseconds; the learner started twice."""
    for dashboard in DASHBOARDS.values():
        (restarts,) = dashboard["annotations"]["list"]
        answer = monitoring.samples(restarts["expr"].replace(" * 1000", ""))
        starts = {
            v for labels, values in answer if "learner" in labels["job"] for v in values.values()
        }
        assert len(starts) == 2
        before, after = min(starts), max(starts)
        tolerance = 2.0  # the kernel says when it was booted in whole seconds
        assert before + tolerance < monitoring.killed < after + tolerance < monitoring.end
        assert restarts["useValueForTime"]


def test_menus_have_entries(monitoring: Monitored) -> None:
    for dashboard in DASHBOARDS.values():
        for variable in dashboard["templating"]["list"]:
            if variable["type"] != "query":
                continue
            match = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
            assert match is not None
            asked = {"match[]": filled(match[1])}
            values = monitoring.prometheus.ask(f"label/{match[2]}/values", **asked)
            assert ("wire" if match[2] == "stream" else "perceptron") in values
