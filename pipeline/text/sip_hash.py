"""SipHash-1-3: a hash of words under a secret key, so that nobody can prepare words that collide.

Without a key, 30,000 words that share the low bits of their hashes make every search in a hash
table walk over all of them. SipHash (Aumasson and Bernstein 2012) is a pseudorandom function: who
does not know the key cannot tell which words collide. One round per eight bytes and three at the
end is the variant that Python, Rust and Ruby use for their hash tables.

The key is random in every process and never leaves it. No result depends on it: terms are numbered
by first appearance, and neither records of the log nor snapshots contain hashes.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from learners.arrays import Bytes
from learners.jit import njit, njit_inline
from pipeline.text.eight_bytes import eight_bytes, first_bytes

Hashes = npt.NDArray[np.uint64]

# The key of this process. Kernels take it as an argument: numba would write a global into its
# cache on disk, and all later processes would use that key.
PROCESS_KEY: Hashes = np.frombuffer(bytearray(os.urandom(16)), np.uint64)


@njit
def rotated(value: np.uint64, bits: int) -> np.uint64:
    """Return a number rotated to the left."""
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@njit
def sip_round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Mix the four numbers of the state."""
    v0 += v1
    v2 += v3
    v1 = rotated(v1, 13) ^ v0
    v3 = rotated(v3, 16) ^ v2
    v0 = rotated(v0, 32)
    v2 += v1
    v0 += v3
    v1 = rotated(v1, 17) ^ v2
    v3 = rotated(v3, 21) ^ v0
    v2 = rotated(v2, 32)
    return v0, v1, v2, v3


@njit_inline
def sip_hash(letters: Bytes, start: int, end: int, key: Hashes) -> np.uint64:
    """Return the hash of `letters[start:end]` under a key of two numbers."""
    v0 = key[0] ^ np.uint64(0x736F6D6570736575)
    v1 = key[1] ^ np.uint64(0x646F72616E646F6D)
    v2 = key[0] ^ np.uint64(0x6C7967656E657261)
    v3 = key[1] ^ np.uint64(0x7465646279746573)
    at = start
    rest = end - start
    while rest >= 0:
        if at + 8 <= len(letters):
            word = eight_bytes(letters, at)
        else:
            word = np.uint64(0)
            for last in range(len(letters) - 1, at - 1, -1):
                word = word << np.uint64(8) | np.uint64(letters[last])
        if rest < 8:  # the last bytes, and the length above them
            word = first_bytes(word, rest) | np.uint64(end - start) << np.uint64(56)
        v3 ^= word
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
        v0 ^= word
        at += 8
        rest -= 8
    v2 ^= np.uint64(0xFF)
    for _ in range(3):
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    return np.uint64(v0 ^ v1 ^ v2 ^ v3)


@njit_inline
def sip_hash_short(word: np.uint64, length: int, key: Hashes) -> np.uint64:
    """Return the hash of a word of fewer than eight bytes, given as a number with zeros behind."""
    v0 = key[0] ^ np.uint64(0x736F6D6570736575)
    v1 = key[1] ^ np.uint64(0x646F72616E646F6D)
    v2 = key[0] ^ np.uint64(0x6C7967656E657261)
    v3 = key[1] ^ np.uint64(0x7465646279746573)
    word |= np.uint64(length) << np.uint64(56)
    v3 ^= word
    v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    v0 ^= word
    v2 ^= np.uint64(0xFF)
    for _ in range(3):
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    return np.uint64(v0 ^ v1 ^ v2 ^ v3)
