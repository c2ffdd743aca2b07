"""Twin of `learners/frequency.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from learners.slow.arithmetic import Document


class SlowFrequency:
    """Topics by the number of documents that carried them."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, float] = defaultdict(float)

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """The counts, whatever the document is."""
        return [self.counts[topic] for topic in known]

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """Count the topics."""
        for topic in topics:
            self.counts[topic] += 1.0
