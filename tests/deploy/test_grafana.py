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
from tests.support.monitoring import ORDINAL, Monitored
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
