"""The changes of a lane: where its loss rose, by how much, and which topics the rise comes from.

The changes are part of a lane's learning curve. They depend only on the rounds, one after another,
and not on how the rounds are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from learners.checks import (
    MAX_COUNT,
    InvalidArrayError,
    check_between,
    count_of,
    floats,
    letters,
    starts,
)
from learners.learner import State
from learners.segment import Steps
from pipeline.curves.change_detector import Alarm, ChangeDetector
from pipeline.curves.has_id import HasId
from pipeline.curves.topic_shares import MOST_TOPICS, ChangedTopic, TopicShares
from pipeline.storage.named_arrays import arrays_under

PREFIX = "changes"  # of the arrays in the state of a curve
MOST_CHANGES = 100  # that are kept; all of them are counted
# The columns of a kept change, followed by those of its topics; the topic -1 stands for none.
ROUND, BEGAN, BEFORE, AFTER = range(4)
FIRST_TOPIC, TOPIC_COLUMNS = 4, 5
COLUMNS = FIRST_TOPIC + TOPIC_COLUMNS * MOST_TOPICS


class Change(NamedTuple):
    """A rise of a lane's loss."""

    round: int  # in which the alarm was raised
    began: int  # the round in which the rise probably began
    before: float  # mean loss in the best rounds before
    after: float  # mean loss since the rise began
    topics: tuple[ChangedTopic, ...] = ()  # the largest rise first
    document: str | None = None  # the id of the document of the round; None: not known


class LaneChanges:
    """Finds the changes of one lane, and keeps the last `MOST_CHANGES` of them."""

    def __init__(self, has_topics: bool) -> None:
        self.total = 0
        self.kept: list[Change] = []
        self._detector = ChangeDetector()
        self._shares = TopicShares() if has_topics else None

    @property
    def last_round(self) -> int | None:
        """The round in which the last change was found."""
        return self.kept[-1].round if self.kept else None

    def follow(self, losses: Floats, steps: Steps, topics: int, rounds: int) -> None:
        """Add the losses of the rounds among `steps`, after this many rounds.

        A NaN is a round without a loss. The labels of the steps are below `topics`.
        """
        start = 0
        while start < len(losses):
            alarm = self._detector.follow(losses, start)
            stop = len(losses) if alarm is None else alarm.place + 1
            if self._shares is not None:
                self._shares.follow(steps, losses, start, stop, topics)
            if alarm is not None:
                self._add(alarm, rounds)
            start = stop

    def _add(self, alarm: Alarm, rounds: int) -> None:
        """Keep a change; everything that comes after is compared from here on."""
        round_ = rounds + alarm.place + 1
        changed = tuple(self._shares.changed()) if self._shares is not None else ()
        began = round_ - alarm.rounds_since + 1
        self.total += 1
        self.kept.append(Change(round_, began, alarm.before, alarm.after, changed))
        del self.kept[:-MOST_CHANGES]
        if self._shares is not None:
            self._shares.start_again()

    def name_documents(self, labelled: Sequence[HasId], rounds: int) -> None:
        """Store the ids of documents; `labelled` are the last rounds, `rounds` came before."""
        for i in range(len(self.kept) - 1, -1, -1):
            change = self.kept[i]
            if change.round <= rounds:
                return
            self.kept[i] = change._replace(document=str(labelled[change.round - rounds - 1].id))

    def state(self) -> State:
        """Return the whole state as named arrays (copies), for the state of a curve."""
        names = [(change.document or "").encode() for change in self.kept]
        ends = np.cumsum([0, *map(len, names)], dtype=np.int64)
        state: State = {
            "total": np.array(self.total, np.int64),
            "kept": np.array(list(map(as_row, self.kept)), np.float64).reshape(-1, COLUMNS),
            "documents": np.frombuffer(b"".join(names), np.uint8).copy(),
            "document_starts": ends,
        }
        parts = {"detector": self._detector.state()}
        if self._shares is not None:
            parts["topics"] = self._shares.state()
        for part, arrays in parts.items():
            state.update({f"{part}/{name}": array for name, array in arrays.items()})
        return {f"{PREFIX}/{name}": array for name, array in state.items()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from the state of a curve. If it is older and has no changes, begin here."""
        state = arrays_under(state, PREFIX)
        if not state:
            return
        total = count_of(state, "total")
        rows = floats(state, "kept", None, COLUMNS)
        if len(rows) != min(total, MOST_CHANGES):
            raise InvalidArrayError(f"array kept has {len(rows)} changes of {total}")
        check_between("kept, rounds", rows[:, [ROUND, BEGAN]], 0.0, MAX_COUNT)
        check_between("kept, topics", rows[:, FIRST_TOPIC::TOPIC_COLUMNS], -1.0, MAX_COUNT)
        text = letters(state, "documents").tobytes()
        cuts = starts(state, "document_starts", len(text), len(rows)).tolist()
        try:
            names = [text[first:last].decode() for first, last in pairwise(cuts)]
        except UnicodeDecodeError:
            raise InvalidArrayError("array documents is not UTF-8") from None
        self._detector.restore(arrays_under(state, "detector"))
        if self._shares is not None:
            self._shares.restore(arrays_under(state, "topics"))
        self.total = total
        self.kept = [as_change(row, name) for row, name in zip(rows.tolist(), names, strict=True)]

    def check_references(self, topics: int) -> None:
        """There is no change of a topic that the stream lacks."""
        named = [changed.topic for change in self.kept for changed in change.topics]
        if max(named, default=-1) >= topics:
            raise InvalidArrayError(f"array kept has topic {max(named)} of {topics} topics")
        if self._shares is not None:
            self._shares.check_references(topics)


def as_row(change: Change) -> list[float]:
    """Return the numbers of a change."""
    row: list[float] = [change.round, change.began, change.before, change.after]
    for topic in change.topics:
        row += topic
    none = [-1.0, *[0.0] * (TOPIC_COLUMNS - 1)]
    return row + none * (MOST_TOPICS - len(change.topics))


def as_change(row: Sequence[float], document: str) -> Change:
    """Return the change of a row of numbers."""
    topics = tuple(
        ChangedTopic(int(row[at]), *row[at + 1 : at + TOPIC_COLUMNS])
        for at in range(FIRST_TOPIC, COLUMNS, TOPIC_COLUMNS)
        if row[at] >= 0
    )
    before, after = row[BEFORE], row[AFTER]
    return Change(int(row[ROUND]), int(row[BEGAN]), before, after, topics, document or None)
