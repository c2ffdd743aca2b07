"""`wirerank experiment svm-map` on made-up runs and files, and on MQ2008 where available."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.corpora.letor import read_letor
from pipeline.corpora.trec import read_trec
from pipeline.errors import UsageError
from pipeline.experiments.query_ranking.result_tables import Probability
from pipeline.experiments.query_ranking.svm_map import first_of, remarks_on_parts
from pipeline.experiments.report.experiment_folders import find_experiments
from pipeline.experiments.report.page import page
from pipeline.experiments.tables import Number
from pipeline.retrieval.evaluation_protocols import PARTS, folds, halves, random_splits, trials
from pipeline.retrieval.features import Form
from pipeline.retrieval.measures import average_precisions, mean
from pipeline.retrieval.model_selection import ModelSelector, Split
from pipeline.retrieval.ranker import Ranker
from pipeline.retrieval.signed_rank_test import signed_rank_test
from tests.support.command_line import wirerank
from tests.support.made_up_runs import Shape, write_runs

SMALL = Shape(systems=6, topics=30, depth=60, documents=600, relevant=(4, 30))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = write_runs(tmp_path_factory.mktemp("trec"), seed=3, shape=SMALL)
    (Path(where.partition(",")[0]) / "README.md").write_text("These are runs.\n")
    return where


@pytest.fixture(scope="module")
def selector(runs: str) -> ModelSelector:
    return ModelSelector(read_trec(runs))


def experiment(*arguments: str) -> dict[str, Any]:
    pytest.importorskip("matplotlib")
    result = wirerank("experiment", "svm-map", *arguments)
    assert result.exit_code == 0, result.stderr
    out = Path(arguments[arguments.index("--out") + 1])
    results: dict[str, Any] = json.loads((out / "results.json").read_bytes())
    return results


def write_letor(path: Path, queries: int, seed: int = 0) -> Path:
    """Features that are weak alone and strong together."""
    rng = np.random.default_rng(seed)
    lines = []
    for query in range(queries):
        for document in range(12):
            grade = int(rng.integers(3) * (document % 3 == 0))
            seen = enumerate(grade + rng.normal(0, 2, 8), start=1)
            values = " ".join(f"{feature}:{value:.4f}" for feature, value in seen)
            lines.append(f"{grade} qid:{query} {values} #docid = d{document:02}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_trials_are_the_papers(selector: ModelSelector) -> None:
    """10 train, 5 choose, the others are measured; parts are disjoint; all train equally often."""
    actual = trials(selector.queries, 30, seed=1).splits
    known = set(selector.queries.with_relevant().tolist())
    trained = np.zeros(len(selector.queries), int)
    for split in actual:
        assert (len(split.train), len(split.validation)) == (10, 5)
        sets = [set(some.tolist()) for some in (split.train, split.validation, split.test)]
        assert set.union(*sets) == known
        assert sum(map(len, sets)) == len(known)
        trained[split.train] += 1
    assert len(known) == 30
    assert set(trained) == {10}
    again = trials(selector.queries, 5, seed=1).splits  # more go on from fewer
    assert all((a.train == b.train).all() for a, b in zip(again, actual, strict=False))


def test_halves_measure_every_query_once(selector: ModelSelector) -> None:
    one, two = halves(selector.queries, seed=1).splits
    assert sorted([*one.test, *two.test]) == selector.queries.with_relevant().tolist()
    assert sorted([*one.train, *one.validation]) == sorted(two.test)


def test_letors_folds(tmp_path: Path) -> None:
    for number in range(1, 6):
        text = f"1 qid:{number} 1:1\n0 qid:{number} 1:0\n"
        (tmp_path / f"S{number}.txt").write_text(text)
    queries = folds(read_letor(tmp_path))
    assert queries is not None
    assert [split.train.tolist() for split in queries.splits[:2]] == [[0, 1, 2], [1, 2, 3]]
    assert [split.validation.tolist() for split in queries.splits] == [[3], [4], [0], [1], [2]]
    assert [split.test.tolist() for split in queries.splits] == [[4], [0], [1], [2], [3]]


def test_too_few_queries_are_refused(tmp_path: Path) -> None:
    few = read_letor(write_letor(tmp_path / "few.txt", 12))
    assert folds(few) is None
    # One of the 12 has no relevant document.
    with pytest.raises(UsageError, match="11 queries have a relevant document; expected at least"):
        random_splits(few, 2, seed=0)


@pytest.mark.parametrize("machine", ["map", "roc", "acc", "acc2"])
def test_what_is_chosen_is_best_on_validation_and_ranks_again_from_a_file(
    selector: ModelSelector, machine: str, tmp_path: Path
) -> None:
    if machine.startswith("acc"):
        pytest.importorskip("sklearn")
    split = halves(selector.queries, seed=2).splits[0]
    every = [selector.chosen(machine, split, [form], thin=3) for form in FORMS]
    chosen = selector.chosen(machine, split, FORMS, thin=3)
    assert chosen.validated == max(one.validated for one in every)
    scores = selector.scored(chosen, split.validation)
    watched = selector.queries.select(split.validation)
    assert mean(average_precisions(watched, scores)) == chosen.validated
    chosen.ranker.save(tmp_path / "ranker")
    again = Ranker.load(tmp_path / "ranker").scores(watched)
    np.testing.assert_array_equal(again, scores)


FORMS = (Form("minmax", 10), Form("place", 0))


def test_the_best_function_is_chosen_on_training_queries(selector: ModelSelector) -> None:
    train = np.arange(8)
    means = [
        mean(average_precisions(selector.queries, v)[train]) for v in selector.queries.values.T
    ]
    assert selector.best_functions(train)[0] == int(np.argmax(means))


def test_the_experiment_on_runs(runs: str, tmp_path: Path) -> None:
    """The table agrees with the parts; running the command again computes nothing."""
    out = str(tmp_path / "out")
    arguments = ("--data", f"trec:{runs}", "--quick", "--out", out)
    results = experiment(*arguments)
    parts = results["parts"]
    assert {name.split(" ")[1] for name in parts} == {"halves", "trials"}
    (left_out,) = (remark for remark in results["remarks"] if "left out" in remark)
    assert left_out.endswith(": README.md.")
    ours, best = (
        {
            query: measures[0]
            for half in (1, 2)
            for query, measures in zip(
                parts[f"trec halves half {half} {key}"]["queries"],
                parts[f"trec halves half {half} {key}"]["measures"],
                strict=True,
            )
        }
        for key in ("map", "best")
    )
    rows = {row["label"]: row["ours"] for row in results["tables"]["trec-halves"]["rows"]}
    assert rows["SVM-map"]["ap"]["value"] == pytest.approx(np.mean(list(ours.values())))
    assert rows["SVM-map"]["p"] is None
    test = signed_rank_test(list(ours.values()), [best[query] for query in ours])
    assert rows["best function"]["wins"]["value"] == test.wins
    assert rows["best function"]["losses"]["value"] == test.losses
    assert rows["best function"]["p"]["value"] == pytest.approx(test.p)
    assert {"SVM-roc", "SVM-map, global bins", "sum of scores (ours)"} <= set(rows)
    labels = {"acc": "SVM-acc, forms as SVM-map", "acc4": "SVM-acc4 (min-max bins)"}
    for key, label in labels.items():
        validated = [parts[f"trec halves half {half} {key}"]["chosen"] for half in (1, 2)]
        assert rows[label]["ap"]["value"] > 0.0
        assert key == "acc" or {one["form"] for one in validated} == {"minmax, 50 cuts"}
    tables = results["tables"].values()
    every = [one["p"]["value"] for t in tables for r in t["rows"] if (one := r["ours"])["p"]]
    starred = page(find_experiments(tmp_path / "out")).count(b'title="below 0.05">**</span>')
    assert starred == sum(p < 0.05 for p in every)
    assert 0 < starred < len(every)
    for name in ("map.png", "map.svg", "trec-halves.csv", "trec-trials.csv"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    (tmp_path / "out" / "results.json").unlink()
    assert experiment(*arguments)["parts"] == parts


def test_other_runs_are_other_data(runs: str, tmp_path: Path) -> None:
    """The fingerprint is that of the runs and of the judgements."""
    more = ("--quick", "--out", str(tmp_path / "out"))
    experiment("--data", f"trec:{runs}", *more)
    folder, qrels = runs.split(",")
    result = wirerank("experiment", "svm-map", "--data", f"trec:{folder}/s00,{qrels}", *more)
    assert result.exit_code == 2
    assert "sha256.trec differ" in result.stderr


def test_the_experiment_on_a_letor_file(tmp_path: Path) -> None:
    path = write_letor(tmp_path / "letor-queries.txt", 40)
    results = experiment("--data", f"letor:{path}", "--quick", "--out", str(tmp_path / "out"))
    rows = {row["label"]: row["ours"] for row in results["tables"]["letor-splits"]["rows"]}
    assert rows["SVM-map"]["ap"]["value"] > rows["best function"]["ap"]["value"]
    columns = results["tables"]["letor-splits"]["columns"]
    undecided = {column["key"] for column in columns if column["better"] != 1}
    assert undecided == {"wins", "losses", "p"}  # of all others the report marks the highest


def write_parts(folder: Path, without: str, queries: int = 2) -> Path:
    """LETOR's five parts, one of them without relevant documents."""
    folder.mkdir()
    for number in range(1, 6):
        relevant = f"S{number}" != without
        lines = [
            f"{int(relevant and document < 2)} qid:{number}{query} 1:{-document} 2:{query}"
            for query in range(queries)
            for document in range(4)
        ]
        (folder / f"S{number}.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_a_quick_run_keeps_the_folds(tmp_path: Path) -> None:
    """Also if a part has no query with a relevant document; a remark says so."""
    path = write_parts(tmp_path / "letor", without="S3", queries=10)
    sample = first_of(read_letor(path), 40)
    assert Counter(sample.parts) == dict.fromkeys(PARTS, 8)
    assert len(sample.with_relevant()) == 32
    assert remarks_on_parts(sample)[0].startswith("letor: no query of S3 has a relevant document.")
    path = write_parts(tmp_path / "small", without="S3")
    results = experiment("--data", f"letor:{path}", "--quick", "--out", str(tmp_path / "out"))
    assert list(results["tables"]) == ["letor-folds"]
    assert results["remarks"][1:3] == [
        "With --quick at most 40 queries are used: the first queries of each part that have "
        "relevant documents.",
        *remarks_on_parts(sample),
    ]
    values = [row["ours"]["ap"]["value"] for row in results["tables"]["letor-folds"]["rows"]]
    assert all(0 < value <= 1 for value in values)


def test_splits_that_are_random_for_want_of_a_part_are_said(tmp_path: Path) -> None:
    path = write_parts(tmp_path / "letor", without="")
    assert remarks_on_parts(read_letor(path)) == []
    (path / "S5.txt").write_text("\n")
    assert remarks_on_parts(read_letor(path)) == [
        "letor: S5 has no queries, so LETOR's five folds cannot be made. Random splits are used "
        "instead."
    ]
    other = read_letor(write_letor(tmp_path / "one.txt", 12))
    assert remarks_on_parts(other) == []


def test_queries_without_relevant_documents_are_refused_in_quick_runs_too(tmp_path: Path) -> None:
    path = tmp_path / "none.txt"
    path.write_text("".join(f"0 qid:{query} 1:{query}\n" for query in range(30)))
    for more in ([], ["--quick"]):
        out = ["--out", str(tmp_path / "out")]
        result = wirerank("experiment", "svm-map", "--data", f"letor:{path}", "--anew", *out, *more)
        assert result.exit_code == 2
        assert "0 queries have a relevant document; expected at least 20" in result.stderr


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "<0.0001 **"), (3e-9, "<0.0001 **"), (0.00012, "0.0001 **"), (0.05, "0.0500   ")],
)
def test_no_probability_is_said_to_be_zero(p: float, text: str) -> None:
    assert Probability("p", "p", 4, starred_below=0.05).shown(Number(p)) == text


