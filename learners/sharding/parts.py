"""The parts of a learner, one per shard: which kind they are, and how states are divided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.learner import Learner, State
from learners.sharding.divisible_mmp import divisible_state
from learners.sharding.exchange import Exchange
from learners.sharding.independent_part import IndependentPart
from learners.sharding.mmp_shard import MMPShard
from learners.sharding.shard_part import ShardPart
from learners.sharding.shard_state import shard_state, whole_state
from learners.sharding.topic_slice import TopicSlice


def new_part(learner: Learner, exchange: Exchange) -> ShardPart:
    """The model of one shard of a new learner; raises ValueError if it cannot be divided."""
    if learner.independent_topics:
        return IndependentPart(learner, TopicSlice(exchange.shard, exchange.shards))
    if learner.update_rule is None:
        raise ValueError(learner.unshardable)
    rule = learner.update_rule
    return MMPShard(exchange, rule.loss, rule.margin, rule.average)


def divided_state(
    learner: Learner, whole: Mapping[str, npt.NDArray[np.generic]], shard: int, shards: int
) -> State:
    """The state of one shard, given that of the whole learner."""
    if learner.independent_topics:
        whole = {**whole, "exchanges": np.array(0)}
    else:
        whole = divisible_state(whole)
    return shard_state(whole, learner.topic_axes, shard, shards)


def joined_state(learner: Learner, states: Sequence[State]) -> State:
    """The state of the whole learner, given those of all its shards in order.

    It equals that of a learner that was never divided.
    """
    whole = whole_state(states, learner.topic_axes)
    only_shards = ("exchanges",) if learner.independent_topics else MMPShard.shared
    return {
        name: array for name, array in whole.items() if name == "rounds" or name not in only_shards
    }
