"""Synthetic newswire in the files of RCV1-v2, of any size up to that of the corpus.

Documents have about 75 distinct stems from a Zipf-distributed vocabulary of 47,000, some of them
words of their topics. They have 3.2 of 103 topics on average; a topic always comes with its
ancestors. One topic occurs only among the last documents, as GMIL does in RCV1.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from learners.arrays import Bytes, Ints, Longs
from learners.jit import njit
from learners.splitmix import mix

FULL_SIZE = 804_414
TRAIN_SHARE = 23_149 / FULL_SIZE  # of the documents, in the file of that name
FIRST_ID, LAST_ID = 2286, 810_596
STEMS = 47_236
OWN = 400  # words that a topic draws on
PLACES = 1 << 20  # of the tables that turn random bits into words
LATE = "GMIL"
CHUNK = 4096
MOST_STEMS = 300
WORDS_A_LINE = 24


class Documents(NamedTuple):
    """Some documents: their numbers, their leaf topics and their numbers of stems."""

    numbers: Longs
    leaves: Ints  # two of each, maybe the same
    stems: Longs


def topics_and_parents() -> tuple[list[str], list[int]]:
    """103 topic codes, and the parent of each (-1: none); parents come first."""
    codes, parents = list[str](), list[int]()
    for root, branches in (("CCAT", 12), ("ECAT", 7), ("GCAT", 9), ("MCAT", 5)):
        top = len(codes)
        codes.append(root)
        parents.append(-1)
        for branch in range(branches):
            middle = len(codes)
            codes.append(f"{root[0]}{branch + 11}")
            parents.append(top)
            for leaf in range(2):
                if len(codes) < 102:
                    codes.append(f"{codes[middle]}{leaf + 1}")
                    parents.append(middle)
    codes.append(LATE)
    parents.append(codes.index("GCAT"))
    assert len(codes) == 103
    return codes, parents


def zipf_table(words: int, rng: np.random.Generator) -> Ints:
    """A shuffled table that holds each word in proportion to its frequency."""
    shares = 1.0 / np.arange(1, words + 1)
    places = np.maximum(1, shares / shares.sum() * PLACES).astype(np.int64)
    table = np.repeat(np.arange(words, dtype=np.int32), places)
    return rng.choice(table, PLACES)


def stems() -> tuple[Bytes, Longs]:
    """Made-up stems of two to four syllables as one array, and the position where each ends."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    count = len(syllables)
    words = []
    for i in range(STEMS):
        rest, letters = i, syllables[i % count]
        while (rest := rest // count) > 0:
            letters += syllables[rest % count]
        words.append(letters + "x")
    whole = np.frombuffer(bytearray("".join(words).encode()), np.uint8)
    return whole, np.cumsum([0, *map(len, words)]).astype(np.int64)


@njit
def write_words(
    numbers: Longs, leaves: Ints, counts: Longs, common: Ints, own: Ints, offsets: Ints,
    letters: Bytes, ends: Longs, out: Bytes, starts: Longs,
) -> None:  # fmt: skip
    """Write the lines of words of each document, one document after the other."""
    at = 0
    low = np.uint64(PLACES - 1)
    for i in range(len(numbers)):
        bits = mix(np.uint64(numbers[i]))
        in_line = 0
        for _ in range(counts[i]):
            bits = mix(bits)
            place = np.int64(bits & low)
            if (bits >> np.uint64(38)) & np.uint64(7):  # seven of eight
                word = common[place]
            else:
                leaf = leaves[i, np.int64((bits >> np.uint64(41)) & np.uint64(1))]
                word = (offsets[leaf] + 7 * own[place]) % STEMS
            times = 1
            more = bits >> np.uint64(42)
            while times < 12 and more % np.uint64(8) < np.uint64(2):  # 1.3 on average
                times += 1
                more >>= np.uint64(3)
            for _ in range(times):
                for letter in letters[ends[word] : ends[word + 1]]:
                    out[at] = letter
                    at += 1
                in_line += 1
                out[at] = 10 if in_line % WORDS_A_LINE == 0 else 32
                at += 1
        starts[i + 1] = at


def draw(documents: int, seed: int) -> Iterator[Documents]:
    """Draw documents in order, a few thousand at a time."""
    rng = np.random.default_rng(seed)
    codes, parents = topics_and_parents()
    leaves = np.array([i for i in range(102) if i not in parents], np.int32)
    chances = 1.0 / np.arange(1, len(leaves) + 1) ** 0.8
    chances = rng.permutation(chances) / chances.sum()
    every = FIRST_ID + np.arange(documents) * (LAST_ID - FIRST_ID) // max(1, FULL_SIZE - 1)
    for start in range(0, documents, CHUNK):
        numbers = every[start : start + CHUNK]
        count = len(numbers)
        first = rng.choice(leaves, count, p=chances)
        second = np.where(rng.random(count) < 0.14, rng.choice(leaves, count, p=chances), first)
        lengths = np.clip(rng.lognormal(4.5, 0.5, count), 5, MOST_STEMS).astype(np.int64)
        both = np.stack((first, second), axis=1)
        late = np.flatnonzero(numbers > every[-1] - (every[-1] - every[0]) // 50)[:5]
        if start + CHUNK >= documents:  # the last ones only
            both[late, 1] = len(codes) - 1
        yield Documents(numbers, both, lengths)


def write_standin(folder: Path, documents: int, seed: int = 0, packed: bool = False) -> Path:
    """Write documents into the five token files, and their topics into the qrels file."""
    folder.mkdir(parents=True, exist_ok=True)
    codes, parents = topics_and_parents()
    rng = np.random.default_rng([seed, 1])
    common, own = zipf_table(STEMS, rng), zipf_table(OWN, rng)
    offsets = rng.integers(0, STEMS, len(codes)).astype(np.int32)
    letters, ends = stems()
    room = CHUNK * MOST_STEMS * 12 * 12
    out = np.empty(room, np.uint8)
    cuts = [round(documents * TRAIN_SHARE)]
    cuts += [cuts[0] + (documents - cuts[0]) * part // 4 for part in (1, 2, 3, 4)]
    names = ["lyrl2004_tokens_train.dat", *(f"lyrl2004_tokens_test_pt{i}.dat" for i in range(4))]
    opened = [open_file(folder, name, packed) for name in names]
    done = 0
    with open_file(folder, "rcv1-v2.topics.qrels", packed) as qrels:
        for some in draw(documents, seed):
            starts = np.zeros(len(some.numbers) + 1, np.int64)
            write_words(*some, common, own, offsets, letters, ends, out, starts)
            text = out[: starts[-1]].tobytes()
            places = starts.tolist()
            lines = []
            for i, number in enumerate(some.numbers.tolist()):
                words = text[places[i] : places[i + 1]]
                file = opened[int(np.searchsorted(cuts, done + i, side="right"))]
                file.write(b".I %d\n.W\n%b\n\n" % (number, words.rstrip(b"\n")))
                topics = with_parents(some.leaves[i], parents)
                lines += [f"{codes[topic]} {number} 1\n" for topic in topics]
            qrels.write("".join(lines).encode())
            done += len(some.numbers)
    for file in opened:
        file.close()
    return folder


def with_parents(leaves: Ints, parents: list[int]) -> list[int]:
    """The topics and all their ancestors, sorted."""
    collected = set[int]()
    for leaf in leaves.tolist():
        topic = leaf
        while topic >= 0:
            collected.add(topic)
            topic = parents[topic]
    return sorted(collected)


def open_file(folder: Path, name: str, packed: bool) -> IO[bytes] | gzip.GzipFile:
    """A file to write to, compressed or not."""
    if packed:
        return gzip.open(folder / f"{name}.gz", "wb", compresslevel=1)
    return (folder / name).open("wb")
