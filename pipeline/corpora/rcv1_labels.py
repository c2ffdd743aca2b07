"""The topics of RCV1-v2: 2.6 million lines such as `E11 2286 1`, kept as one number each."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Longs
from pipeline.corpora.source import SourceError

MOST_LINES = 50_000_000
MOST_TOPICS = 2048
MOST_DIGITS = 15
CHUNK = 1 << 16
_CODE = re.compile(rb"[!-~]{1,100}")


@dataclass(frozen=True, slots=True)
class Labels:
    """Pairs of a document and a topic, each stored as document x MOST_TOPICS + topic, sorted."""

    codes: Sequence[str]
    pairs: Longs

    def places(self, numbers: Longs) -> tuple[Longs, Longs]:
        """The positions where the pairs of each of these documents begin and end."""
        return (
            np.searchsorted(self.pairs, numbers * MOST_TOPICS),
            np.searchsorted(self.pairs, (numbers + 1) * MOST_TOPICS),
        )

    def names(self, start: int, stop: int) -> list[str]:
        """The topics of the pairs from `start` to `stop`, in the order of their codes."""
        return [self.codes[i] for i in (self.pairs[start:stop] % MOST_TOPICS).tolist()]


def read_labels(lines: Iterable[bytes], name: str) -> Labels:
    """The labels of a qrels file; `name` is the name of the file in error messages."""
    numbers = dict[bytes, int]()
    pairs = array("q")
    for at, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        if not is_label(parts):
            raise SourceError(
                f"{name}, line {at}: found {line.strip()[:60].decode('latin-1')!r}, expected a "
                "topic, a document number and 1, for example E11 2286 1"
            )
        if parts[2] == b"0":
            continue  # a judgement that the document does not have the topic
        if len(numbers) == MOST_TOPICS and parts[0] not in numbers:
            raise SourceError(
                f"{name}, line {at}: there are more than {MOST_TOPICS:,} topics, more than the "
                "corpus has; check that this is the right file"
            )
        if at > MOST_LINES:
            raise SourceError(
                f"{name} has more than {MOST_LINES:,} lines, more than the corpus has; check that "
                "this is the right file"
            )
        pairs.append(int(parts[1]) * MOST_TOPICS + numbers.setdefault(parts[0], len(numbers)))
    if not numbers:
        raise SourceError(f"{name} has no topics; expected lines such as E11 2286 1")
    codes = sorted(numbers)
    return Labels(
        [code.decode() for code in codes], in_order(pairs, [numbers[code] for code in codes])
    )


def in_order(pairs: array[int], codes: Sequence[int]) -> Longs:
    """The pairs with topics renumbered by their place in `codes`, sorted, without duplicates."""
    place = np.empty(len(codes), np.int64)
    place[codes] = np.arange(len(codes))
    every = np.frombuffer(pairs, np.int64)
    for first in range(0, len(every), CHUNK):  # in place, because there are millions of them
        some = every[first : first + CHUNK]
        topics = some % MOST_TOPICS
        some += place[topics] - topics
    every.sort()
    first_of_its_kind = np.concatenate(([True], every[1:] != every[:-1]))
    return every if first_of_its_kind.all() else every[first_of_its_kind]


def is_label(parts: Sequence[bytes]) -> bool:
    """Whether the fields of a line are those of a qrels file."""
    return (
        len(parts) == 3
        and parts[1].isdigit()
        and len(parts[1]) <= MOST_DIGITS
        and parts[2] in (b"0", b"1")
        and _CODE.fullmatch(parts[0]) is not None
    )
