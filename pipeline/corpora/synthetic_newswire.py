"""A seeded newswire of any length: real words, overlapping topics, fast enough for load tests.

Every event is a function of the seed and of its own number alone, so that a stream is the same
however it is cut and on whatever machine it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain
from zlib import crc32

import numpy as np

from pipeline.corpora.lexicon import Forms, Lexicon, load
from pipeline.corpora.synthetic_newswire_kernel import (
    AT_CHAR_START,
    AT_COUNTS,
    AT_DRAWS,
    AT_FORM_START,
    AT_GROUP,
    AT_GROUP_START,
    AT_KIND_START,
    AT_LENGTHS,
    AT_MEMBERS,
    AT_NAME_START,
    AT_POPULAR,
    AT_SIBLINGS,
    AT_SLOT_START,
    AT_SLOTS,
    FRAME_BYTES,
    HEADER,
    LENGTH_STEPS,
    LENGTHS,
    MOST_TOPICS,
    PERIOD,
    STEADY_WORDS,
    TITLE_WORDS,
    TOPIC_COUNTS,
    TOPICS,
    Bytes,
    Ints,
    write_events,
)

BLOCK = 1_000
BUFFER_BYTES = 1 << 22
FULL_TURN = 100_000
"""Documents after which drift 1.0 has replaced every word that signals a topic."""

FLATNESS = (2, 15, 5, 30, 10, 30, 2)
"""How flat the head of the Zipf distribution of each kind of words is, in the kernel's order."""


class Tables:
    """The one array of all tables that the kernel reads."""

    def __init__(self) -> None:
        self.header = [0] * HEADER
        self._parts: list[Ints] = []
        self._size = HEADER

    def append(self, values: Sequence[int] | Ints) -> int:
        """Put a table at the end and return where it lies."""
        start = self._size
        self._parts.append(np.asarray(values, dtype=np.int64))
        self._size += len(values)
        return start

    def add(self, name: int, values: Sequence[int] | Ints) -> None:
        """Put a table at the end and its place into the header."""
        self.header[name] = self.append(values)

    def joined(self) -> Ints:
        """The header and all tables, end to end."""
        return np.concatenate([np.array(self.header, dtype=np.int64), *self._parts])


def alias(weights: Sequence[int]) -> list[int]:
    """The table to draw `i` with a probability proportional to `weights[i]` (Walker and Vose).

    A drawn column `i` stands for itself if a random number of 32 bits is below the threshold
    `table[i]`, and for `table[n + i]` otherwise.
    """
    size, total = len(weights), sum(weights)
    mass = [weight * size for weight in weights]
    threshold, other = [1 << 32] * size, list(range(size))
    small = [i for i in range(size) if mass[i] < total]
    large = [i for i in range(size) if mass[i] >= total]
    while small and large:
        i, j = small.pop(), large[-1]
        threshold[i], other[i] = (mass[i] << 32) // total, j
        mass[j] -= total - mass[i]
        if mass[j] < total:
            small.append(large.pop())
    return threshold + other


