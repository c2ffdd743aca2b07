"""Kernels that take eight bytes at once, against plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from learners.arrays import Bytes
from pipeline.text.characters import ASCII_WORDS
from pipeline.text.eight_bytes import (
    bytes_before_blank,
    copy_bytes,
    copy_word,
    eight_bytes,
    first_bytes,
    is_same_word,
    same_bytes,
)
from pipeline.text.encoded_documents import PADDING, with_blanks
from pipeline.text.expansion import CountedTokens, Expansion
from pipeline.text.merging import merged
from pipeline.text.sip_hash import PROCESS_KEY, sip_hash, sip_hash_short


def test_bytes_before_a_blank() -> None:
    rng = random.Random(0)
    for _ in range(2000):
        eight = bytes(rng.choice([0x20, 0x21, 0x1F, 0, 0x80, 0xA0, 0xFF, 0x61]) for _ in range(8))
        number = np.uint64(eight_bytes(np.frombuffer(bytearray(eight), np.uint8), 0))
        assert int(number) == int.from_bytes(eight, "little")
        assert bytes_before_blank(number) == len(eight.partition(b" ")[0])


@pytest.mark.parametrize(
    ("is_same", "copy", "least"), [(same_bytes, copy_bytes, 8), (is_same_word, copy_word, 16)]
)
def test_words_are_compared_and_copied_like_slices(
    is_same: Callable[[Bytes, int, Bytes, int, int], bool],
    copy: Callable[[Bytes, int, Bytes, int, int], None],
    least: int,
) -> None:
    rng = random.Random(0)
    for _ in range(3000):
        length, start, at = rng.randrange(1, 40), rng.randrange(9), rng.randrange(9)
        word = bytes(rng.choices(range(256), k=length))
        other = bytearray(word)
        if rng.random() < 0.7:
            other[rng.randrange(length)] ^= 1 << rng.randrange(8)
        # Only what is needed is there: the least that is read, or the bytes of the word.
        more = bytes(rng.choices(range(256), k=max(0, least - length)))
        one = np.frombuffer(bytearray(bytes(start) + word + more), np.uint8)
        two = np.frombuffer(bytearray(bytes(at) + other + more[::-1]), np.uint8)
        assert is_same(one, start, two, at, length) == (word == other)
        before = two[:at].tobytes()
        copy(one, start, two, at, length)
        assert two[: at + length].tobytes() == before + word


def test_hashes_of_short_words_are_those_of_all_words() -> None:
    letters = np.frombuffer(bytearray(range(65, 97)), np.uint8)
    for start in range(20):
        for length in range(1, 8):
            word = np.uint64(first_bytes(np.uint64(eight_bytes(letters, start)), length))
            expected = sip_hash(letters, start, start + length, PROCESS_KEY)
            assert sip_hash_short(word, length, PROCESS_KEY) == expected


def test_every_byte_of_plain_text_becomes_what_the_table_says() -> None:
    text = bytes(range(128)) * 3
    letters = np.frombuffer(text + text, np.uint8)
    ends, is_plain = np.array([len(text), 2 * len(text)]), np.array([True, False])
    out = with_blanks(letters, ends, is_plain).tobytes()
    assert out == text.translate(ASCII_WORDS) + text + b" " * PADDING


def test_words_are_merged_like_terms() -> None:
    rng = np.random.default_rng(0)
    tokens, documents, distinct = 40, 30, 25
    for parts in (1, 2):
        rows = [rng.permutation(tokens)[: rng.integers(20)] for _ in range(parts * documents)]
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        listed = np.concatenate(rows).astype(np.int32)
        values = rng.integers(1, 5, len(listed)).astype(np.float64)
        counted = CountedTokens(starts, listed, values, parts)
        groups = rng.integers(0, 2, documents).astype(np.int32)
        has_term = rng.random(2 * tokens) < 0.6
        expansion = Expansion(
            np.where(has_term, rng.integers(0, distinct - 5, 2 * tokens), -1).astype(np.int32),
            np.where(has_term, rng.integers(-1, distinct, 2 * tokens), -1).astype(np.int32),
            np.zeros(2, np.bool_),
            np.zeros(2 * tokens, np.int64),
            np.zeros(2 * tokens, np.int64),
            np.zeros(0, np.int32),
        )
        none = np.zeros(len(starts), np.int64), np.zeros(0, np.int32)
        found = merged(counted, groups, tokens, expansion, distinct, 2.0, *none)
        for has_ngrams in ([True, True], [False, True]):  # which are none, but take the other way
            slow = expansion._replace(has_ngrams=np.array(has_ngrams))
            expected = merged(counted, groups, tokens, slow, distinct, 2.0, *none)
            assert np.array_equal(found[0], expected[0])
            assert np.array_equal(found[1], expected[1])
            assert np.array_equal(found[2], expected[2])
