"""MMP: the multiclass multilabel perceptron of Crammer and Singer (2002), as an update rule.

A round is wrong when an irrelevant topic scores level with or above a relevant one. Only the
topics of such pairs move, each by the number of pairs it is in, so that the relevant ones gain
together what the round lost.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints
from learners.jit import njit


@njit
def mmp_coefficients(
    scores: Floats, known: int, relevant: Ints, loss: int, margin: float, tau: Floats
) -> bool:
    """Write how far each topic moves along the document to `tau`, if any does; say whether.

    With E the pairs (r, s) of a relevant and an irrelevant topic where r leads by no more than
    `margin`, topic r gains n_r / c and topic s loses n_s / c, the n counting its pairs in E. c is
    |E| for loss 1, 1 for loss 2 and the number of all pairs for loss 3. A document with no
    relevant topic, or with all of them, has no pairs and moves nothing.
    """
    gained = np.empty(len(relevant), np.int64)
    pairs = 0
    for i in range(len(relevant)):
        lead = scores[relevant[i]]
        # Relevant topics are counted too, so that the loop over all topics has no branch and
        # runs on whole vectors; the few of them are taken out again after it.
        count = 0
        for s in range(known):
            count += lead - scores[s] <= margin
        for r in relevant:
            count -= lead - scores[r] <= margin
        gained[i] = count
        pairs += count
    if pairs == 0:
        return False
    tau[:known] = 0.0
    for r in relevant:
        lead = scores[r]
        for s in range(known):
            tau[s] -= 1.0 if lead - scores[s] <= margin else 0.0
    for i in range(len(relevant)):
        tau[relevant[i]] = gained[i]
    if loss == 2:
        return True
    divisor = float(pairs if loss == 1 else len(relevant) * (known - len(relevant)))
    for r in range(known):
        tau[r] /= divisor
    return True
