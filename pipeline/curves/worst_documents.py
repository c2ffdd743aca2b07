"""The documents that a topic got most wrong: a few of each topic, with their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from learners.checks import InvalidArrayError, array_of, check_between, floats, starts
from learners.growing_array import GrowingArray
from learners.jit import njit_inline
from learners.learner import State
from pipeline.curves.has_id import HasId

WORST = 3  # documents kept for each topic
WRONG, ROUND, MISSED = range(3)
COLUMNS = 3  # of a document
MAX_ID_CHARACTERS = 64  # of an id that is kept
LEAST_WRONG = 0.5  # of a document that is kept
FADING = 1.5e-4  # how much less an error counts a round later: half as much after 3,333 rounds


class WorstDocument(NamedTuple):
    """A document that a topic got wrong."""

    id: str
    round: int
    wrong: float  # 1 - the probability of what was true
    relevant: bool  # whether the document has the topic: it was missed, not wrongly likely


@njit_inline
def keep_worst(errors: Floats, topic: int, wrong: float, round_: int, missed: float) -> None:
    """Keep a document if a topic got it more wrong than one of those kept, which it replaces.

    `missed` is 1 if the document has the topic, otherwise 0. An error counts less the longer ago it
    is, so that documents of long ago give way to new ones.
    """
    replaced, lowest = -1, wrong
    for i in range(0, WORST * COLUMNS, COLUMNS):
        counts = errors[topic, i + WRONG] - FADING * (round_ - errors[topic, i + ROUND])
        if counts < lowest:
            replaced, lowest = i, counts
    if replaced >= 0:
        errors[topic, replaced + WRONG] = wrong
        errors[topic, replaced + ROUND] = round_
        errors[topic, replaced + MISSED] = missed


class WorstDocuments:
    """The worst documents of all topics."""

    bytes_per_topic = WORST * (8 * COLUMNS + 4 * MAX_ID_CHARACTERS + 100)

    def __init__(self) -> None:
        self._errors = GrowingArray(2)
        self._ids: dict[int, str] = {}  # by round

    def room_for(self, topics: int) -> Floats:
        """The errors and rounds, with room for this many topics."""
        self._errors.grow(topics, COLUMNS * WORST)
        return self._errors.room

    def _rounds(self) -> npt.NDArray[np.float64]:
        rounds: Floats = self._errors.view[:, ROUND::COLUMNS]
        return rounds

    def name(self, before: int, documents: Sequence[HasId]) -> None:
        """Learn the ids of the documents of the rounds after round `before`."""
        rounds = self._rounds()
        is_kept = np.zeros(len(documents), np.bool_)
        is_kept[rounds[rounds > before].astype(np.int64) - (before + 1)] = True
        for i in np.flatnonzero(is_kept).tolist():
            self._ids[before + 1 + i] = str(documents[i].id)[:MAX_ID_CHARACTERS]
        if len(self._ids) > 2 * max(64, rounds.size):
            self._drop_unused()

    def _drop_unused(self) -> None:
        used = set(self._rounds().astype(np.int64).ravel().tolist())
        self._ids = {round_: id_ for round_, id_ in self._ids.items() if round_ in used}

    def of(self, topic: int) -> Sequence[WorstDocument]:
        """The documents that a topic got most wrong, worst first."""
        kept = self._errors.view[topic].reshape(WORST, COLUMNS).tolist()
        documents = [
            WorstDocument(self._ids.get(int(round_), ""), int(round_), wrong, bool(missed))
            for wrong, round_, missed in kept
            if round_ > 0
        ]
        return sorted(documents, key=lambda one: (-one.wrong, -one.round))

    def state(self) -> State:
        """Return everything as named arrays (copies)."""
        self._drop_unused()
        named = sorted(self._ids.items())
        ids = [id_.encode(errors="surrogatepass") for _, id_ in named]
        return {
            "errors": self._errors.copy(),
            "worst_rounds": np.array([round_ for round_, _ in named], np.int64),
            "worst_starts": np.cumsum([0, *map(len, ids)], dtype=np.int64),
            "worst_ids": np.frombuffer(b"".join(ids), np.uint8).copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]], topics: int, last: int) -> None:
        """Go on from a state that `state` gave, of this many topics and rounds."""
        errors = floats(state, "errors", topics, COLUMNS * WORST)
        for column in (WRONG, MISSED):
            check_between("errors", errors[:, column::COLUMNS], 0.0, 1.0)
        check_between("errors, rounds", errors[:, ROUND::COLUMNS], 0.0, last)
        rounds = array_of(state, "worst_rounds", np.int64, None)
        data = array_of(state, "worst_ids", np.uint8, None).tobytes()
        cuts = starts(state, "worst_starts", len(data), len(rounds)).tolist()
        used = np.unique(errors[:, ROUND::COLUMNS]).astype(np.int64)
        if not np.array_equal(rounds, used[used > 0]):
            raise InvalidArrayError("array worst_rounds has other rounds than array errors")
        try:
            ids = [
                data[cuts[i] : cuts[i + 1]].decode(errors="surrogatepass")
                for i in range(len(rounds))
            ]
        except UnicodeDecodeError:
            raise InvalidArrayError("array worst_ids has bytes that are no text") from None
        if any(len(id_) > MAX_ID_CHARACTERS for id_ in ids):
            raise InvalidArrayError("array worst_ids has an id that is too long")
        self._errors.load(errors)
        self._ids = dict(zip(rounds.tolist(), ids, strict=True))
