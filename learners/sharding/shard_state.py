"""States of shards: joined to the state of the whole learner, and divided again.

Topic r belongs to shard r modulo the number of shards, where it is column r // shards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.checks import array_of, check_between, count_of, floats, longs
from learners.learner import State
from learners.sharding.exchange import DisagreementError
from learners.sharding.shard_kernels import column_lengths

SHORTEST_STRETCH, FIRST_STRETCH, LONGEST_STRETCH = 16, 256, 1024  # steps
# Arrays that are equal in all shards. The other arrays are terms x the shard's own topics.
WEIGHTS = ("weights", "lagging")
SHARED = ("rounds", "exchanges", "stretch", "mass", "lag_mass", "history")


def check_shard(
    state: Mapping[str, npt.NDArray[np.generic]], shard: int, shards: int, average: bool
) -> None:
    """Raise `InvalidArrayError` if this cannot be the state of a shard."""
    for name in ("rounds", "exchanges"):
        count_of(state, name)
    longs(state, "stretch", least=SHORTEST_STRETCH, below=LONGEST_STRETCH + 1)
    mass = floats(state, "mass", None)
    topics = len(mass)
    check_between("mass", mass, 0.0)
    check_between("lag_mass", floats(state, "lag_mass", topics), 0.0)
    array_of(state, "history", np.int64, topics)
    weights = floats(state, "weights", None, owned(topics, shard, shards))
    if average:
        floats(state, "lagging", *weights.shape)


def owned(topics: int, shard: int, shards: int) -> int:
    """Return how many of the first `topics` topics belong to a shard."""
    return (topics - shard + shards - 1) // shards


def whole_state(states: Sequence[State]) -> State:
    """Return the state of a learner, given the states of all its shards in order."""
    whole: State = {name: states[0][name] for name in SHARED}
    for state in states[1:]:
        for name in SHARED:
            if not np.array_equal(state[name], whole[name]):
                raise DisagreementError(f"the snapshots of the shards do not agree on {name}")
    for name in [name for name in WEIGHTS if name in states[0]]:
        joined = np.zeros((len(states[0]["weights"]), len(states[0]["mass"])))
        if any(len(state[name]) != len(joined) for state in states):
            raise DisagreementError("the snapshots of the shards do not agree on their terms")
        for shard, state in enumerate(states):
            joined[:, shard :: len(states)] = state[name]
        whole[name] = joined
    return whole


def shard_state(whole: Mapping[str, npt.NDArray[np.generic]], shard: int, shards: int) -> State:
    """Return the state of one shard, given that of a learner with or without shards."""
    state = dict(whole)
    arrays = [name for name in WEIGHTS if name in state]
    shape = floats(state, "weights", None, None).shape
    for name in arrays:
        floats(state, name, *shape)
    if "mass" not in state:  # the learner had no shards
        count_of(state, "rounds")
        state["exchanges"], state["stretch"] = np.array(0), np.array(FIRST_STRETCH)
        columns = [state[name].T for name in arrays]
        state["history"] = np.array(list(map(history_of, *columns)), np.uint64).view(np.int64)
        topics = state["weights"].shape[1]
        for bound, name in (("mass", "weights"), ("lag_mass", "lagging")):
            lengths = np.zeros(topics)
            if name in state:
                array = np.asarray(state[name], np.float64)
                lengths = column_lengths(array, len(array), topics)
            state[bound] = lengths
    for name in arrays:
        state[name] = np.ascontiguousarray(state[name][:, shard::shards])
    return state


def history_of(*columns: npt.NDArray[np.generic]) -> int:
    """Return a hash that stands for the unknown history of a prototype; 0 if it is zero.

    Prototypes with different content get different hashes.
    """
    if not any(column.any() for column in columns):
        return 0
    data = b"".join(column.tobytes() for column in columns)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") | 1
