"""The documents that a lane marked for review most recently: a few, with what was decided.

They are part of the lane's state, so that the list is the same for any blocks and shards, and goes
on after a restart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints
from learners.checks import (
    InvalidArrayError,
    array_of,
    bools,
    check_between,
    check_extent,
    floats,
    ints,
    longs,
    starts,
)
from learners.decisions.decided import CANDIDATES, Decisions
from learners.learner import State
from pipeline.curves.has_id import HasId
from pipeline.events.event import MAX_ID_CHARACTERS

TO_REVIEW = 20  # documents that are kept
SHOWN_ASSIGNED = 5  # assigned topics that are named per document; the others are counted
SHOWN_LIKELY = 3  # topics that are named with their probabilities, per document
DOCUMENT_BYTES = 1200  # of a kept document, without its id
CHARACTER_BYTES = 4


class QueuedDocument(NamedTuple):
    """A document that was marked for review. Topics are numbers."""

    number: int  # among all documents that the lane decided about, from 1
    id: str
    certainty: float
    assigned: tuple[int, ...]
    untold: int  # further assigned topics, which are not named
    likely: tuple[tuple[int, float], ...]  # the most likely topics, with their probabilities


class MarkedDocument(NamedTuple):
    """A document as it was marked. What to show of it is looked up only if somebody asks."""

    number: int
    id: str
    certainty: float
    topics: Ints  # per candidate, in the order of the ranking; -1: no more
    probabilities: Floats
    assigned: Bools

    def in_short(self) -> QueuedDocument:
        """What was decided about the document, in short."""
        assigned = self.topics[self.assigned & (self.topics >= 0)].tolist()
        order = np.argsort(-self.probabilities, kind="stable")[:SHOWN_LIKELY]
        likely = zip(self.topics[order].tolist(), self.probabilities[order].tolist(), strict=True)
        return QueuedDocument(
            self.number,
            self.id,
            self.certainty,
            tuple(assigned[:SHOWN_ASSIGNED]),
            max(0, len(assigned) - SHOWN_ASSIGNED),
            tuple((topic, one) for topic, one in likely if topic >= 0 and one > 0.0),
        )


class ReviewQueue:
    """The last documents that a lane marked for review, oldest first."""

    def __init__(self) -> None:
        self._documents: deque[MarkedDocument] = deque(maxlen=TO_REVIEW)

    def __iter__(self) -> Iterator[QueuedDocument]:
        return (one.in_short() for one in self._documents)

    def add(self, made: Decisions, documents: Sequence[HasId], before: int) -> None:
        """Add those of the documents that were marked; `before` documents came before them."""
        rows = np.flatnonzero(made.review[: len(documents)])[-TO_REVIEW:]
        if not len(rows):
            return
        # One copy of all rows: a copy per row would take much longer.
        topics, probabilities = made.topics[rows], made.probabilities[rows]
        assigned, certainty = made.assigned[rows], made.certainty[rows].tolist()
        for i, row in enumerate(rows.tolist()):
            id_ = str(documents[row].id)[:MAX_ID_CHARACTERS]
            self._documents.append(
                MarkedDocument(
                    before + row + 1, id_, certainty[i], topics[i], probabilities[i], assigned[i]
                )
            )

    def state(self) -> State:
        """Return everything as named arrays (copies)."""
        kept = Decisions.new(len(self._documents))
        for row, one in enumerate(self._documents):
            kept.topics[row], kept.probabilities[row] = one.topics, one.probabilities
            kept.assigned[row], kept.certainty[row] = one.assigned, one.certainty
        ids = [one.id.encode(errors="surrogatepass") for one in self._documents]
        return {
            "queue_numbers": np.array([one.number for one in self._documents], np.int64),
            "queue_certainty": kept.certainty,
            "queue_topics": kept.topics,
            "queue_probabilities": kept.probabilities,
            "queue_assigned": kept.assigned,
            "queue_starts": np.cumsum([0, *map(len, ids)], dtype=np.int64),
            "queue_ids": np.frombuffer(b"".join(ids), np.uint8).copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]], decided: int) -> None:
        """Go on from a state that `state` gave, of a lane that decided about so many documents."""
        numbers = longs(state, "queue_numbers", None, least=1, below=decided + 1)
        count = len(numbers)
        check_extent("queue_numbers", count, TO_REVIEW, "documents")
        if (np.diff(numbers) <= 0).any():
            raise InvalidArrayError("array queue_numbers does not rise")
        certainty = floats(state, "queue_certainty", count)
        topics = ints(state, "queue_topics", count, CANDIDATES, least=-1)
        probabilities = floats(state, "queue_probabilities", count, CANDIDATES)
        assigned = bools(state, "queue_assigned", count, CANDIDATES)
        check_between("queue_certainty", certainty, 0.0, 1.0)
        check_between("queue_probabilities", probabilities, 0.0, 1.0)
        data = array_of(state, "queue_ids", np.uint8, None).tobytes()
        cuts = starts(state, "queue_starts", len(data), count).tolist()
        try:
            ids = [data[cuts[i] : cuts[i + 1]].decode(errors="surrogatepass") for i in range(count)]
        except UnicodeDecodeError:
            raise InvalidArrayError("array queue_ids has bytes that are no text") from None
        if any(len(id_) > MAX_ID_CHARACTERS for id_ in ids):
            raise InvalidArrayError("array queue_ids has an id that is too long")
        self._documents.clear()
        for row, (number, id_) in enumerate(zip(numbers.tolist(), ids, strict=True)):
            candidates = topics[row].copy(), probabilities[row].copy(), assigned[row].copy()
            self._documents.append(MarkedDocument(number, id_, float(certainty[row]), *candidates))

    def check_references(self, topics: int) -> None:
        """Raise `InvalidArrayError` if there is something of a topic that the stream lacks."""
        last = max((int(one.topics.max()) for one in self._documents), default=-1)
        check_extent("queue_topics", last + 1, topics, "topics")

    def size_bytes(self) -> int:
        """The memory of the kept documents."""
        return sum(DOCUMENT_BYTES + CHARACTER_BYTES * len(one.id) for one in self._documents)

    @staticmethod
    def max_bytes() -> int:
        """The most that `size_bytes` can be."""
        return TO_REVIEW * (DOCUMENT_BYTES + CHARACTER_BYTES * MAX_ID_CHARACTERS)
