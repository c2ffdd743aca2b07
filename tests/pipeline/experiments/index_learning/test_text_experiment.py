"""`wirerank experiment feature-focus-text` from files to tables, on small made-up corpora."""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from learners.slow.feature_focus import SlowFeatureFocus
from pipeline.corpora.newsgroups import Newsgroups
from pipeline.experiments.index_learning import feature_focus_text
from pipeline.slow.tokenizer import slow_tokens
from tests.support.command_line import wirerank
from tests.support.small_corpora import GROUPS, write_newsgroups, write_reuters

pytest.importorskip("sklearn", reason="pip install 'wirerank[experiments]'")
SEED, SPLITS = 5, 2
NAME = "feature-focus-text"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_newsgroups(folder / "20news-small")
    write_reuters(folder / "reuters-small")
    return folder


def run(data: Path, out: Path, *more: str) -> dict[str, Any]:
    arguments = ("--data", str(data), "--out", str(out), "--quiet", *more)
    result = wirerank("experiment", NAME, *arguments)
    assert result.exit_code == 0, result.output
    results: dict[str, Any] = orjson.loads((out / "results.json").read_bytes())
    results["stdout"] = result.stdout
    return results


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    out = tmp_path_factory.mktemp("out") / "text"
    return run(data, out, "--seed", str(SEED), "--splits", str(SPLITS)), out


def without_times(value: Any) -> Any:  # noqa: ANN401 - JSON
    times = ("seconds", "finished", "stdout")
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in times}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def row(outcomes: dict[str, Any], table: str, label: str) -> dict[str, Any]:
    (wanted,) = (one for one in outcomes["tables"][table]["rows"] if one["label"] == label)
    return dict(wanted)


def posts(data: Path) -> list[tuple[list[str], str]]:
    """The tokens and the group of every post, in the order that splits are drawn from."""
    events = [orjson.loads(raw) for raw in Newsgroups(data / "20news-small", order="shuffled")]
    return [
        (slow_tokens(f"{e['title']}\n{e['text']}", "reuters21578"), e["topics"][0]) for e in events
    ]


def split_of(count: int, number: int) -> tuple[list[int], list[int]]:
    order = np.random.default_rng([SEED, number]).permutation(count).tolist()
    cut = round(0.2 * count)
    return order[cut:], order[:cut]


def vector(tokens: list[str], df: Counter[str], documents: int) -> dict[str, float]:
    """Log tf times idf, of length one; the pivot of a document's length goes with its norm."""
    counts = Counter(token for token in tokens if df[token])
    raw = {t: (1 + math.log(n)) * math.log(documents / df[t]) for t, n in counts.items()}
    norm = math.sqrt(sum(value**2 for value in raw.values()))
    return {term: value / norm for term, value in raw.items() if value}


def test_r1_of_feature_focus_is_that_of_its_plain_twin(
    whole: tuple[dict[str, Any], Path], data: Path
) -> None:
    every = posts(data)
    shares = []
    for number in range(SPLITS):
        train, test = split_of(len(every), number)
        df = Counter(token for i in train for token in set(every[i][0]))
        twin = SlowFeatureFocus(margin=0.5)
        for i in train:
            twin.learn(vector(every[i][0], df, len(train)), [every[i][1]], sorted(GROUPS))
        right = 0
        for i in test:
            votes = twin.votes(vector(every[i][0], df, len(train)))
            best = max(sorted(GROUPS), key=lambda group: votes.get(group, 0.0))
            right += best == every[i][1] and best in votes
        shares.append(right / len(test))
    ours = row(whole[0], "comparison-newsgroups", "FF margin 0.5, 1 pass")["ours"]["r1"]
    assert 0.2 < np.mean(shares) < 1.0  # neither hopeless nor trivial
    assert ours["value"] == pytest.approx(np.mean(shares))
    assert ours["deviation"] == pytest.approx(np.std(shares, ddof=1))


def test_the_baseline_ranks_by_frequency(whole: tuple[dict[str, Any], Path], data: Path) -> None:
    every = posts(data)
    ranks = []
    for number in range(SPLITS):
        train, test = split_of(len(every), number)
        seen = Counter(every[i][1] for i in train)
        order = sorted(GROUPS, key=lambda group: (-seen[group], group))
        ranks.append([1 + order.index(every[i][1]) for i in test])
    ours = row(whole[0], "comparison-newsgroups", "FreqBaseline")["ours"]
    assert ours["r1"]["value"] == pytest.approx(np.mean([np.mean(np.array(r) == 1) for r in ranks]))
    harmonic = np.mean([1.0 / np.mean(1.0 / np.array(r)) for r in ranks])
    assert ours["hr"]["value"] == pytest.approx(harmonic)
    assert ours["d"] is None


