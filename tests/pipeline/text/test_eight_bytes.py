"""Kernels that take eight bytes at once, against plain Python."""

from __future__ import annotations

import random

import numpy as np

from pipeline.text.characters import ASCII_WORDS
from pipeline.text.eight_bytes import bytes_before_blank, eight_bytes, first_bytes
from pipeline.text.encoded_documents import PADDING, with_blanks
from pipeline.text.expansion import CountedTokens, Expansion
from pipeline.text.merging import merged_terms, merged_words
from pipeline.text.sip_hash import PROCESS_KEY, sip_hash, sip_hash_short


def test_bytes_before_a_blank() -> None:
    rng = random.Random(0)
    for _ in range(2000):
        eight = bytes(rng.choice([0x20, 0x21, 0x1F, 0, 0x80, 0xA0, 0xFF, 0x61]) for _ in range(8))
        number = np.uint64(eight_bytes(np.frombuffer(bytearray(eight), np.uint8), 0))
        assert int(number) == int.from_bytes(eight, "little")
        assert bytes_before_blank(number) == len(eight.partition(b" ")[0])


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
            np.cumsum([0, *has_term], dtype=np.int64),
            rng.integers(0, distinct - 5, has_term.sum()).astype(np.int32),
            np.where(has_term, rng.integers(-1, distinct, 2 * tokens), -1).astype(np.int32),
        )
        none = np.zeros(len(starts), np.int64), np.zeros(0, np.int32)
        expected = merged_terms(counted, groups, tokens, expansion, distinct, 2.0, *none)
        found = merged_words(counted, groups, tokens, expansion, distinct, 2.0)
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])
        assert np.array_equal(found[2], expected[2])
