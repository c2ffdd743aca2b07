"""A synthetic newswire of any length: real words, overlapping topics, fast enough for load tests.

Every event depends only on the seed and on its own number, so a stream is the same on every machine
and however it is divided.
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
"""With drift 1.0 every word that signals a topic is replaced within this many documents."""

FLATNESS = (2, 15, 5, 30, 10, 30, 2)
"""The Zipf offset of each kind of words, in the kernel's order; larger means a flatter head."""


class Tables:
    """Builds the one array that holds all tables of the kernel."""

    def __init__(self) -> None:
        self.header = [0] * HEADER
        self._parts: list[Ints] = []
        self._size = HEADER

    def append(self, values: Sequence[int] | Ints) -> int:
        """Append a table and return its position."""
        start = self._size
        self._parts.append(np.asarray(values, dtype=np.int64))
        self._size += len(values)
        return start

    def add(self, name: int, values: Sequence[int] | Ints) -> None:
        """Append a table and write its position into the header."""
        self.header[name] = self.append(values)

    def joined(self) -> Ints:
        """The header and all tables, as one array."""
        return np.concatenate([np.array(self.header, dtype=np.int64), *self._parts])


def alias(weights: Sequence[int]) -> list[int]:
    """The alias table that draws `i` with probability proportional to `weights[i]`.

    By the method of Walker and Vose. After drawing a column `i` uniformly, the result is `i` if a
    random number of 32 bits is below the threshold `table[i]`, otherwise `table[n + i]`.
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
    """The positions where consecutive parts begin, and where the last one ends."""
    return np.cumsum([first, *map(len, parts)], dtype=np.int64)


def flat(parts: Iterable[Iterable[int]]) -> list[int]:
    """The members of all parts, as one list."""
    return list(chain.from_iterable(parts))


def single(words: Iterable[str]) -> list[Forms]:
    """Words as forms, each with a single form."""
    return [(word,) for word in words]


def signatures(lexicon: Lexicon, names: Sequence[str]) -> list[list[int]]:
    """The numbers of the words of every topic; a topic beyond the lexicon gets twelve others."""
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
    """The group of each topic, and the topics of each group."""
    labels = list(dict.fromkeys(topic.group for topic in lexicon.topics))
    known = [labels.index(topic.group) for topic in lexicon.topics]
    group = [known[i] if i < len(known) else i % len(labels) for i in range(topics)]
    members: list[list[int]] = [[] for _ in labels]
    for topic, label in enumerate(group):
        members[label].append(topic)
    return group, members


def lay_out(names: Sequence[str], words: int, period: int) -> tuple[Ints, Bytes]:
    """Write the lexicon and the distributions into tables for the kernel."""
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
    """A corpus that is generated while it is read.

    The words are English and Zipf-distributed, with names, companies and numbers in the tail.
    About a third of the words of a document come from its topics. Topics are Zipf-distributed,
    too. The topics of a document mostly belong to one group, and topics of the same group share
    words. Documents also use a few words of a topic that they do not have.

    Parameters
    ----------
    documents
        The number of events.
    topics
        The number of topics. The first 103 have names and words of their own; further topics are
        numbered and get other words of the lexicon.
    seed
        Another seed gives another stream over the same topics and words.
    drift
        How fast the words that signal a topic change. With 1.0 all of them are replaced within
        100,000 documents, one after another; with 0.0 none is.
    words
        The mean number of words in the text of a document.

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
        # The limit keeps the period finite; a slower drift could not be seen in any stream.
        period = min(FULL_TURN / drift, 1e15) if drift > 0 else 0
        self._tables, self._chars = lay_out(self._names, words, round(period))

    @property
    def topics(self) -> Sequence[str]:
        """The names of the topics, the most popular first."""
        return self._names

    @property
    def total(self) -> int:
        """The number of events."""
        return self._total

    def __iter__(self) -> Iterator[bytes]:
        """Generate the events, block by block."""
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
        """The size of the longest event that can be generated."""
        t = self._tables
        longest_word = max(8, np.diff(t[t[AT_CHAR_START] : t[AT_FORM_START]]).max())
        longest_name = np.diff(t[t[AT_NAME_START] : t[AT_LENGTHS]]).max()
        words = TITLE_WORDS[1] + 5 + t[t[AT_LENGTHS] + LENGTH_STEPS] // 256
        return int(FRAME_BYTES + words * (longest_word + 2) + MOST_TOPICS * (longest_name + 1))
