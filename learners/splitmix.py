"""Random bits from a number: the scrambling step of splitmix64, the same on every machine.

To draw random numbers, count the draws and scramble the count. The numbers depend on nothing else.
"""

from __future__ import annotations

import numpy as np

from learners.jit import njit

# Constants and shifts must be unsigned, or numba computes with floats.
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31 = np.uint64(27), np.uint64(30), np.uint64(31)


@njit
def mix(z: np.uint64) -> np.uint64:
    """64 random bits from any 64 bits."""
    z += GAMMA
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)
