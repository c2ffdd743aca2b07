"""The estimators pass scikit-learn's own checks."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sklearn", reason="pip install 'wirerank[sklearn]'")

from sklearn.utils.estimator_checks import parametrize_with_checks

from learners import estimators

ESTIMATORS = [getattr(estimators, name)() for name in estimators.__all__]


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [*ESTIMATORS, estimators.MMPClassifier(kernel="poly2"), estimators.RankingClassifier("arow")]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:  # noqa: ANN401
    check(estimator)