def test_everything_is_written(whole: tuple[dict[str, Any], Path]) -> None:
    actual, out = whole
    for name in ("comparison-r1", "comparison-r5", "passes", "w-min", "d-max", "options"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / f"{name}.svg").read_bytes()
    for table in actual["tables"]:
        with (out / f"{table}.csv").open() as file:
            assert next(csv.reader(file))[:3] == ["row", "measure", "ours"]
    assert set(actual["sha256"]) == {"newsgroups", "reuters21578"}
    assert actual["seed"] == SEED
    assert "FF margin 0.5, 1 pass" in actual["stdout"]
    assert "  difference" in actual["stdout"]


def test_the_difference_is_ours_less_the_papers(whole: tuple[dict[str, Any], Path]) -> None:
    wanted = row(whole[0], "comparison-newsgroups", "linear SVM")
    assert wanted["paper"]["r1"] == {"value": 0.852, "deviation": 0.005}
    assert wanted["difference"]["r1"]["value"] == pytest.approx(
        wanted["ours"]["r1"]["value"] - 0.852
    )
    assert wanted["difference"]["connections"] is None  # the paper says "189+"


def test_flat_classes_have_no_top_down_row(whole: tuple[dict[str, Any], Path]) -> None:
    tables = whole[0]["tables"]
    labels = {
        kind: {one["label"] for one in tables[f"comparison-{kind}"]["rows"]}
        for kind in ("newsgroups", "reuters21578")
    }
    assert labels["newsgroups"] - labels["reuters21578"] == {"top-down SVM"}


def test_an_interrupted_run_goes_on_and_finds_the_same(
    whole: tuple[dict[str, Any], Path],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pulled(*arguments: Any) -> Any:  # noqa: ANN401
        raise KeyboardInterrupt

    monkeypatch.setattr(feature_focus_text, "train_until_steady", pulled)
    options = ("--seed", str(SEED), "--splits", str(SPLITS), "--quiet")
    arguments = ("--data", str(data), "--out", str(tmp_path), *options)
    stopped = wirerank("experiment", NAME, *arguments)
    assert stopped.exit_code == 130
    assert "5 of" in stopped.stderr
    assert "run the same command again to continue" in stopped.stderr
    assert not (tmp_path / "results.json").exists()
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert len(kept) == 5

    monkeypatch.undo()
    results = run(data, tmp_path, "--seed", str(SEED), "--splits", str(SPLITS))
    assert without_times(results) == without_times(whole[0])
    after = {name: (tmp_path / "parts" / name).stat().st_mtime_ns for name in kept}
    assert after == kept  # what was done was not done again


def test_more_splits_go_on_from_fewer(data: Path, tmp_path: Path) -> None:
    posts = data / "20news-small"
    one = run(posts, tmp_path / "more", "--quick", "--splits", "1")
    kept = tmp_path / "more" / "parts"
    names = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    two = run(posts, tmp_path / "more", "--quick", "--splits", "2")
    assert {name: (kept / name).stat().st_mtime_ns for name in names} == names
    assert one["parts"].keys() < two["parts"].keys()
    at_once = run(posts, tmp_path / "at-once", "--quick", "--splits", "2")
    assert without_times(two) == without_times(at_once)


def test_another_seed_is_another_run(
    whole: tuple[dict[str, Any], Path], data: Path, tmp_path: Path
) -> None:
    out = whole[1]
    arguments = ("--data", str(data), "--out", str(out), "--seed", "6", "--splits", "1")
    refused = wirerank("experiment", NAME, *arguments)
    assert refused.exit_code == 2
    assert "seed differ" in refused.stderr
    assert "--anew" in refused.stderr
    other = run(data, tmp_path, "--seed", "6", "--splits", "1", "--quick")
    again = run(data, tmp_path, "--seed", "7", "--splits", "1", "--quick", "--anew")
    assert other["parts"].keys() == again["parts"].keys()
    assert without_times(other["parts"]) != without_times(again["parts"])


def test_changed_data_are_not_mixed_with_results_of_before(data: Path, tmp_path: Path) -> None:
    only = tmp_path / "20news"
    write_newsgroups(only)
    results = run(only, tmp_path / "out", "--quick")
    assert any("Reuters-21578" in remark and "left out" in remark for remark in results["remarks"])
    (only / GROUPS[0] / "100").write_text("Subject: changed\n\nchanged\n")
    arguments = ("--data", str(only), "--out", str(tmp_path / "out"), "--quick")
    refused = wirerank("experiment", NAME, *arguments)
    assert refused.exit_code == 2
    assert "sha256.newsgroups differ" in refused.stderr
