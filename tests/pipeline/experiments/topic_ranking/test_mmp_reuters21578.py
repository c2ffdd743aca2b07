"""`wirerank experiment mmp-reuters21578` on a small corpus, against a plain computation."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from pipeline.experiments.topic_ranking.fold_training import train_lane
from pipeline.experiments.topic_ranking.folds import text_fold
from pipeline.experiments.topic_ranking.mmp_reuters21578 import COMBINED
from tests.reference.reuters_folds import (
    MEASURES,
    SEED,
    TOPICS,
    division,
    folded,
    machines,
    one_pass,
    tales,
    write_wire,
)
from tests.support.command_line import wirerank
from tests.support.reuters_sgml import story, write_stories

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")
pytest.importorskip("sklearn", reason="pip install 'wirerank[experiments]'")


def run(out: Path, data: Path, *more: str) -> dict[str, Any]:
    result = wirerank(
        "experiment", "mmp-reuters21578", "--data", str(data), "--out", str(out), *more
    )
    assert result.exit_code == 0, result.output
    results: dict[str, Any] = orjson.loads((out / "results.json").read_bytes())
    for time in ("seconds", "finished"):  # all else is the same every time
        del results["run"][time]
    return results


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wire(tmp_path_factory.mktemp("wire")).parent


@pytest.fixture(scope="module")
def experiment_results(wire: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("out")
    return run(out, wire, "--splits", "2", "--seed", str(SEED)) | {"out": out}


def agree(part: dict[str, Any], expected: dict[str, Any]) -> None:
    for name in MEASURES:
        assert part["measures"][name] == pytest.approx(expected[name], rel=1e-9), name
    assert part["precision"] == pytest.approx(expected["precision"])
    assert part["recall"] == pytest.approx(expected["recall"])


@pytest.mark.parametrize("fold", [0, 1])
@pytest.mark.parametrize(
    ("vectors", "methods"),
    [
        ("selected", ["rocchio", "perceptron", "mmp1", "mmp2", "mmp3"]),
        ("whole", ["mmp-margin", "mmp-average", "arow", "stacker"]),
        ("enriched", ["arow-enriched", "stacker-enriched"]),
    ],
)
def test_lanes_agree_with_a_plain_computation(
    experiment_results: dict[str, Any], fold: int, vectors: str, methods: list[str]
) -> None:
    given = division(fold, vectors)
    part = experiment_results["parts"][f"fold {fold + 1} {vectors}"]
    distinct = sum(value != 0.0 for x in given.train for value in x.values())
    assert part["facts"]["distinct"] == pytest.approx(distinct / len(given.train))
    combined = experiment_results["combined"]
    for method in methods:
        specs = experiment_results["lanes"][method]
        inner = given.held_out()
        tried = {
            spec: one_pass(spec, combined, inner)[0]["average_precision"] for spec in specs
        } if len(specs) > 1 else dict.fromkeys(specs, 1.0)  # fmt: skip
        best = max(specs, key=lambda spec: tried[spec])
        result = part["methods"][method]
        assert result["lane"] == best
        assert result.get("tried", tried) == pytest.approx(tried)
        expected, curve = one_pass(best, combined, given)
        agree(result, expected)
        for loss in MEASURES[:3]:
            kept = [curve[at - 1][loss] for at in result["curve"]["round"]]
            assert result["curve"][loss] == pytest.approx(kept)


@pytest.mark.parametrize("of", [COMBINED, COMBINED[:1] + COMBINED[3:]])
@pytest.mark.parametrize("fold", [0, 1])
def test_a_stacker_that_trains_in_the_pass_agrees(fold: int, of: Sequence[str]) -> None:
    """As in the experiment, but with a window that these few documents fill."""
    texts = [" ".join(tale.title + tale.body) for tale in tales()]
    topics = [[TOPICS.index(name) for name in tale.topics] for tale in tales()]
    train, test = map(np.array, folded(fold))
    given = text_fold(texts, topics, len(TOPICS), "reuters21578", train, test)
    options = "refit=12,window=40"
    result = train_lane(f"svm-map:of=[{','.join(of)}],{options}", given, COMBINED)
    expected, curve = one_pass(f"svm-map:{options}", of, division(fold, "whole"))
    agree(result, expected)
    for loss in MEASURES[:3]:
        kept = [curve[at - 1][loss] for at in result["curve"]["round"]]
        assert result["curve"][loss] == pytest.approx(kept)


@pytest.mark.parametrize("vectors", ["whole", "enriched"])
def test_machines_agree_with_a_plain_computation(
    experiment_results: dict[str, Any], vectors: str
) -> None:
    key = "svm" if vectors == "whole" else "svm-enriched"
    result = experiment_results["parts"][f"fold 1 {vectors}"]["methods"][key]
    assert result["converged"]
    expected = machines(result["C"], division(0, vectors))
    for name in MEASURES:
        assert result["measures"][name] == pytest.approx(expected[name], abs=0.02), name
    assert result["C"] == max(experiment_results["C"], key=lambda cost: result["tried"][str(cost)])


def test_tables_are_means_of_the_folds(experiment_results: dict[str, Any]) -> None:
    rows = {
        (name, row["label"]): row
        for name in ("table-1", "table-2", "against-svm", "wins-svm", "figure-3")
        for row in experiment_results["tables"][name]["rows"]
    }
    for key, label in (("arow", "AROW"), ("stacker", "stacker")):
        result, svm = (
            [
                experiment_results["parts"][f"fold {fold} whole"]["methods"][one]["measures"][
                    "one_error"
                ]
                for fold in (1, 2)
            ]
            for one in (key, "svm")
        )
        shown = rows["table-2", f"{label} (added)"]["ours"]["one_error_percent"]["value"]
        assert shown == pytest.approx(100 * np.mean(result))
        less = rows["against-svm", f"{label} - batch SVM"]["ours"]["one_error_percent"]["value"]
        assert less == pytest.approx(100 * (np.mean(result) - np.mean(svm)))
        wins = rows["wins-svm", f"{label} - batch SVM"]["ours"]["one_error_percent"]["value"]
        assert wins == sum(m < s for m, s in zip(result, svm, strict=True))
    perceptron = rows["table-1", "Perceptron"]
    assert perceptron["paper"]["loss1_percent"]["value"] == 15.71
    ours = perceptron["ours"]["loss1_percent"]["value"]
    assert perceptron["difference"]["loss1_percent"]["value"] == pytest.approx(ours - 15.71)
    counts = Counter(len(tale.topics) for tale in tales())
    for topics, count in counts.items():
        label = f"{topics} topic{'s' if topics > 1 else ''}"
        assert rows["figure-3", label]["ours"]["documents"]["value"] == count
    assert experiment_results["parts"]["documents"]["topics"] == len(TOPICS)
    for name in ("figure-3", "figure-4", "figure-4-added", "figure-6"):
        for kind in ("png", "svg"):
            assert (experiment_results["out"] / f"{name}.{kind}").stat().st_size > 0


def test_going_on_gives_the_same_as_one_run(
    experiment_results: dict[str, Any], wire: Path, tmp_path: Path
) -> None:
    shutil.copytree(experiment_results["out"] / "parts", tmp_path / "parts")
    shutil.copy(experiment_results["out"] / "run.json", tmp_path)
    (tmp_path / "parts" / "fold-2-whole.json").unlink()
    again = run(tmp_path, wire, "--splits", "2", "--seed", str(SEED))
    assert again == {key: value for key, value in experiment_results.items() if key != "out"}
    names = [path.name for path in experiment_results["out"].iterdir() if path.is_file()]
    assert {"figure-4.svg", "figure-6-points.csv"} <= set(names)
    names.remove("results.json")  # it has the times of the run, and was compared
    for name in names:
        assert (tmp_path / name).read_bytes() == (experiment_results["out"] / name).read_bytes(), (
            name
        )


def test_too_small_a_corpus_is_refused(tmp_path: Path) -> None:
    data = write_stories(tmp_path / "reuters", *(story(n, labels=("earn",)) for n in range(1, 5)))
    result = wirerank(
        "experiment", "mmp-reuters21578", "--data", str(data), "--out", str(tmp_path / "out")
    )
    assert result.exit_code == 2
    assert "has 0 ModApte stories of 0 topics that occur in both halves" in result.stderr
