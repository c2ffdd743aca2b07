"""Twin of `pipeline/text/features.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pipeline.slow.tokenizer import slow_tokens


class SlowVocabulary:
    """Pivoted weights with running statistics, and a vocabulary with a ceiling."""

    def __init__(
        self,
        max_terms: int = 1 << 17,
        min_df: int = 1,
        slope: float = 0.3,
        pivot: float = 0.0,
        norm: str = "none",
    ) -> None:
        self.max_terms = max_terms
        self.min_df = min_df
        self.slope = slope
        self.pivot = pivot
        self.norm = norm
        self.documents = 0
        self.texts = 0
        self.distinct = 0
        self.df: dict[str, int] = {}  # in order of admission
        self.uses: dict[str, int] = {}
        self.last_use: dict[str, int] = {}

    def vector(self, content: str | Mapping[str, float], profile: str) -> dict[str, float]:
        """The vector of the next document of the stream."""
        counts: dict[str, float] = {}
        if isinstance(content, str):
            for token in slow_tokens(content, profile):
                counts[token] = counts.get(token, 0.0) + 1.0
        else:
            counts = dict(content)
        self._admit(counts)
        for term in counts.keys() & self.df.keys():
            self.uses[term] += 1
            self.last_use[term] = self.documents
            self.df[term] += isinstance(content, str)
        self.documents += 1
        if not isinstance(content, str):
            return {term: v for term, v in counts.items() if term in self.df and v != 0.0}
        return self._weigh(counts)

    def _admit(self, counts: Mapping[str, float]) -> None:
        new = [term for term in counts if term not in self.df]
        for term in counts.keys() & self.df.keys():
            self.last_use[term] = self.documents
        if len(self.df) + len(new) > self.max_terms:
            self._make_room()
            new = [term for term in counts if term not in self.df]
        for term in new:
            if len(self.df) < self.max_terms:
                self.df[term] = self.uses[term] = self.last_use[term] = 0

    def _make_room(self) -> None:
        def useful(term: str) -> float:
            return self.uses[term] / (self.documents - self.last_use[term] + 1)

        best = sorted(self.df, key=useful, reverse=True)  # stable: the earlier term first
        stay = set(best[: self.max_terms - self.max_terms // 4])
        for term in list(self.df):
            if term not in stay:
                del self.df[term], self.uses[term], self.last_use[term]

    def _weigh(self, counts: Mapping[str, float]) -> dict[str, float]:
        counted = {t: n for t, n in counts.items() if self.df.get(t, 0) >= self.min_df}
        self.texts += 1
        self.distinct += len(counted)
        weights = {}
        for term, count in counted.items():
            average = sum(counted.values()) / len(counted)
            pivot = self.pivot or self.distinct / self.texts
            tf = (1.0 + math.log(count)) / (1.0 + math.log(average))
            tf /= (1.0 - self.slope) + self.slope * len(counted) / pivot
            weight = tf * math.log(self.texts / self.df[term])
            if weight != 0.0:
                weights[term] = weight
        if self.norm == "l2" and weights:
            squares = 0.0
            for weight in weights.values():  # `sum` is more exact in newer versions of Python
                squares += weight * weight
            length = math.sqrt(squares)
            weights = {term: weight / length for term, weight in weights.items()}
        return weights
