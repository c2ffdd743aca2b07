"""MMP: the multiclass multilabel perceptron of Crammer and Singer (2002), as an update rule.

A round is wrong when an irrelevant topic scores level with or above a relevant one. Only the
topics of such pairs move, each by the number of pairs it is in, so that the relevant ones gain
together what the round lost.
"""

from __future__ import annotations

import numpy as np

from learners.jit import njit
from learners.segment import Floats, Ints


@njit
def mmp_coefficients(
    scores: Floats, known: int, relevant: Ints, loss: int, margin: float, tau: Floats
) -> bool:
    """Write how far each topic moves along the document to `tau`; say whether any does.

    With E the pairs (r, s) of a relevant and an irrelevant topic where r leads by no more than
    `margin`, topic r gains n_r / c and topic s loses n_s / c, the n counting its pairs in E. c is
    |E| for loss 1, 1 for loss 2 and the number of all pairs for loss 3. A document with no
    relevant topic, or with all of them, has no pairs and moves nothing.
    """
    gained = np.zeros(len(relevant))
    tau[:known] = 0.0
    for i in range(len(relevant)):
        lead = scores[relevant[i]]
        # Relevant topics are counted too, so that the loop over all topics has no branch and
        # runs on whole vectors; the few of them are taken out again below.
        for s in range(known):
            wrong = 1.0 if lead - scores[s] <= margin else 0.0
            tau[s] -= wrong
            gained[i] += wrong
        for r in relevant:
            gained[i] -= 1.0 if lead - scores[r] <= margin else 0.0
    for i in range(len(relevant)):
        tau[relevant[i]] = gained[i]
    pairs = gained.sum()  # whole numbers: exact in any order
    if pairs == 0.0:
        tau[:known] = 0.0
        return False
    if loss == 2:
        return True
    divisor = pairs if loss == 1 else float(len(relevant) * (known - len(relevant)))
    for r in range(known):
        tau[r] /= divisor
    return True
