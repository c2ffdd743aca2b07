"""A replay in a program is the replay of the command, byte for byte, and stops when it is left."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from learners.options import OptionError
from learners.rankings import PredictedRank
from pipeline import Replay
from pipeline.corpora import SourceError
from pipeline.errors import UsageError
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from pipeline.reports.plots import can_plot
from tests.conftest import REPOSITORY, missing

EXAMPLE = REPOSITORY / "docs/samples/example.jsonl"
LANES = ("mmp:loss=1", "arow", "prank:ranks=3", "feature-focus")


@pytest.mark.parametrize("source", ["synthetic:1500", str(EXAMPLE)])
def test_rankings_and_curves_are_those_of_the_command(source: str, tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("rankings", "curves", "dead_letters")}
    replay(ReplaySettings(source, LANES, top=3, **paths), Progress())  # type: ignore[arg-type]
    run = Replay(source, LANES, top=3, block=100)
    events = [event for document in run for event in document.events]
    assert b"".join(event + b"\n" for event in events) == paths["rankings"].read_bytes()
    run.write_curves(tmp_path / "same")
    assert (tmp_path / "same").read_bytes() == paths["curves"].read_bytes()
    lines = paths["curves"].read_text().splitlines()[1:]
    for name, curve in run.curves.items():
        own = [line.removeprefix(f"{name},") for line in lines if line.startswith(f"{name},")]
        written = [line.rpartition(",")[0] for line in own]  # without the last eighth
        shown = {
            f"{round_},{measure},{value!r}"
            for measure, values in curve.items()
            for round_, value in zip(curve.rounds.tolist(), values.tolist(), strict=True)
            if not np.isnan(value)
        }
        assert shown == set(written)


def test_a_lane_without_a_risk_does_not_say_whether_to_review() -> None:
    lanes = ["perceptron:assign=f1,name=sets", "perceptron:assign=f1,risk=0.2,name=marks"]
    reviews: dict[str, set[bool | None]] = {"sets": set(), "marks": set()}
    for document in Replay("synthetic:300", lanes):
        for lane, decision in document.decisions.items():
            reviews[lane].add(decision.review)
    assert reviews["sets"] == {None}
    assert reviews["marks"] <= {False, True}


def test_a_saved_model_is_that_of_the_command(tmp_path: Path) -> None:
    dead, model = tmp_path / "dead", tmp_path / "model"
    settings = ReplaySettings("synthetic:300", LANES, dead_letters=dead, save=model)
    replay(settings, Progress())
    Replay("synthetic:300", LANES, block=70).run().save(tmp_path / "same")
    assert (tmp_path / "same").read_bytes() == model.read_bytes()
    Replay("synthetic:300", LANES, limit=120).run().save(model)
    resumed = tmp_path / "resumed"
    replay(replace(settings, resume=model, save=resumed), Progress())
    assert resumed.read_bytes() == (tmp_path / "same").read_bytes()


def test_a_document_has_its_labels_and_rankings() -> None:
    events: list[dict[str, Any]] = [
        {"id": "1", "text": "wheat", "topics": ["grain"], "rank": 2},
        {"id": "2", "features": {"wheat": 1.0}, "time": "2026-01-01T00:00:00Z"},
        {"id": "2", "topics": ["grain", "ship"]},
        {"id": "3", "text": "wheat", "topics": ["ship"]},
    ]
    run = Replay(events, ["perceptron", "prank:ranks=2"])
    first, second, third = run
    assert first.topics == ("grain",)
    assert first.rank == 2
    assert first.rankings == {"perceptron": [], "prank:ranks=2": PredictedRank(2, 0.0)}
    assert second.topics is None
    assert second.time == "2026-01-01T00:00:00Z"
    assert [topic for topic, _ in third.rankings["perceptron"]] == ["grain", "ship"]
    assert repr(third).startswith("<document '3', labels ('ship',), best {'perceptron': 'grain'")
    assert run.report["perceptron"]["rounds"] == 3


def test_a_new_iteration_is_a_new_run() -> None:
    run = Replay("synthetic:300", "mmp")
    once = [document.events for document in run]
    assert [document.events for document in run] == once
    assert run.run().curves["mmp"].rounds[-1] == 300


def readers() -> list[threading.Thread]:
    names = ("reader", "lane")
    return [thread for thread in threading.enumerate() if thread.name.startswith(names)]


def test_leaving_the_loop_stops_the_run() -> None:
    before, interval = readers(), sys.getswitchinterval()
    run = Replay("synthetic:100000", ["mmp", "perceptron"], block=50)
    for number, _ in enumerate(run):
        if number == 120:
            break
    assert readers() == before
    assert sys.getswitchinterval() == interval
    assert run.curves["mmp"].rounds[-1] == 150  # whole blocks
    assert len(run.lanes) == 2
    with pytest.raises(ZeroDivisionError):
        for _ in run:
            raise ZeroDivisionError
    assert readers() == before


def test_events_that_cannot_be_used_are_counted() -> None:
    good = {"id": "1", "text": "wheat", "topics": ["grain"]}
    run = Replay([good, {"text": "no id"}, good | {"id": "2"}, {"id": "3"}]).run()
    assert run.dead_letters == {"bad_id": 1, "no_content": 1}
    odd: list[Any] = [{"id": "\ud800"}, {"id": 10**30}, {"text": b"x"}, {"topics": {"a"}}, {3: 4}]
    assert Replay([good, *odd]).run().dead_letters == {"not_json": 5}
    with pytest.raises(UsageError, match=r"Got generator; list\(\.\.\.\)"):
        Replay(good for _ in range(3))  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="cannot be used"):
        Replay([{"headline": "wheat"}] * 100).run()


def test_fields_and_declared_topics() -> None:
    events = [{"id": "1", "headline": "wheat", "tags": [{"slug": "grain"}]}]
    fields = {"title": "headline", "topics": "tags[].slug"}
    (document,) = Replay(events, "mmp", fields=fields, topics=["ship", "grain"])
    assert document.topics == ("grain",)
    assert document.rankings["mmp"] == [("ship", 0.0), ("grain", 0.0)]


def test_mistakes_are_refused_before_the_run(tmp_path: Path) -> None:
    mistakes: list[tuple[type[Exception], dict[str, Any]]] = [
        (SourceError, {"source": tmp_path / "none.jsonl"}),
        (OptionError, {"lanes": ["mpm"]}),
        (UsageError, {"lanes": ["mmp", "mmp"]}),
        (UsageError, {"profile": "none"}),
        (UsageError, {"format": "none"}),
        (UsageError, {"limit": -1}),
        (UsageError, {"block": 0}),
        (UsageError, {"fields": {"headline": "title"}}),
    ]
    for kind, arguments in mistakes:
        with pytest.raises(kind):
            Replay(**{"source": "synthetic:10", **arguments})
    with pytest.raises(UsageError, match="call run"):
        Replay("synthetic:10").curves  # noqa: B018


def test_what_a_cell_shows() -> None:
    run = Replay("synthetic:200", ["mmp:name=<b>", "frequency"])
    assert repr(run) == "<replay of synthetic:200, not started>"
    assert run._repr_html_() is None
    run.run()
    table = run._repr_html_()
    assert table is not None
    assert "<td>&lt;b&gt;</td><td>200</td>" in table
    assert "<td><b>" in table
    assert repr(run).splitlines()[0].startswith("lane")
    curve = run.curves["frequency"]
    assert repr(curve).startswith("<curve of 200 rounds: loss1,")
    assert len(curve) == len(list(curve))
    with pytest.raises(KeyError, match="there is no measure 'loss7'; known: loss1"):
        curve["loss7"]


def test_a_cell_shows_the_sets_of_lanes_that_assign_topics() -> None:
    lanes = ["mmp:assign=f1,name=mmp", "arow:assign=precision:0.9,name=<i>", "frequency"]
    run = Replay("synthetic:400", lanes).run()
    header, first, second = repr(run).splitlines()[-3:]
    assert header.split()[:4] == ["sets", "of", "goal", "micro"]
    assert first.split()[:2] == ["mmp", "f1"]
    assert second.split()[:2] == ["<i>", "precision:0.9"]
    shown = [run.report[name]["set_precision"] for name in ("mmp", "<i>")]
    precisions = [line.split()[5].rstrip("*") for line in (first, second)]
    assert precisions == [f"{precision:.4f}" for precision in shown]
    table = run._repr_html_()
    assert table is not None
    assert table.count("<table>") == 2
    assert "<td>&lt;i&gt;</td><td>precision:0.9</td>" in table
    assert "sets of" not in repr(Replay("synthetic:50", ["mmp"]).run())


def test_by_default_the_best_lane_assigns_topics() -> None:
    *_, last = Replay("synthetic:400")
    assert list(last.decisions) == ["soft-arow"]
    assert list(last.rankings) == ["soft-arow", "mmp:loss=1", "perceptron"]
    assert set(last.decisions["soft-arow"].assigned) <= set(dict(last.rankings["soft-arow"]))


def test_a_plot_is_a_picture(tmp_path: Path) -> None:
    if not can_plot():
        missing("matplotlib", "pip install 'wirerank[experiments]'")
    plot = Replay("synthetic:200", "mmp").run().plot()
    assert plot._repr_png_().startswith(b"\x89PNG")
    plot.save(tmp_path / "curves.svg")
    assert b"<svg" in (tmp_path / "curves.svg").read_bytes()
    assert len(plot.figure.axes) == 3


def test_rankings_are_those_of_the_events() -> None:
    for document in Replay("synthetic:50", ["mmp", "frequency"], top=0):
        for event in map(orjson.loads, document.events):
            shown = [(entry["topic"], entry["score"]) for entry in event["ranking"]]
            assert document.rankings[event["lane"]] == shown
