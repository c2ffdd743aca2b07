"""The topics of RCV1-v2: 2.6 million lines `E11 2286 1`, held as one number each."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from learners.segment import Longs
from pipeline.corpora.source import SourceError

QRELS = re.compile(r"rcv1.*topics.*qrels(\.txt)?(\.gz)?", re.IGNORECASE)

MOST_LINES = 50_000_000
MOST_TOPICS = 2048
MOST_DIGITS = 15
_CODE = re.compile(rb"[!-~]{1,100}")


@dataclass(frozen=True, slots=True)
class Labels:
    """Pairs of a document and a topic, each as document x topics + topic, ascending."""

    codes: Sequence[str]
    pairs: Longs

    def places(self, numbers: Longs) -> tuple[Longs, Longs]:
        """Where the pairs of each of these documents begin and end."""
        topics = len(self.codes)
        return (
            np.searchsorted(self.pairs, numbers * topics),
            np.searchsorted(self.pairs, (numbers + 1) * topics),
        )

    def names(self, start: int, stop: int) -> list[str]:
        """The topics of pairs of one document, in the order of their codes."""
        return [self.codes[i] for i in (self.pairs[start:stop] % len(self.codes)).tolist()]


def read_labels(lines: Iterable[bytes], name: str) -> Labels:
    """The labels of a file of qrels; `name` is what errors call it."""
    found = dict[bytes, int]()
    topics, documents = array("i"), array("q")
    for at, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        if not is_label(parts):
            raise SourceError(
                f"{name}, line {at}: found {line.strip()[:60].decode('latin-1')!r}, expected a "
                "topic, the number of a document and 1, as in E11 2286 1"
            )
        if parts[2] == b"0":
            continue  # somebody says that it is not of that topic
        topics.append(found.setdefault(parts[0], len(found)))
        documents.append(int(parts[1]))
        if len(found) > MOST_TOPICS or at > MOST_LINES:
            raise SourceError(
                f"{name} has more than {MOST_TOPICS:,} topics or {MOST_LINES:,} lines, which the "
                "corpus has not: check that this is the right file"
            )
    if not found:
        raise SourceError(f"{name} has no topics; expected lines as E11 2286 1")
    codes = sorted(found)
    place = np.empty(len(codes), np.int64)
    place[[found[code] for code in codes]] = np.arange(len(codes))
    numbers = place[np.frombuffer(topics, np.int32)]
    pairs = np.frombuffer(documents, np.int64) * len(codes) + numbers
    return Labels([code.decode() for code in codes], np.unique(pairs))


def is_label(parts: Sequence[bytes]) -> bool:
    """Whether a line is one of qrels."""
    return (
        len(parts) == 3
        and parts[1].isdigit()
        and len(parts[1]) <= MOST_DIGITS
        and parts[2] in (b"0", b"1")
        and _CODE.fullmatch(parts[0]) is not None
    )
