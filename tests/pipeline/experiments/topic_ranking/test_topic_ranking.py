"""The parts that experiments of topic ranking share: means over folds, claims, figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.scores import DenseScores
from learners.segment import Rows
from pipeline.experiments.topic_ranking.figures import draw_losses, draw_precision_recall
from pipeline.experiments.topic_ranking.fold_svm import svm_scores
from pipeline.experiments.topic_ranking.fold_training import best_of, judged
from pipeline.experiments.topic_ranking.folds import Fold, Labelled, cross_validation, steps_of
from pipeline.experiments.topic_ranking.methods import (
    MEASURES,
    OF_THE_PAPER,
    ONLINE,
    MethodResults,
    TopicMethod,
)
from pipeline.experiments.topic_ranking.ordering_claims import claim_lines
from pipeline.experiments.topic_ranking.result_tables import difference_tables, mean_curves

HIGHER = ("average_precision", "max_f1")


def measured(**values: float) -> dict[str, Any]:
    return {
        "measures": {measure: values.get(measure, 0.5) for measure in MEASURES},
        "precision": [0.9, 0.5],
        "recall": [0.8, 1.0],
    }


def test_each_document_is_tested_once_and_never_learned_then() -> None:
    tested = []
    for fold in range(5):
        train, test = cross_validation(23, 5, 7, fold)
        assert sorted([*train, *test]) == list(range(23))
        assert train.tolist() != sorted(train.tolist())
        tested += test.tolist()
    assert sorted(tested) == list(range(23))
    again = cross_validation(23, 5, 7, 5)  # the first fold of another one
    assert again[1].tolist() != cross_validation(23, 5, 7, 0)[1].tolist()
    assert len(again[1]) == 5


def test_rows_are_ranked_then_learned() -> None:
    steps = steps_of([[1], [], [0, 2]], 3, rank=True)
    assert steps.row.tolist() == [0, 0, 1, 1, 2, 2]
    assert steps.learn.tolist() == [False, True] * 3
    assert steps.label_starts.tolist() == [0, 0, 1, 1, 1, 1, 3]
    assert steps.labels.tolist() == [1, 0, 2]
    only = steps_of([[1], [], [0, 2]], 3, rank=False)
    assert only.learn.all()
    assert only.label_starts.tolist() == [0, 1, 1, 3]


def test_curves_are_averaged_where_all_folds_have_a_point() -> None:
    losses = {"loss2": [1.0] * 3, "loss3": [0.0] * 3}
    curves = [
        {"round": [1, 2, 9], "loss1": [1.0, 0.5, 0.25], **losses},
        {"round": [1, 2, 8], "loss1": [0.0, 0.25, 0.0], **losses},
    ]
    actual = mean_curves(curves)
    assert actual == {
        "round": [1, 2],
        "loss1": [0.5, 0.375],
        "loss2": [1.0] * 2,
        "loss3": [0.0] * 2,
    }


def paper_like() -> dict[str, dict[str, float]]:
    good = {measure: 0.1 if measure not in HIGHER else 0.9 for measure in MEASURES}
    return {
        "rocchio": {}, "perceptron": {"coverage": 0.9}, "mmp1": {**good, "coverage": 0.3},
        "mmp2": {"coverage": 0.2}, "mmp3": {"coverage": 0.25},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "measure", "value", "expected"),
    [
        ("mmp1", "max_f1", 0.9, ["HELD", "HELD", "HELD"]),
        ("mmp3", "max_f1", 0.95, ["DID NOT HOLD", "HELD", "HELD"]),
        ("rocchio", "one_error", 0.05, ["DID NOT HOLD", "HELD", "HELD"]),
        ("mmp1", "coverage", 0.1, ["HELD", "DID NOT HOLD", "HELD"]),
        ("rocchio", "coverage", 2.0, ["HELD", "HELD", "DID NOT HOLD"]),
        # Level is what is equal in the digits shown, whichever row is first.
        ("perceptron", "one_error", 0.1, ["LEVEL", "HELD", "HELD"]),
        ("mmp3", "one_error", 0.10004, ["LEVEL", "HELD", "HELD"]),
        ("mmp3", "one_error", 0.1001, ["HELD", "HELD", "HELD"]),
        ("mmp1", "coverage", 0.2, ["HELD", "LEVEL", "HELD"]),
        ("mmp3", "coverage", 0.2, ["HELD", "HELD", "HELD"]),
        ("rocchio", "coverage", 0.9, ["HELD", "HELD", "LEVEL"]),
    ],
)
def test_claims_are_judged(key: str, measure: str, value: float, expected: list[str]) -> None:
    values = paper_like()
    values[key][measure] = value
    numbers = [MethodResults(method, [measured(**values[method.key])]) for method in OF_THE_PAPER]
    assert [line.partition(":")[0] for line in claim_lines(numbers)] == expected


def test_a_claim_that_is_level_says_on_what() -> None:
    """A claim that fails on one of its measures does not hold."""
    values = paper_like()
    values["perceptron"]["one_error"] = 0.1
    values["mmp2"]["average_precision"] = 0.9
    numbers = [MethodResults(method, [measured(**values[method.key])]) for method in OF_THE_PAPER]
    claim = "MMP for loss 1 is best on loss1, OneErr, AvgP and maxF1."
    assert (
        claim_lines(numbers)[0] == f"LEVEL: {claim} Level with another method on OneErr and AvgP."
    )
    values["rocchio"]["max_f1"] = 0.95
    numbers = [MethodResults(method, [measured(**values[method.key])]) for method in OF_THE_PAPER]
    assert claim_lines(numbers)[0].startswith("DID NOT HOLD: ")


def test_differences_and_wins() -> None:
    one = MethodResults(
        TopicMethod("a", "A", ""), [measured(loss1=0.1, max_f1=0.7), measured(loss1=0.3)]
    )
    other = MethodResults(TopicMethod("b", "B", ""), [measured(loss1=0.2), measured(loss1=0.1)])
    less, wins = difference_tables("b", "title", [(one, other)])
    assert less.rows[0].ours["loss1_percent"].value == pytest.approx(5.0)
    assert less.rows[0].ours["max_f1"].value == pytest.approx(0.1)
    assert wins.rows[0].ours["loss1_percent"].value == 1
    assert wins.rows[0].ours["max_f1"].value == 1
    assert wins.rows[0].ours["coverage"].value == 0  # level is not better


def test_a_learner_has_its_colour_and_rounds_a_log_axis() -> None:
    pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")
    curve = {"round": [1, 2, 4], "loss1": [1.0, 0.5, 0.0], "loss2": [9.0, 1.0, 0.0],
             "loss3": [1.0, 0.1, 0.0]}  # fmt: skip
    figure = draw_losses("title", [(method, curve) for method in ONLINE])
    assert len(figure.axes) == 3
    for axis in figure.axes:
        assert axis.get_xscale() == "log"
        assert [line.get_color() for line in axis.lines] == [method.colour for method in ONLINE]
    assert len({method.colour for method in OF_THE_PAPER}) == len(OF_THE_PAPER)
    figure.draw_without_rendering()
    numbers = [MethodResults(method, [measured(), measured()]) for method in OF_THE_PAPER]
    picture = draw_precision_recall("title", numbers)
    picture.draw_without_rendering()
    line = picture.axes[0].lines[0]
    assert np.asarray(line.get_xydata()).tolist() == [[0.8, 0.9], [1.0, 0.5]]
    assert picture.axes[1].get_xlim() == pytest.approx((0.9, 1.0))


def one_word_each(topics: list[list[int]]) -> Labelled:
    count = len(topics)
    rows = Rows(np.arange(count + 1), np.arange(count, dtype=np.int32) % 2, np.full(count, 3.0))
    return Labelled(rows, topics)


def test_machines_rank_topics_that_teach_nothing_last_or_first() -> None:
    """Topic 0 is in all training documents and topic 3 in none."""
    pytest.importorskip("sklearn", reason="pip install 'wirerank[experiments]'")
    fold = Fold(one_word_each([[0, 1], [0, 2]] * 5), one_word_each([[1, 3], [2]]), 2, 4)
    scores, converged = svm_scores(1.0, fold)
    assert converged
    assert np.argsort(-scores, axis=1).tolist() == [[0, 1, 2, 3], [0, 2, 1, 3]]
    actual = judged(DenseScores(scores), fold)["measures"]
    assert actual["coverage"] == 2.0  # of the fourth place and the second
    assert actual["one_error"] == 1.0


def test_the_first_of_equal_settings_is_taken() -> None:
    fold = Fold(one_word_each([[0], [1]] * 10), one_word_each([[0], [1]]), 2, 2)
    asked = []

    def run(setting: float, held_out: Fold) -> dict[str, Any]:
        asked.append((len(held_out.train), len(held_out.test)))
        return {"measures": {"average_precision": 0.5 if setting < 3 else 0.4}}

    assert best_of([3.0, 2.0, 1.0], fold, run) == (2.0, {"3.0": 0.4, "2.0": 0.5, "1.0": 0.5})
    assert asked == [(16, 4)] * 3
