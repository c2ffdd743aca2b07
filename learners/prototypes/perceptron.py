"""One perceptron a topic, each told only whether its own topic applies, as an update rule."""

from __future__ import annotations

from learners.arrays import Floats, Ints
from learners.jit import njit


@njit
def perceptron_coefficients(
    scores: Floats, known: int, relevant: Ints, margin: float, tau: Floats
) -> bool:
    """Write how far each topic moves along the document to `tau`; say whether any does.

    With t = +1 for a relevant topic and -1 for another, the topic moves by t if t times its
    score is no more than `margin`. So a document without topics still teaches every topic that
    claims it.
    """
    for r in range(known):
        tau[r] = -1.0 if -scores[r] <= margin else 0.0
    for r in relevant:
        tau[r] = 1.0 if scores[r] <= margin else 0.0
    moved = False
    for r in range(known):
        moved |= tau[r] != 0.0
    return moved
