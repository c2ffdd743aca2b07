"""The state of an undivided MMP, with what its shards share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from learners.checks import count_of, floats
from learners.learner import State
from learners.sharding.replay import column_lengths
from learners.sharding.stretch_expectation import Expectation


def divisible_state(whole: Mapping[str, npt.NDArray[np.generic]]) -> State:
    """Return the state of an undivided MMP with what its shards share; others as they are."""
    state = dict(whole)
    if "mass" in state:
        return state
    weights = np.ascontiguousarray(floats(state, "weights", None, None))
    count_of(state, "rounds")
    state["exchanges"], state["measured"] = np.array(0), np.array(0)
    expected = Expectation()
    state["stretch"] = np.array(expected.stretch)
    state["expected"] = np.array([expected.fall, expected.rise])
    state["mass"] = column_lengths(weights, *weights.shape)
    hashes = [history_of(column) for column in weights.T]
    state["history"] = np.array(hashes, np.uint64).view(np.int64)
    return state


def history_of(weights: Floats) -> int:
    """Return a hash that stands for the unknown history of a prototype; 0 if it is zero.

    Prototypes with different content get different hashes.
    """
    if not weights.any():
        return 0
    return int.from_bytes(hashlib.blake2b(weights.tobytes(), digest_size=8).digest(), "little") | 1
