"""States of shards: joined to the state of the whole learner, and divided again.

A learner says which arrays of its state have topics, and along which axis: `Learner.topic_axes`.
All other arrays are equal in all shards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from learners.checks import InvalidArrayError
from learners.learner import State, TopicAxis
from learners.sharding.exchange import DisagreementError
from learners.sharding.topic_slice import owned

Array = npt.NDArray[Any]


def whole_state(states: Sequence[State], axes: Mapping[str, TopicAxis]) -> State:
    """Return the states of all shards of a learner, in order, as one."""
    whole: State = {}
    for name, first in states[0].items():
        parts = [state.get(name) for state in states]
        if name in axes:
            whole[name] = joined(name, parts, axes[name])
        elif any(part is None or not np.array_equal(part, first) for part in parts):
            raise DisagreementError(f"the snapshots of the shards do not agree on {name}")
        else:
            whole[name] = first
    return whole


def joined(name: str, parts: Sequence[Array | None], axis: TopicAxis) -> Array:
    """Join the arrays of all shards along the axis of topics."""
    shards, arrays = len(parts), [in_topics(name, part, axis) for part in parts]
    topics = sum(array.shape[0] for array in arrays)
    shape = arrays[0].shape[1:]
    if any(array.shape[1:] != shape or array.dtype != arrays[0].dtype for array in arrays):
        raise DisagreementError(f"the snapshots of the shards do not agree on the terms of {name}")
    whole = np.empty((topics, *shape), arrays[0].dtype)
    for shard, array in enumerate(arrays):
        if array.shape[0] != owned(topics, shard, shards):
            raise DisagreementError(
                f"the snapshots of the shards do not agree on the topics of {name}"
            )
        whole[shard::shards] = array
    return out_of_topics(whole, axis)


def shard_state(
    whole: Mapping[str, npt.NDArray[np.generic]],
    axes: Mapping[str, TopicAxis],
    shard: int,
    shards: int,
) -> State:
    """Return the state of one shard, given that of the whole learner."""
    state = dict(whole)
    for name, axis in axes.items():
        if name in state:
            own = in_topics(name, state[name], axis)[shard::shards]
            state[name] = out_of_topics(own, axis)
    return state


def in_topics(name: str, array: Array | None, axis: TopicAxis) -> Array:
    """The array with its topics as the first axis."""
    if array is None:
        raise InvalidArrayError(f"array {name} is missing")
    if array.ndim <= axis.axis or array.shape[axis.axis] % axis.width:
        raise InvalidArrayError(f"array {name} has a shape that does not divide into topics")
    moved = np.moveaxis(array, axis.axis, 0)
    return moved.reshape(-1, axis.width, *moved.shape[1:])


def out_of_topics(array: Array, axis: TopicAxis) -> Array:
    """The array as its learner keeps it."""
    rows = array.reshape(-1, *array.shape[2:])
    return np.ascontiguousarray(np.moveaxis(rows, 0, axis.axis))
