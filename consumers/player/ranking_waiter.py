"""Waiting until everything that was played has its rankings, as the broker alone can tell.

The tokenizers of a stream commit, as the group `wirerank.STREAM.tokenize`, how far they have come
in the topic of documents; its lanes commit, as groups that begin with `wirerank.STREAM.learn`, how
far they have come in the log, in one transaction with their rankings. So everything is ranked when
the tokenizers have passed the last document, and the lanes what is then the end of the log.

A lane that was taken out of a configuration leaves its group behind, which never moves again. It is
not waited for: whoever is first must have arrived, and everybody else who was seen moving.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from kafka import TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import KafkaError

from consumers.config import KafkaSettings
from consumers.kafka.clients import Admin, new_admin
from consumers.player.outbox import InterruptedWaiting
from pipeline.interruption import Interruption
from pipeline.replay.progress import Progress

PREFIX, TOKENIZE, LEARN = "wirerank.", ".tokenize", ".learn"
POLL_S = 0.25
# How long a group that lags and was never seen moving is given to move, when others have arrived.
GRACE_S = 5.0
SAY_AFTER_S = 30.0
BOOTSTRAP_MS = 5_000

T = TypeVar("T")

Offsets = dict[str, dict[Any, int]]  # by group and partition
Places = dict[str, int]  # by whoever is on the way


class Race:
    """Groups on their way, each to an end of its own."""

    def __init__(self, before: Places) -> None:
        self._before = before
        self._moved: set[str] = set()
        self._first_at: float | None = None

    def over(self, places: Places, ends: Places, now: float) -> bool:
        """Whether the first has arrived, and all others that move."""
        self._moved |= {name for name in places if places[name] != self._before.get(name)}
        behind = {name for name in places if places[name] < ends[name]}
        if len(behind) == len(places):
            return False
        self._first_at = now if self._first_at is None else self._first_at
        return not behind or (not behind & self._moved and now - self._first_at > GRACE_S)


class Ranked:
    """Follows the groups that work on a topic of documents."""

    def __init__(
        self, kafka: KafkaSettings, topic: str, watch: Progress, interruption: Interruption
    ) -> None:
        self._kafka = kafka
        self._topic = topic
        self._watch = watch
        self._interruption = interruption
        self._admin: Admin | None = None
        self._before: Offsets = {}
        self._since = time.monotonic()

    def begin(self) -> None:
        """Take note of where everybody stands, before anything is played."""
        self._before = self._asked(offsets_of_groups)

    def wait(self, ends: Mapping[int, int]) -> None:
        """Wait until everything before these offsets of the topic's partitions is ranked."""
        try:
            if ends:
                self._watch.say("waiting until every event is ranked")
                said = "; ".join(self._learned(stream) for stream in self._tokenized(ends))
                seconds = time.monotonic() - self._since
                self._watch.say(f"every event is ranked, {seconds:.1f} s after the start: {said}")
        finally:
            self._drop()

    def _tokenized(self, ends: Mapping[int, int]) -> list[str]:
        """Wait for the tokenizers; returns the streams whose tokenizers have passed the ends."""

        def places(offsets: Offsets) -> Places:
            found: Places = {}
            for group, reached in offsets.items():
                mine = {where.partition: n for where, n in reached.items() if self._is_ours(where)}
                if group.endswith(TOKENIZE) and mine:
                    found[group] = sum(min(mine.get(p, 0), end) for p, end in ends.items())
            return found

        target = sum(ends.values())
        reached = self._follow(
            places,
            lambda names: dict.fromkeys(names, target),
            f"no workers follow {self._topic} yet; `wirerank run CONFIG` starts them",
        )
        arrived = [group for group, place in reached.items() if place >= target]
        return [group.removeprefix(PREFIX).removesuffix(TOKENIZE) for group in arrived]

    def _is_ours(self, where: TopicPartition) -> bool:
        return bool(where.topic == self._topic)

    def _learned(self, stream: str) -> str:
        """Wait until the lanes of a stream have passed what is now the end of its log; says who."""
        ends: Places = {}
        where: dict[str, TopicPartition] = {}

        def places(offsets: Offsets) -> Places:
            found: Places = {}
            for group in learners_of(stream, offsets):
                for partition, offset in offsets[group].items():
                    name = f"{group} in {partition.topic}"
                    found[name], where[name] = offset, partition
            return found

        def known_ends(names: Places) -> Places:
            for name in names.keys() - ends.keys():
                ends[name] = self._asked(partial(end_of, where[name]))
            return ends

        nobody = f"no learner of {stream} has published anything yet"
        reached = self._follow(places, known_ends, nobody)
        called = {name: name.partition(f"{LEARN}.")[2].rpartition(" in ")[0] for name in reached}
        by = [called[name] for name in reached if reached[name] >= ends[name]]
        left = [
            f"{called[name]}, which stands at {reached[name]:,} of {ends[name]:,} of its log"
            for name in reached
            if reached[name] < ends[name]
        ]
        return f"by {', '.join(by)}" + (f"; not waited for: {', '.join(left)}" if left else "")

    def _follow(
        self,
        places: Callable[[Offsets], Places],
        ends: Callable[[Places], Places],
        nobody: str,
    ) -> Places:
        """Watch groups until they have arrived; returns where they are then."""
        race = Race(places(self._before))
        total: int | None = None
        last, last_at, said = -1, time.monotonic(), False
        try:
            while True:
                here = places(self._asked(offsets_of_groups))
                goals = ends(here)
                now = time.monotonic()
                if here and race.over(here, goals, now):
                    return here
                lag = sum(max(0, goals[name] - here[name]) for name in here)
                if here and total is None:
                    total = lag
                    self._watch.begin(total)
                self._watch.advance(max(0, (total or 0) - lag))
                if lag != last:
                    last, last_at, said = lag, now, False
                if not said and not here:
                    self._watch.say(nobody)
                    said = True
                elif not said and now - last_at > SAY_AFTER_S:
                    self._watch.say(standstill(here, goals, now - last_at))
                    said = True
                self._pause()
        finally:
            self._watch.end()

    def _pause(self) -> None:
        time.sleep(POLL_S)
        if self._interruption.signal is not None:
            raise InterruptedWaiting

    def _asked(self, question: Callable[[Admin], T]) -> T:
        """Ask the broker, for as long as it takes until it answers."""
        away = False
        while True:
            try:
                if self._admin is None:
                    self._admin = new_admin(self._kafka, bootstrap_timeout_ms=BOOTSTRAP_MS)
                answer = question(self._admin)
            except (KafkaError, OSError) as error:
                self._drop()
                if not away:
                    self._watch.say(
                        f"the broker does not answer ({type(error).__name__}); waiting for it"
                    )
                    away = True
                self._pause()
            else:
                if away:
                    self._watch.say("the broker answers again")
                return answer

    def _drop(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            with suppress(KafkaError, OSError):
                admin.close()


def offsets_of_groups(admin: Admin) -> Offsets:
    """How far each of our groups has come, in every partition that it has a place in."""
    names = [group["group_id"] for group in admin.list_groups()]
    ours = [name for name in names if name.startswith(PREFIX)]
    if not ours:
        return {}
    return {
        group: {where: at.offset for where, at in places.items() if at.offset >= 0}
        for group, places in admin.list_group_offsets(ours).items()
    }


def end_of(where: TopicPartition, admin: Admin) -> int:
    """The end of a partition as it is now."""
    end: int = admin.list_partition_offsets({where: OffsetSpec.LATEST})[where].offset
    return end


def learners_of(stream: str, groups: Iterable[str]) -> list[str]:
    """The groups of a stream's lanes; the name of another stream may begin like this one's.

    >>> groups = ["wirerank.a.learn.mmp", "wirerank.a.learn.tokenize", "wirerank.a.learn.learn"]
    >>> learners_of("a", groups)
    ['wirerank.a.learn.mmp']
    >>> learners_of("a.learn", groups)
    ['wirerank.a.learn.learn']
    """
    known = list(groups)
    streams = {group[len(PREFIX) : -len(TOKENIZE)] for group in known if group.endswith(TOKENIZE)}

    def owner(group: str) -> str:
        """The stream with the longest name of those that the group could belong to."""
        begins = [s for s in streams | {stream} if f"{group}.".startswith(f"{PREFIX}{s}{LEARN}.")]
        return max(begins, key=len, default="")

    return [group for group in known if owner(group) == stream and not group.endswith(TOKENIZE)]


def standstill(here: Places, ends: Places, seconds: float) -> str:
    """What to say when nothing moves."""
    behind = [f"{name} stands at {here[name]:,} of {ends[name]:,}" for name in here]
    return f"nothing has moved for {seconds:.0f} s: {'; '.join(behind)}. Are the workers running?"
