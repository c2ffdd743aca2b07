"""Top-down classification on a toy taxonomy, and settings chosen on held-out examples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from learners.arrays import Floats
from learners.segment import Rows
from pipeline.experiments.index_learning.independent import THRESHOLDS, train_independent
from pipeline.experiments.index_learning.one_vs_rest_svm import train_svm
from pipeline.experiments.index_learning.taxonomy import Node, taxonomy
from pipeline.experiments.index_learning.top_down_svm import TopDown, fit, rank, train_top_down
from pipeline.experiments.index_learning.train_test_split import (
    Examples,
    Split,
    random_split,
    text_split,
)
from pipeline.experiments.text_vectors import l2_normalised

pytest.importorskip("sklearn", reason="pip install 'wirerank[experiments]'")

CLASSES = ("a.x", "a.y", "b")


def always(*values: float) -> Callable[[Floats], Floats]:
    return lambda rows: np.array(values)[rows[:, 0].astype(int)]


def toy() -> TopDown:
    """Two examples; the second is lost at `a` if p_min is more than 0.3."""
    probability = {
        "a": always(0.8, 0.3), "b": always(0.5, 0.4), "a.x": always(0.5, 0.5),
        "a.y": always(0.9, 0.9),
    }  # fmt: skip
    return TopDown(taxonomy(CLASSES), probability, 0)


def shape(node: Node) -> dict[str, object]:
    return {child.name: shape(child) for child in node.children}


def test_a_taxonomy_of_names() -> None:
    assert shape(taxonomy(CLASSES)) == {"a": {"a.x": {}, "a.y": {}}, "b": {}}
    names = ("comp.graphics", "comp.sys.ibm.pc", "comp.sys.mac", "misc.forsale")
    assert shape(taxonomy(names)) == {
        "comp": {"comp.graphics": {}, "comp.sys": {"comp.sys.ibm.pc": {}, "comp.sys.mac": {}}},
        "misc.forsale": {},
    }
    assert list(taxonomy(names).leaves()) == [0, 1, 2, 3]


def test_probabilities_multiply_down_and_paths_end() -> None:
    rows = np.array([[0], [1]])
    # 0.8 * 0.5 = 0.4 of a.x, 0.72 of a.y, 0.5 of b; then 0.15, 0.27, 0.4.
    for label, expected in ((0, [3, 3]), (1, [1, 2]), (2, [2, 1])):
        labels = np.array([label, label], np.int32)
        hits, applied = rank(toy(), rows, labels, 0.1)
        assert hits.tolist() == expected
        assert applied == 4.0
    # With 0.45 a.x is given up, but a has a child left; of the second only nothing is left.
    for label, expected in ((0, [0, 0]), (1, [1, 0]), (2, [2, 0])):
        hits, applied = rank(toy(), rows, np.array([label, label], np.int32), 0.45)
        assert hits.tolist() == expected
        assert applied == 3.0  # two at the top for both, two below for one of them


def test_an_inner_class_whose_children_were_given_up_is_a_candidate() -> None:
    # Of the second example 0.3 of a, whose children have 0.15 and 0.27, and 0.4 of b.
    hits, _ = rank(toy(), np.array([[1]]), np.array([2], np.int32), 0.28)
    assert hits.tolist() == [1]
    better = toy()
    better.probability["a"] = always(0.8, 0.45)
    better.probability["a.y"] = always(0.9, 0.5)
    hits, _ = rank(better, np.array([[1]]), np.array([2], np.int32), 0.28)
    assert hits.tolist() == [2]  # behind `a` itself


def examples(count: int, seed: int) -> Split:
    """Three classes, each with its own terms and random ones."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(count) % 3).astype(np.int32)
    terms, starts = [], [0]
    for label in labels.tolist():
        own = 10 * label + rng.permutation(10)[:2]
        of_row = np.unique(np.concatenate((own, rng.integers(0, 40, 3))))
        terms.append(of_row)
        starts.append(starts[-1] + len(of_row))
    flat = np.concatenate(terms).astype(np.int32)
    rows = l2_normalised(Rows(np.array(starts, np.int64), flat, np.ones(len(flat))))
    every = Examples(rows, labels)
    train, test = random_split(count, 0.25, seed, 0)
    return Split(every.select(train), every.select(test), 40, CLASSES)


def test_classifiers_learn_and_say_what_was_chosen() -> None:
    split = examples(160, 0)
    for result, choice in (
        (train_svm(split, 0.2), "C"),
        (train_top_down(split, 0.2), "p_min"),
        (train_independent(split, 0.2), "p_ind"),
    ):
        (measured,) = result["passes"]
        assert measured["r1"] > 0.6, choice  # a third by chance
        assert measured["r1"] <= measured["r5"] <= 1.0
        assert measured["connections"] > 0
        assert choice in result["chosen"]


def test_a_class_that_training_lacks_is_never_first() -> None:
    split = examples(60, 1)
    kept = split.train.select(np.flatnonzero(split.train.labels != 2))
    lacking = Split(kept, split.test, split.terms, split.classes)
    (measured,) = train_svm(lacking, 0.2)["passes"]
    assert measured["r1"] <= np.mean(split.test.labels != 2)
    assert fit(lacking).weights > 0


def test_one_class_in_training_is_always_first() -> None:
    split = examples(60, 1)
    kept = split.train.select(np.flatnonzero(split.train.labels == 1))
    lacking = Split(kept, split.test, split.terms, split.classes)
    for result in (train_svm(lacking, 0.2), train_top_down(lacking, 0.2)):
        (measured,) = result["passes"]
        assert measured["r1"] == np.mean(split.test.labels == 1)
        assert measured["connections"] == 0


def test_texts_without_a_word_are_ranked_all_the_same() -> None:
    classes, labels = ("a", "b"), np.array([0, 1, 0, 1, 0, 1], np.int32)
    some = np.arange(6)
    split = text_split([""] * 6, labels, classes, "reuters21578", some[:4], some[4:])
    (measured,) = train_svm(split, 0.2)["passes"]
    assert measured["r1"] == 0.5


def test_something_is_held_out_of_the_smallest_training_part() -> None:
    two = examples(60, 3).train.select(np.arange(2))
    smallest = Split(two, two, 40, CLASSES)
    held_out = smallest.held_out(0.2)
    assert (len(held_out.train), len(held_out.test)) == (1, 1)


def test_the_thresholds_of_the_paper() -> None:
    assert THRESHOLDS[:10] == (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1)
    assert THRESHOLDS[10:] == (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)


def test_held_out_examples_are_not_trained_on() -> None:
    split = examples(100, 2)
    held_out = split.held_out(0.2)
    assert (len(held_out.train), len(held_out.test)) == (60, 15)
    whole = np.concatenate((held_out.train.labels, held_out.test.labels))
    assert whole.tolist() == split.train.labels.tolist()
    for number in range(15):
        ours, theirs = held_out.test.rows.row(number), split.train.rows.row(60 + number)
        assert ours[0].tolist() == theirs[0].tolist()