def test_data_that_are_none_are_named(tmp_path: Path) -> None:
    result = wirerank("experiment", "svm-map", "--data", "trec:nothing")
    assert result.exit_code == 2
    assert "expected RUNS,QRELS" in result.stderr
    result = wirerank("experiment", "svm-map", "--data", str(tmp_path))
    assert result.exit_code == 2
    assert "--data trec:PATH (TREC runs and judgements, written RUNS,QRELS" in result.stderr


def test_scales_of_queries_matter_to_global_bins_alone(tmp_path: Path) -> None:
    """If scales differ by query, SVM-map beats the best function only with bins per query."""
    pytest.importorskip("sklearn")
    shape = Shape(systems=8, topics=60, depth=200, documents=2500)
    selector = ModelSelector(read_trec(write_runs(tmp_path, seed=5, shape=shape)))
    actual: dict[str, list[float]] = {"map": [], "global": [], "best": []}
    for split in halves(selector.queries, seed=0).splits:
        test = selector.queries.select(split.test)
        for name, forms in (("map", None), ("global", (Form("none", 50),))):
            chosen = selector.chosen("map", split, forms or FORMS, thin=2)
            actual[name] += average_precisions(test, selector.scored(chosen, split.test)).tolist()
        actual["best"] += selector.singles()[
            split.test, selector.best_functions(split.train)[0]
        ].tolist()
    assert np.mean(actual["map"]) > np.mean(actual["best"])
    assert np.mean(actual["map"]) > np.mean(actual["global"]) + 0.01


def test_mq2008_one_fold(shared_corpus: Callable[[str], Path]) -> None:
    """The first fold, with the paper's bins and one cost: better than the best feature."""
    selector = ModelSelector(read_letor(shared_corpus("letor")))
    protocol = folds(selector.queries)
    assert protocol is not None
    split: Split = protocol.splits[0]
    chosen = selector.chosen("map", split, [Form("minmax", 50)], thin=2)
    test = selector.queries.select(split.test)
    actual = mean(average_precisions(test, selector.scored(chosen, split.test)))
    best = selector.best_functions(split.train)[0]
    assert selector.queries.functions[best] == "39"
    assert actual > mean(selector.singles()[split.test, best]) - 0.01
