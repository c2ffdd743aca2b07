"""The estimators in programs as users of scikit-learn write them."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="pip install 'wirerank[sklearn]'")

from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from learners import MMP, PRank, estimators
from learners.estimators import (
    AROWClassifier,
    FeatureFocusClassifier,
    MMPClassifier,
    PRankClassifier,
    RankingClassifier,
)
from learners.options import OptionError
from learners.specs import LEARNERS
from tests.conftest import REPOSITORY
from tests.learners.test_by_hand import same_state

ALL = [getattr(estimators, name)() for name in estimators.__all__]
TEXTS = 8 * ["wheat harvest", "ship in port", "wheat on a ship", "more wheat", "port and ship"]
LABELS = ["grain", "ship", "ship", "grain", "ship"] * 8


def classes(seed: int = 0) -> tuple[Any, Any]:
    X, y = make_classification(
        120, 12, n_informative=8, n_redundant=0, n_classes=3, random_state=seed
    )
    return np.abs(X), y


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_parts_and_formats_change_nothing(estimator: Any) -> None:  # noqa: ANN401
    X, y = classes()
    whole = clone(estimator).fit(X, y)
    parts = clone(estimator)
    for start in range(0, 120, 17):
        parts.partial_fit(sparse.csr_array(X[start : start + 17]), y[start : start + 17], [0, 1, 2])
    assert same_state(whole.learner_, parts.learner_)
    assert np.array_equal(whole.predict(X), parts.predict(sparse.coo_matrix(X)))


def test_an_estimator_is_its_learner() -> None:
    X, y = classes()
    model = MMPClassifier(loss=2, margin=0.5).fit(X, y)
    learner = MMP(loss=2, margin=0.5).declare_topics(range(3))
    learner.learn_many(X, y)
    assert same_state(model.learner_, learner)
    assert np.array_equal(model.decision_function(X), learner.rank_many(X).scores)
    ordinal, prank = PRankClassifier(epochs=2).fit(X, y), PRank(ranks=3)
    prank.learn_many(X, y + 1)
    prank.learn_many(X, y + 1)
    assert same_state(ordinal.learner_, prank)
    assert np.array_equal(ordinal.predict(X), prank.rank_many(X).ranks - 1)


def test_text_in_a_pipeline() -> None:
    model = make_pipeline(TfidfVectorizer(), AROWClassifier())
    assert cross_val_score(model, TEXTS, LABELS, cv=4).mean() > 0.9
    assert model.fit(TEXTS, LABELS).predict(["the port", "a harvest"]).tolist() == ["ship", "grain"]


def test_options_are_searched() -> None:
    X, y = np.eye(6)[np.arange(60) % 6], np.arange(60) % 3
    search = GridSearchCV(MMPClassifier(epochs=3), {"loss": [1, 2, 3], "margin": [0.0, 1.0]}, cv=3)
    assert search.fit(X, y).best_score_ == 1.0


def test_several_labels_per_document() -> None:
    X, Y = make_multilabel_classification(200, n_features=30, n_classes=4, random_state=0)
    model = MMPClassifier(epochs=5, average=True, norm="l2").fit(X, Y)
    scores = model.decision_function(X)
    assert scores.shape == Y.shape
    assert np.array_equal(model.predict(X), scores > 0)
    assert model.set_params(threshold=1e9).predict(X).sum() == 0
    relevant, others = scores[Y == 1].mean(), scores[Y == 0].mean()
    assert relevant > others
    parts = MMPClassifier(average=True, norm="l2").partial_fit(X[:50], sparse.csr_array(Y[:50]))
    parts.partial_fit(X[50:], Y[50:])
    assert same_state(parts.learner_, MMPClassifier(average=True, norm="l2").fit(X, Y).learner_)
    with pytest.raises(ValueError, match="indicator matrix in one call"):
        model.partial_fit(X, Y[:, 0])


def test_names_of_labels_come_from_the_binarizer() -> None:
    binarizer = MultiLabelBinarizer()
    Y = binarizer.fit_transform([["grain"], ["ship"], ["grain", "ship"]])
    model = MMP().declare_topics(binarizer.classes_)
    model.learn_many(np.eye(3), Y)
    assert model.topics == ["grain", "ship"]


def test_labels_that_are_not_classes() -> None:
    X, y = classes()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        MMPClassifier().partial_fit(X, y)
    model = MMPClassifier().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"y has the label .*7.*, which is not one"):
        model.partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="not the same as on the first call"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])


def test_parameters_are_checked_by_fit() -> None:
    X, y = classes()
    with pytest.raises(OptionError, match="'loss' option of MMPClassifier must be one of 1, 2, 3"):
        MMPClassifier(loss=5).fit(X, y)
    with pytest.raises(OptionError, match="'epochs' option of MMPClassifier"):
        MMPClassifier(epochs=0).fit(X, y)
    with pytest.raises(OptionError, match="'norm' option of MMPClassifier must be one of none, l2"):
        MMPClassifier(norm="l1").fit(X, y)
    for spec in ("prank", "svm-map", "mmp:shards=2"):
        with pytest.raises(OptionError, match="needs a learner of topics"):
            RankingClassifier(spec).fit(X, y)
    with pytest.raises(TypeError, match="sample_weight"):
        MMPClassifier().fit(X, y, sample_weight=np.ones(len(y)))  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="Negative values in data"):
        FeatureFocusClassifier().fit(-X, y)
    with pytest.raises(ValueError, match="one label per document"):
        PRankClassifier().fit(X, np.eye(len(y), 3, dtype=int))
    with pytest.raises(ValueError, match="put it into bins first"):
        PRankClassifier().fit(np.ones((3000, 1)), np.arange(3000) // 2)


def test_every_estimator_is_documented_and_has_the_options_of_its_learner() -> None:
    page = (REPOSITORY / "docs/reference/learners.md").read_text()
    for name in estimators.__all__:
        assert re.search(rf"`{name}[`(]", page), name
    of_learners = [model for model in ALL if not isinstance(model, RankingClassifier)]
    assert {model.learner_name for model in of_learners} == LEARNERS.keys() - {"svm-map"}
    for model in of_learners:
        kind = LEARNERS[model.learner_name]
        parameters = model.get_params()
        for option in kind.options:
            if option.name != "ranks":
                assert parameters[option.name] == option.default
        assert parameters["norm"] == kind.norm


def test_importing_learners_imports_no_scikit_learn() -> None:
    done = run("import learners, sys; print(sorted({'sklearn', 'pandas'} & {*sys.modules}))")
    assert done.stdout.strip() == "[]", done.stderr


def test_missing_scikit_learn_says_what_to_install() -> None:
    done = run("import sys; sys.modules['sklearn'] = None; import learners.estimators")
    assert done.returncode == 1
    assert "pip install 'wirerank[sklearn]'" in done.stderr
