"""A synthetic stream with up to 100,000 classes; its speed does not depend on their number.

Every event depends only on the seed and on its own number, as in the synthetic newswire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pipeline.corpora.source import SourceSize
from pipeline.corpora.synthetic_classes_kernel import COMMON, MOST_BYTES, STEP, write_events
from pipeline.corpora.synthetic_newswire import BLOCK, FULL_TURN, alias, check, zipf

MOST_CLASSES = 100_000


class SyntheticClasses:
    """Short documents, generated while they are read: one class each, one in eight has two.

    The classes are Zipf-distributed. About half the words of a document signal its class or one
    of the neighbouring classes, which share some of their words. The other words belong to any
    class, or are common to all. One document in sixteen is misfiled: its words signal a class
    that it does not have.

    Parameters
    ----------
    documents
        The number of events.
    classes
        The number of classes; with more classes, rare ones appear later.
    seed
        Another seed gives another stream over the same classes and words.
    drift
        How fast the words that signal a class are replaced by words of other classes. With 1.0
        all of them are replaced within 100,000 documents, one after another; with 0.0 none is.

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
        """Empty: classes are discovered. If all were known at the start, most would be tied."""
        return ()

    @property
    def total(self) -> int:
        """The number of events."""
        return self._total

    def __iter__(self) -> Iterator[bytes]:
        """Generate the events, block by block."""
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
    """The largest number of topics and terms of a stream with `classes` classes."""
    return SourceSize(topics=classes, terms=STEP * classes + COMMON)
