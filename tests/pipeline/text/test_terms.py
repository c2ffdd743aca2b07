"""The table of terms: the bytes decide, whatever the hash says."""

from __future__ import annotations

import random

import numpy as np

from pipeline.text.sip_hash import PROCESS_KEY, sip_hash
from pipeline.text.terms import (
    copied,
    doubled,
    enlarged,
    find,
    intern,
    is_full,
    table_of,
    with_key,
    words_of,
)


def test_numbers_terms_by_first_appearance() -> None:
    table = table_of(["wheat", "corn", "wheat", "", "é"])
    assert words_of(table) == ["wheat", "corn", "", "é"]


def test_equals_a_dict_through_growth() -> None:
    rng = random.Random(0)
    table = table_of(["start"])
    known = {"start": 0}
    for _ in range(20_000):
        word = "".join(rng.choice("abc") for _ in range(rng.randrange(1, 12)))
        if is_full(table):
            table = doubled(table)
        letters = np.frombuffer(bytearray(word.encode()), np.uint8)
        assert intern(table, letters, 0, len(letters)) == known.setdefault(word, len(known))
    assert words_of(table) == list(known)


def test_equal_hashes_do_not_merge_terms() -> None:
    """Two terms forced to the same hash are still two terms."""
    table = table_of(["wheat", "maize"])
    table.hashes[:] = 5
    table.slots[:] = -1
    last = len(table.slots) - 1
    table.slots[5 & last], table.slots[6 & last] = 0, 1
    for number, word in enumerate(("wheat", "maize")):
        letters = np.frombuffer(bytearray(word.encode()), np.uint8)
        assert find(table, letters, 0, 5, np.uint64(5)) == number
    stranger = np.frombuffer(bytearray(b"grain"), np.uint8)
    assert find(table, stranger, 0, 5, np.uint64(5)) < 0


def test_copy_keeps_and_renumbers() -> None:
    table = copied(table_of(["a", "b", "c", "d"]), np.array([1, 3]), 0, 0)
    assert words_of(table) == ["b", "d"]
    letters = np.frombuffer(bytearray(b"d"), np.uint8)
    assert find(table, letters, 0, 1, sip_hash(letters, 0, 1, PROCESS_KEY)) == 1


def test_a_larger_table_has_the_same_terms() -> None:
    words = [f"{'w' * (n % 12)}{n}" for n in range(500)]
    table = table_of(words)
    larger, copy = enlarged(table, 100, 1000), copied(table, np.arange(500), 100, 1000)
    assert words_of(larger) == words
    assert np.array_equal(larger.slots, copy.slots)
    assert np.array_equal(larger.hashes[:500], copy.hashes[:500])
    assert len(larger.hashes) == len(copy.hashes)
    assert len(larger.letters) == len(copy.letters)


def test_another_key_keeps_terms_and_numbers() -> None:
    table = table_of(["wheat", "corn", "", "\u00e9"])
    assert with_key(table, PROCESS_KEY.copy()) is table
    other = with_key(table, np.array([1, 2], np.uint64))
    assert words_of(other) == words_of(table)
    assert other.hashes.tolist() != table.hashes.tolist()