def zipf(size: int, offset: int) -> list[int]:
    """Weights 1/(offset + 1), 1/(offset + 2), ...; the greater the offset, the flatter the head."""
    return [(1 << 40) // (offset + rank) for rank in range(1, size + 1)]


def starts(parts: Iterable[Sized], first: int = 0) -> Ints:
    """Where each part begins when they lie end to end, and where the last one ends."""
    return np.cumsum([first, *map(len, parts)], dtype=np.int64)


def flat(parts: Iterable[Iterable[int]]) -> list[int]:
    """The members of all parts."""
    return list(chain.from_iterable(parts))


def single(words: Iterable[str]) -> list[Forms]:
    """Words that have but one form."""
    return [(word,) for word in words]


def signatures(lexicon: Lexicon, names: Sequence[str]) -> list[list[int]]:
    """The words of every topic as numbers; a topic beyond those of the lexicon gets any twelve."""
    start = len(lexicon.function)
    number = {forms[0]: start + i for i, forms in enumerate(lexicon.content)}
    known = [[number[forms[0]] for forms in topic.words] for topic in lexicon.topics]
    free = len(lexicon.content) - STEADY_WORDS
    drawn = [
        [start + STEADY_WORDS + crc32(f"{name} {i}".encode()) % free for i in range(12)]
        for name in names[len(known) :]
    ]
    return (known + drawn)[: len(names)]


def topic_groups(lexicon: Lexicon, topics: int) -> tuple[list[int], list[list[int]]]:
    """The group of every topic, and the topics of every group."""
    labels = list(dict.fromkeys(topic.group for topic in lexicon.topics))
    known = [labels.index(topic.group) for topic in lexicon.topics]
    group = [known[i] if i < len(known) else i % len(labels) for i in range(topics)]
    members: list[list[int]] = [[] for _ in labels]
    for topic, label in enumerate(group):
        members[label].append(topic)
    return group, members


def lay_out(names: Sequence[str], words: int, period: int) -> tuple[Ints, Bytes]:
    """Put the lexicon and the distributions into tables for the kernel."""
    lexicon = load()
    # In the order of the kernel's kinds.
    kinds: tuple[Sequence[Forms], ...] = (
        single(lexicon.function),
        lexicon.content,
        single(lexicon.first_names),
        single(lexicon.surnames),
        single(lexicon.places),
        single(lexicon.companies),
        single(lexicon.company_kinds),
    )
    vocabulary = list(chain.from_iterable(kinds))
    forms = list(chain.from_iterable(vocabulary))
    quoted = [f'"{name}"' for name in names]
    text = "".join(forms)
    slots = signatures(lexicon, names)
    group, members = topic_groups(lexicon, len(names))
    popularity = zipf(len(names), 2)
    mean = sum(LENGTHS) * 2 - LENGTHS[0] - LENGTHS[-1]  # 2 * LENGTH_STEPS times
    tables = Tables()
    tables.add(AT_CHAR_START, starts(forms))
    tables.add(AT_FORM_START, starts(vocabulary))
    tables.add(AT_KIND_START, starts(kinds))
    draws = [alias(zipf(len(kind), offset)) for kind, offset in zip(kinds, FLATNESS, strict=True)]
    tables.add(AT_DRAWS, [tables.append(table) for table in draws])
    tables.add(AT_SLOTS, flat(slots))
    tables.add(AT_SLOT_START, starts(slots))
    tables.add(AT_POPULAR, alias(popularity))
    tables.add(AT_GROUP, group)
    tables.add(AT_GROUP_START, starts(members))
    tables.add(AT_MEMBERS, flat(members))
    tables.add(AT_SIBLINGS, flat(alias([popularity[i] for i in group]) for group in members))
    tables.add(AT_NAME_START, starts(quoted, first=len(text)))
    tables.add(AT_LENGTHS, [x * words * 2 * LENGTH_STEPS * 256 // mean for x in LENGTHS])
    tables.add(AT_COUNTS, TOPIC_COUNTS)
    tables.header[TOPICS] = len(names)
    tables.header[PERIOD] = period
    return tables.joined(), np.frombuffer((text + "".join(quoted)).encode("ascii"), np.uint8)


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
        self._tables, self._chars = lay_out(self._names, words, round(period))

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
            made = write_events(
                self._tables, self._chars, self._seed, first, last, buffer, room, ends
            )
            block, start = buffer[: ends[made - 1]].tobytes(), 0
            for end in ends[:made].tolist():
                yield block[start:end]
                start = end
            first += made

    def _most_bytes(self) -> int:
        """What the longest event that can be drawn would take."""
        t = self._tables
        longest_word = max(8, np.diff(t[t[AT_CHAR_START] : t[AT_FORM_START]]).max())
        longest_name = np.diff(t[t[AT_NAME_START] : t[AT_LENGTHS]]).max()
        words = TITLE_WORDS[1] + 5 + t[t[AT_LENGTHS] + LENGTH_STEPS] // 256
        return int(FRAME_BYTES + words * (longest_word + 2) + MOST_TOPICS * (longest_name + 1))
