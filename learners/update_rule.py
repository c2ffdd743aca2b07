"""The update rule of a prototype learner, as kernels and shards take it."""

from __future__ import annotations

from typing import NamedTuple

MMP_RULE = 0
PERCEPTRON_RULE = 1


class UpdateRule(NamedTuple):
    """How a learner moves its prototypes, one per topic, along a document."""

    kind: int  # MMP_RULE or PERCEPTRON_RULE
    loss: int
    margin: float
    average: bool
