"""Plain-Python twins of the tokenizer, the vocabulary, curve points and the comparison of lanes.

The formulas and rules as they are written in the documents, one document at a time; tests hold
the compiled code against them.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence

import orjson

from pipeline.engine.ranked_segment import RankedSegment
from pipeline.text.stopwords import STOPWORDS
from pipeline.text.terms import MAX_TERM_BYTES
from pipeline.text.tokenizer import NUMBER


def slow_tokens(text: str, profile: str = "reuters2000") -> list[str]:
    """The tokens of a text, in order.

    Examples
    --------
    >>> slow_tokens("U.S. oil-price 3.5%")
    ['u', 's', 'oil', 'price', '3', '5']
    >>> slow_tokens("U.S. oil-price 3.5%", "reuters21578")
    ['us', 'oilprice', '<number>', '<number>']

    """
    text = unicodedata.normalize("NFC", text).lower()
    fold = profile == "reuters21578"
    tokens = [""]
    for character in text:
        mark = unicodedata.category(character).startswith("M") and not character.isalnum()
        if fold and character.isdigit():
            if tokens[-1] != NUMBER:
                tokens += [NUMBER]
        elif character.isalnum() or (mark and tokens[-1] not in ("", NUMBER)):
            if tokens[-1] == NUMBER:
                tokens += [""]
            tokens[-1] += character
        elif character.isspace() or not fold or tokens[-1] == NUMBER:
            tokens += [""]
    short = [token for token in tokens if 0 < len(token.encode()) <= MAX_TERM_BYTES]
    return [token for token in short if not (fold and token in STOPWORDS)]


class SlowVocabulary:
    """Pivoted weights with running statistics, and a vocabulary with a ceiling."""

    def __init__(self, max_terms: int = 1 << 17, min_df: int = 1, slope: float = 0.3) -> None:
        self.max_terms = max_terms
        self.min_df = min_df
        self.slope = slope
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
        mine = {t: n for t, n in counts.items() if self.df.get(t, 0) >= self.min_df}
        self.texts += 1
        self.distinct += len(mine)
        weights = {}
        for term, count in mine.items():
            average = sum(mine.values()) / len(mine)
            pivot = self.distinct / self.texts
            tf = (1.0 + math.log(count)) / (1.0 + math.log(average))
            tf /= (1.0 - self.slope) + self.slope * len(mine) / pivot
            weight = tf * math.log(self.texts / self.df[term])
            if weight != 0.0:
                weights[term] = weight
        return weights


def slow_is_kept(round_: int) -> bool:
    """All rounds up to 128, then 64 to each doubling: at most seven binary digits that matter."""
    return round_ >> max(0, round_.bit_length() - 7) << max(0, round_.bit_length() - 7) == round_


def slow_ranking_events(
    ranked: RankedSegment, lanes: Sequence[str], topics: Sequence[str], top: int
) -> list[bytes]:
    """The ranking events of a stretch of documents, each built as an object."""
    events = []
    for row, document in enumerate(ranked.documents):
        for number, (lane, scores) in enumerate(zip(lanes, ranked.scores, strict=True)):
            mine = scores.row(row, int(ranked.known_topics[row])).tolist()
            best = sorted(range(len(mine)), key=lambda topic: (-mine[topic], topic))
            best = best[:top] if top else best
            event = {
                "id": document.id,
                "lane": lane,
                "round": ranked.rounds[number][row],
                "ranking": [{"topic": topics[topic], "score": mine[topic]} for topic in best],
                "time": document.time,
            }
            events.append(orjson.dumps(event))
    return events


class SlowDifference:
    """The difference of two lanes' losses, and the confidence sequence of Howard et al. (2021)."""

    def __init__(self) -> None:
        self.rounds = 0
        self.sum = 0.0
        self.spread = 0.0

    def add(self, difference: float) -> None:
        """A round: the centre is the mean before it, so that it is known beforehand."""
        centre = self.sum / self.rounds if self.rounds else 0.0
        self.spread += (difference - centre) * (difference - centre)
        self.rounds += 1
        self.sum += difference

    def margin(self, alpha: float) -> float:
        """Half the width of the interval that misses at any time with chance 2 `alpha` at most."""
        low, high = 0.0, 1e6 + self.rounds
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            if slow_reached(middle, self.spread, alpha):
                high = middle
            else:
                low = middle
        return high / self.rounds


def slow_reached(total: float, spread: float, alpha: float) -> bool:
    """Whether the mixture of supermartingales has come to 1 / alpha."""
    terms: list[float] = []
    for i in range(48):
        a = 0.45 / 1.25 ** (i + 0.5)
        psi = (-math.log(1.0 - 2.0 * a) - 2.0 * a) / 4.0
        before, after = 1.0 + i * math.log(1.25), 1.0 + (i + 1) * math.log(1.25)
        all_ = 1.0 - (1.0 + 48 * math.log(1.25)) ** -0.4
        weight = (before**-0.4 - after**-0.4) / all_
        terms.append(math.log(weight) + a * total - psi * spread)
    return max(terms) + math.log(sum(math.exp(t - max(terms)) for t in terms)) >= -math.log(alpha)
