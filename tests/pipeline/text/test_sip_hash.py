"""The keyed hash: equal to Python's own and to its twin, and of no use to who floods a table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.arrays import Bytes
from learners.jit import njit
from pipeline.slow.sip_hash import slow_sip_hash
from pipeline.text.sip_hash import PROCESS_KEY, Hashes, sip_hash
from pipeline.text.terms import TermTable, table_of

FLOOD = 2000  # words whose old hashes end in the same bits
SAME_BITS = 12


def array_of(data: bytes) -> Bytes:
    return np.frombuffer(bytearray(data), np.uint8)


def key_of(k0: int, k1: int) -> Hashes:
    return np.array([k0, k1], np.uint64)


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=300), st.binary(max_size=9), st.binary(max_size=9),
    st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1),
)  # fmt: skip
def test_equals_its_twin(word: bytes, before: bytes, after: bytes, k0: int, k1: int) -> None:
    """Whatever surrounds the word, also where less than eight bytes follow it."""
    letters = array_of(before + word + after)
    hashed = sip_hash(letters, len(before), len(before) + len(word), key_of(k0, k1))
    assert int(hashed) == slow_sip_hash(word, k0, k1)


@pytest.mark.skipif(sys.hash_info.algorithm != "siphash13", reason="Python hashes otherwise")
def test_equals_the_hash_of_python() -> None:
    """With PYTHONHASHSEED=0 the key of Python's hash is zero."""
    words = [b"wheat"[:n] * (1 + n) for n in range(1, 6)] + [
        bytes(range(n)) for n in (7, 8, 9, 255)
    ]
    done = subprocess.run(
        [sys.executable, "-c", f"print(*map(hash, {words!r}))"],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=True,
        capture_output=True,
        text=True,
    )
    expected = [int(hashed) % 2**64 for hashed in done.stdout.split()]
    assert [int(sip_hash(array_of(w), 0, len(w), key_of(0, 0))) for w in words] == expected


def test_every_process_has_its_own_key() -> None:
    command = "from pipeline.text.sip_hash import PROCESS_KEY; print(PROCESS_KEY.tolist())"
    done = subprocess.run(
        [sys.executable, "-c", command], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() != str(PROCESS_KEY.tolist())


@njit
def old_hash(letters: Bytes) -> np.uint64:
    """The hash that was used before, without a key: FNV-1a, then mixed."""
    value = np.uint64(0xCBF29CE484222325)
    for letter in letters:
        value = (value ^ np.uint64(letter)) * np.uint64(0x100000001B3)
    value ^= value >> np.uint64(32)
    value *= np.uint64(0x9E3779B97F4A7C15)
    return value ^ (value >> np.uint64(29))


@njit
def flooding(count: int, same_bits: int) -> Bytes:
    """The first words of six letters whose old hash ends in this many zeros, one after another."""
    words = np.empty(6 * count, np.uint8)
    word = np.empty(6, np.uint8)
    found = number = 0
    while found < count:
        rest = number
        for i in range(6):
            word[i] = ord("a") + rest % 26
            rest //= 26
        if old_hash(word) & np.uint64((1 << same_bits) - 1) == 0:
            words[6 * found : 6 * found + 6] = word
            found += 1
        number += 1
    return words


def steps_to_terms(slots: Sequence[int], hashes: Sequence[int]) -> list[int]:
    """How many slots a search for each term passes before it arrives."""
    last = len(slots) - 1
    return [(slot - hashes[term]) & last for slot, term in enumerate(slots) if term >= 0]


def steps_in(table: TermTable) -> list[int]:
    return steps_to_terms(table.slots.tolist(), table.hashes.tolist())


def flooding_words() -> list[str]:
    letters = flooding(FLOOD, SAME_BITS).tobytes().decode()
    return [letters[at : at + 6] for at in range(0, len(letters), 6)]


def test_words_that_flooded_the_old_hash_do_not_collide() -> None:
    words = flooding_words()
    slots = [*range(FLOOD), *[-1] * (4096 - FLOOD)]  # one cluster: each passes all before it
    assert sum(steps_to_terms(slots, [int(old_hash(array_of(w.encode()))) for w in words])) == (
        FLOOD * (FLOOD - 1) // 2
    )
    for key in (PROCESS_KEY, key_of(0, 0), key_of(3, 2**63)):
        steps = steps_in(table_of(words, key))
        # At half full, linear probing passes 0.5 slots per term on average.
        assert len(steps) == FLOOD
        assert sum(steps) < 2 * FLOOD, key
        assert max(steps) < 100, key
