"""English stems in compiled code: exactly those of PyStemmer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import Stemmer as snowball  # noqa: N813 - a module in spite of its name

from learners.arrays import Bytes, Longs
from learners.jit import njit
from pipeline.corpora import open_source
from pipeline.events.event import parse_event
from pipeline.text.english_stemmer import LONGEST, SPECIAL_WORDS, english_stem
from pipeline.text.letter_places import FIRST

STALE = 0xE9  # what may be behind a word: a byte that is not of ASCII


def words_of(text: str) -> list[str]:
    """The words of a text, and nothing as the first one."""
    return ["", *text.split()]


PREFIXES = words_of(
    "gener commun arsen past univers later emerg organ inter intern proc exc succ inn out cann "
    "herr earr even sk d l t v x y 1 a e i o u ad egg ow box rap trap bey b by say sayy ay yy ya"
)
MIDDLES = words_of("bad ic o iz y x 7 ol")
SUFFIXES = words_of(
    "sses ied ies us ss s eed eedly ed edly ing ingly ying y tional enci anci abli entli izer "
    "ization ational ation ator alism aliti alli fulness ousli ousness iveness iviti biliti bli "
    "ogi ogist fulli lessli li alize icate iciti ical ful ness ative al ance ence er ic able ible "
    "ant ement ment ent ism ate iti ous ive ize ion sion tion e l ll le ly ally fully lessly ably "
    "ency ancy ability ivity ality at bl iz bb dd zz past"
)
WORDS = words_of(
    "dying lying tying vying eying eyeing proceedly exceeded added egging offed upped inned pasted "
    "paste repaste geologist apologist ogist eed edly agreed enjoy sayyes yyy kiwis gas this ties"
)
ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz", "aeiouybsdtlngi", "yaesdl", "aeyst1",
    "0123456789aeiouybcdst", "ye", "0123456789",
)  # fmt: skip


@njit
def stemmed(text: Bytes, starts: Longs, out: Bytes) -> Longs:
    """Write the stems of words that lie one after another; return their lengths."""
    lengths = np.empty(len(starts) - 1, np.int64)
    filled = 0
    for i in range(len(lengths)):
        word = np.full(FIRST + LONGEST + 8, STALE, np.uint8)
        word[:FIRST] = 0
        length = starts[i + 1] - starts[i]
        word[FIRST : FIRST + length] = text[starts[i] : starts[i + 1]]
        lengths[i] = english_stem(word, FIRST + length) - FIRST
        out[filled : filled + lengths[i]] = word[FIRST : FIRST + lengths[i]]
        filled += lengths[i]
    return lengths


def stems(words: list[str]) -> list[str]:
    """The stems by the kernel."""
    text = "".join(words)
    starts = np.cumsum([0, *map(len, words)])
    out = np.empty(len(text) + 1, np.uint8)
    ends = np.cumsum(stemmed(np.frombuffer(bytearray(text.encode()), np.uint8), starts, out))
    letters = out.tobytes().decode("latin-1")
    return [letters[a:b] for a, b in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


def differences(words: Iterable[str]) -> list[tuple[str, str, str]]:
    """The words whose stems differ, with the stems of the kernel and of PyStemmer."""
    distinct = sorted(set(words) - {""})
    expected = snowball.Stemmer("english", 0).stemWords(distinct)
    compared = zip(distinct, stems(distinct), expected, strict=True)
    return [found for found in compared if found[1] != found[2]]


def test_words_that_reach_every_rule() -> None:
    words = ["".join(parts) for parts in product(PREFIXES, MIDDLES, SUFFIXES, SUFFIXES[:15])]
    words += ["".join(parts) for parts in product(PREFIXES, SUFFIXES, SUFFIXES)]
    words += ["".join(parts) for parts in product(PREFIXES, PREFIXES, SUFFIXES)]
    assert differences(words) == []


def test_single_words() -> None:
    words = SPECIAL_WORDS.split() + WORDS
    words += [before + word + after for word in words for before in ("", *"aysx1") for after in
              ("", "s", "ed", "ing", "ly", "e", "y")]  # fmt: skip
    assert differences(words) == []


def test_all_short_words() -> None:
    letters = ALPHABETS[0] + "0"
    assert (
        differences("".join(word) for size in (1, 2, 3) for word in product(letters, repeat=size))
        == []
    )


@pytest.mark.parametrize("letters", ALPHABETS)
def test_random_words(letters: str) -> None:
    rng = random.Random(0)
    words = ["".join(rng.choices(letters, k=rng.randrange(1, 12))) for _ in range(50_000)]
    words += [
        "".join(rng.choices(letters, k=rng.randrange(7)))
        + rng.choice(SUFFIXES)
        + rng.choice(SUFFIXES)
        for _ in range(50_000)
    ]
    assert differences(words) == []


def test_long_words() -> None:
    rng = random.Random(0)
    words = []
    for _ in range(20_000):
        size = rng.randrange(12, LONGEST + 1)
        end = rng.choice(SUFFIXES) + rng.choice(SUFFIXES)
        start = "".join(rng.choices(rng.choice(ALPHABETS), k=LONGEST))
        words.append(start[: max(0, size - len(end))] + end)
    words += [letter * size for letter in "aybs1" for size in (LONGEST - 1, LONGEST)]
    assert max(map(len, words)) == LONGEST
    assert differences(words) == []


@pytest.mark.parametrize("corpus", ["reuters21578", "newsgroups"])
def test_words_of_a_corpus(corpus: str, shared_corpus: Callable[[str], Path]) -> None:
    words: set[str] = set()
    for raw in open_source(f"{corpus}:{shared_corpus(corpus)}"):
        words.update(re.findall("[a-z0-9]+", str(parse_event(raw).content).lower()))
    words = {word for word in words if len(word) <= LONGEST}
    # Also with other endings, for beginnings that might be treated apart.
    plain = [word for word in words if word.isalpha() and len(word) < 12]
    assert differences(words) == []
    for ending in ("al", "ation", "ing", "ed", "ity", "er", "ism", "s", "y", "e"):
        assert differences(word + ending for word in plain) == []
