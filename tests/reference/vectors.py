"""Text to vectors in plain Python, and sums of vectors; a part of `tests.reference.stream`."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from typing import Any

Event = dict[str, Any]
Vector = dict[str, float]
SLOPE = 0.3


def tokens(text: str) -> list[str]:
    """The words of a text by the profile `reuters2000`."""
    words: list[str] = []
    word = ""
    for character in unicodedata.normalize("NFC", text).lower() + " ":
        is_mark = unicodedata.category(character).startswith("M")
        if character.isalnum() or (is_mark and word):
            word += character
        elif word:
            words.append(word)
            word = ""
    return [word for word in words if len(word.encode()) <= 255]


class Weights:
    """Pivoted length normalisation with running statistics."""

    def __init__(self) -> None:
        self.documents = 0
        self.distinct_terms = 0
        self.documents_with: Counter[str] = Counter()
        self.names: set[str] = set()

    def vector(self, event: Event) -> Vector:
        """Count the document in, then weigh it."""
        if "features" in event:
            self.names.update(event["features"])
            return {name: float(value) for name, value in event["features"].items()}
        text = " ".join(event[key] for key in ("title", "text") if key in event)
        counts = Counter(tokens(text))
        self.names.update(counts)
        self.documents += 1
        self.distinct_terms += len(counts)
        self.documents_with.update(counts.keys())
        if not counts:
            return {}
        average = sum(counts.values()) / len(counts)
        pivot = self.distinct_terms / self.documents
        length = (1 - SLOPE) + SLOPE * len(counts) / pivot
        return {
            term: (1 + math.log(count))
            / (1 + math.log(average))
            / length
            * math.log(self.documents / self.documents_with[term])
            for term, count in counts.items()
        }


def unit(x: Vector) -> Vector:
    """The vector scaled to length one; zero stays zero."""
    norm = math.sqrt(sum(value * value for value in x.values()))
    return {name: value / norm for name, value in x.items()} if norm > 0 else x


def dot(w: Vector, x: Vector) -> float:
    """w . x, summed in the order of x."""
    total = 0.0
    for name, value in x.items():
        total += w.get(name, 0.0) * value
    return total


def add(w: Vector, factor: float, x: Vector) -> None:
    """w += factor x."""
    for name, value in x.items():
        w[name] = w.get(name, 0.0) + factor * value
