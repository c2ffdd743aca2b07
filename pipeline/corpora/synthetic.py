"""A seeded newswire of any length: real words, overlapping topics, fast enough for load tests.

Every event is a function of the seed and of its own number alone, so that a stream is the same
however it is cut and on whatever machine it is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from pipeline.corpora.synthetic_kernel import (
    FRAME_BYTES,
    STEADY_WORDS,
    TITLE_WORDS,
    Bytes,
    Draws,
    Ints,
    Tables,
    write_events,
)
from pipeline.corpora.words import Forms, Lexicon, load

BLOCK = 1_000
BUFFER_BYTES = 1 << 22
FULL_TURN = 100_000
"""Documents after which drift 1.0 has replaced every word that signals a topic."""

LENGTHS = (12, 24, 33, 42, 50, 57, 64, 71, 78, 86, 95, 105, 118, 136, 165, 225, 900)
"""Length of a document at every sixteenth of the distribution: half are short, a few very long."""

TOPIC_COUNTS = (1,) * 12 + (2,) * 24 + (3,) * 27 + (4,) * 18 + (5,) * 10 + (6,) * 6 + (7, 7, 8)
"""How many topics a document has, in hundredths; 3.2 on average."""


def alias(weights: Sequence[int]) -> Draws:
    """The table to draw `i` with a probability proportional to `weights[i]` (Walker and Vose)."""
    size, total = len(weights), sum(weights)
    mass = [weight * size for weight in weights]
    cut, other = [1 << 32] * size, list(range(size))
    small = [i for i in range(size) if mass[i] < total]
    large = [i for i in range(size) if mass[i] >= total]
    while small and large:
        i, j = small.pop(), large[-1]
        cut[i], other[i] = (mass[i] << 32) // total, j
        mass[j] -= total - mass[i]
        if mass[j] < total:
            small.append(large.pop())
    return Draws(np.array(cut), np.array(other))


def zipf(size: int, offset: int) -> list[int]:
    """Weights 1/(offset + 1), 1/(offset + 2), ...; the greater the offset, the flatter the head."""
    return [(1 << 40) // (offset + rank) for rank in range(1, size + 1)]


def starts(parts: Sequence[Sequence[Any]]) -> Ints:
    """Where each part begins when they lie end to end, and where the last one ends."""
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def packed(texts: Sequence[str]) -> tuple[Bytes, Ints]:
    """Texts end to end as bytes, and where each one begins."""
    return np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8), starts(texts)


def signatures(lexicon: Lexicon, names: Sequence[str], content_start: int) -> list[list[int]]:
    """The words of every topic as numbers; a topic beyond those of the lexicon gets any twelve."""
    number = {forms[0]: content_start + i for i, forms in enumerate(lexicon.content)}
    known = [[number[forms[0]] for forms in topic.words] for topic in lexicon.topics]
    free = len(lexicon.content) - STEADY_WORDS
    drawn = [
        [content_start + STEADY_WORDS + crc32(f"{name} {i}".encode()) % free for i in range(12)]
        for name in names[len(known) :]
    ]
    return (known + drawn)[: len(names)]


def build_tables(names: Sequence[str], words: int, period: int) -> Tables:
    """Lay out the lexicon for the kernel."""
    lexicon = load()
    kinds: list[Sequence[Forms]] = [
        [(word,) for word in lexicon.function],
        lexicon.content,
        *(
            [(name,) for name in names_of_kind]
            for names_of_kind in (
                *(lexicon.first_names, lexicon.surnames, lexicon.places),
                *(lexicon.companies, lexicon.company_kinds),
            )
        ),
    ]
    all_words = [forms for kind in kinds for forms in kind]
    chars, char_start = packed([form for forms in all_words for form in forms])
    kind_start = starts(kinds)
    slots = signatures(lexicon, names, int(kind_start[1]))
    labels = list(dict.fromkeys(topic.group for topic in lexicon.topics))
    group = [labels.index(topic.group) for topic in lexicon.topics][: len(names)]
    group += [i % len(labels) for i in range(len(group), len(names))]
    members = [[t for t, g in enumerate(group) if g == label] for label in range(len(labels))]
    popularity = zipf(len(names), 2)
    siblings = [alias([popularity[t] for t in m]) for m in members]
    area = sum(LENGTHS) * 2 - LENGTHS[0] - LENGTHS[-1]  # 32 times the mean
    name_chars, name_start = packed([f'"{name}"' for name in names])
    return Tables(
        *(chars, char_start, starts(all_words), kind_start),
        *(alias(zipf(len(lexicon.function), 2)), alias(zipf(len(lexicon.content), 15))),
        *(alias(zipf(len(lexicon.surnames), 30)), alias(zipf(len(lexicon.companies), 30))),
        *(np.array([word for topic in slots for word in topic]), starts(slots)),
        *(alias(popularity), np.array(group), starts(members)),
        np.array([t for m in members for t in m]),
        Draws(*(np.concatenate(column) for column in zip(*siblings, strict=True))),
        *(name_chars, name_start),
        np.array([length * words * 32 * 256 // area for length in LENGTHS]),
        np.array(TOPIC_COUNTS),
        period,
    )


def check(name: str, value: float, low: float, high: float) -> None:
    """Refuse an argument outside its range."""
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low:,} and {high:,}, not {value}")


class SyntheticNewswire:
    """A corpus that is made up while it is read.

    The words are English and Zipf-distributed, with names, companies and numbers in the tail.
    About a third of the words of a document come from its topics. Topics are Zipf-distributed
    too; those of one document mostly belong to one group, and those of one group lend each other
    words. Documents also use a few words of a topic they do not have.

    Parameters
    ----------
    documents
        How many events there are.
    topics
        How many topics there are. The first 103 have names and words of their own; further ones
        are numbered and get any words.
    seed
        Another seed is another stream over the same topics and words.
    drift
        How fast the words that signal a topic change: with 1.0 all of them are replaced in the
        course of 100,000 documents, one after another, with 0.0 none is.
    words
        Mean number of words in the text of a document.
    """

    def __init__(
        self,
        *,
        documents: int,
        topics: int = 103,
        seed: int = 0,
        drift: float = 0.0,
        words: int = 180,
    ) -> None:
        check("documents", documents, 1, 10**12)
        check("topics", topics, 1, 99_999)
        check("seed", seed, 0, 2**63 - 1)
        check("drift", drift, 0.0, 1_000.0)
        check("words", words, 10, 10_000)
        self._total = documents
        self._seed = seed
        known = [topic.name for topic in load().topics[:topics]]
        self._names = (*known, *(f"topic-{i:05}" for i in range(len(known) + 1, topics + 1)))
        # A drift too slow to show within the stream is none; this also keeps the period finite.
        period = min(FULL_TURN / drift, 1e15) if drift > 0 else 0
        self._tables = build_tables(self._names, words, round(period))

    @property
    def topics(self) -> Sequence[str]:
        """The names of the topics, the most popular first."""
        return self._names

    @property
    def total(self) -> int:
        """How many events there are."""
        return self._total

    def __iter__(self) -> Iterator[bytes]:
        """Make the events, block by block."""
        room = self._most_bytes()
        buffer = np.empty(max(BUFFER_BYTES, room), dtype=np.uint8)
        ends = np.empty(BLOCK, dtype=np.int64)
        first = 0
        while first < self._total:
            last = min(first + BLOCK, self._total)
            made = write_events(self._tables, self._seed, first, last, buffer, room, ends)
            block, start = buffer[: ends[made - 1]].tobytes(), 0
            for end in ends[:made].tolist():
                yield block[start:end]
                start = end
            first += made

    def _most_bytes(self) -> int:
        """What the longest event that can be drawn would take."""
        tables = self._tables
        words = TITLE_WORDS[1] + 5 + int(tables.lengths.max()) // 256
        word, name = (int(np.diff(s).max()) for s in (tables.char_start, tables.name_start))
        return FRAME_BYTES + words * (max(word, 8) + 2) + int(tables.counts.max()) * (name + 1)
