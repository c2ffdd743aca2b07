"""States of index learners that cannot be are refused."""

from __future__ import annotations

import numpy as np
import pytest

from learners import FeatureFocus, Independent
from learners.checks import InvalidArrayError
from learners.learner import State


def state(weight: float, total: float) -> State:
    """One feature with one connection."""
    return {
        "count": np.ones(1, np.int64),
        "classes": np.zeros(1, np.int32),
        "weights": np.array([weight]),
        "total": np.array([total]),
        "seen": np.ones(1, np.int64),
    }


@pytest.mark.parametrize("learner", [FeatureFocus, Independent])
def test_no_connection_is_heavier_than_its_feature(
    learner: type[FeatureFocus] | type[Independent],
) -> None:
    """Its share would be infinite, and so would the scores."""
    learner().restore(state(1e300, 1e300))
    for weight, total in ((1.0, 1e-320), (1e308, 1.0), (5.0, 2.0)):
        with pytest.raises(InvalidArrayError, match="heavier than its feature"):
            learner().restore(state(weight, total))
