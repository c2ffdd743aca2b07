"""A seeded stream of many classes, up to a hundred thousand, as fast for many as for few.

Every event is a function of the seed and of its own number alone, as in the synthetic newswire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pipeline.corpora.source import SourceSize
from pipeline.corpora.synthetic_classes_kernel import COMMON, MOST_BYTES, STEP, write_events
from pipeline.corpora.synthetic_newswire import BLOCK, FULL_TURN, alias, check, zipf

MOST_CLASSES = 100_000


class SyntheticClasses:
    """A corpus of short documents of one class each, one in eight of two, made while it is read.

    The classes are Zipf-distributed. About half the words of a document signal its class or one
    of the classes beside it, which share some of their words; the others are of any class, or
    common to all. One document in sixteen is misfiled: it speaks of another class than it has.

    Parameters
    ----------
    documents
        How many events there are.
    classes
        How many classes there may be; the more there are, the later the last of them come.
    seed
        Another seed is another stream over the same classes and words.
    drift
        How fast the words that signal a class are replaced by words that signalled others: with
        1.0 all of them in the course of 100,000 documents, one after another, with 0.0 none.

    """

    def __init__(self, *, documents: int, classes: int, seed: int = 0, drift: float = 0.0) -> None:
        check("documents", documents, 1, 10**12)
        check("classes", classes, 2, MOST_CLASSES)
        check("seed", seed, 0, 2**63 - 1)
        check("drift", drift, 0.0, 1_000.0)
        self._total = documents
        self._seed = seed
        self._period = round(min(FULL_TURN / drift, 1e15)) if drift > 0 else 0
        self._popular = np.array(alias(zipf(classes, 2)), dtype=np.int64)
        self._common = np.array(alias(zipf(COMMON, 2)), dtype=np.int64)

    @property
    def topics(self) -> Sequence[str]:
        """Classes are discovered: with all of them known from the start, most would be tied."""
        return ()

    @property
    def total(self) -> int:
        """How many events there are."""
        return self._total

    def __iter__(self) -> Iterator[bytes]:
        """Make the events, block by block."""
        buffer = np.empty(BLOCK * MOST_BYTES, dtype=np.uint8)
        ends = np.empty(BLOCK, dtype=np.int64)
        for first in range(0, self._total, BLOCK):
            last = min(first + BLOCK, self._total)
            write_events(
                self._popular, self._common, self._period, self._seed, first, last, buffer, ends
            )
            block, start = buffer[: ends[last - first - 1]].tobytes(), 0
            for end in ends[: last - first].tolist():
                yield block[start:end]
                start = end


def size_of(classes: int) -> SourceSize:
    """What a stream of so many classes has at most."""
    return SourceSize(topics=classes, terms=STEP * classes + COMMON)
