"""Plays a source into a topic, exactly once: whatever ends it, the same command goes on.

Events are written as they are. The key is the event's id, so that a late label follows its document
into its partition. An event without a readable id goes to any partition; the tokenizers send it to
the dead-letter topic. What is in the topic already is read from its records (`replay_progress`).
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from kafka.errors import AuthorizationError, KafkaError

from consumers.config import KafkaSettings
from consumers.kafka.clients import (
    Producer,
    abandon,
    in_words,
    new_admin,
    new_producer,
    partition_of,
)
from consumers.kafka.security import RefusedError, not_allowed
from consumers.kafka.topics import documents_plan, ensure, partitions_by_topic
from consumers.player.outbox import NEVER_MS, InterruptedWaiting, Outbox, Outgoing, UndeliveredError
from consumers.player.ranking_waiter import Ranked
from consumers.player.replay_progress import Already, Mark, link, look_back, source_name
from pipeline.corpora import SourceError, open_source, remarks_for
from pipeline.errors import UsageError
from pipeline.events.event import MalformedEvent
from pipeline.events.formats import FORMATS
from pipeline.interruption import Interruption
from pipeline.log.prefetcher import Prefetcher
from pipeline.replay.pacing import Pace
from pipeline.replay.playback import PlaybackResult, PlaybackSettings, event_batches
from pipeline.replay.progress import Progress
from pipeline.replay.replay import expected_events

TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
BOOTSTRAP_MS = 10_000
SLICE_S = 0.1  # of a sleep that a signal may end
LONG_PAUSE_S = 60.0
FAREWELL_S = 20.0
GOES_ON = "The same command goes on from there."


def play(settings: PlaybackSettings, kafka: KafkaSettings, watch: Progress) -> PlaybackResult:
    """Play a source into a topic and say how it ended."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what matters is said in other words
    if not TOPIC_NAME.fullmatch(settings.topic):
        raise UsageError(
            "--topic must be 1 to 249 letters, digits, dots, dashes or underscores. "
            f"Got {settings.topic!r}."
        )
    source = open_source(settings.source, settings.max_event_bytes)
    for line in remarks_for(settings.source):
        watch.say(line)
    total = expected_events(source, settings.limit)
    interruption = Interruption()
    with interruption.installed(), ExitStack() as stack:
        try:
            partitions = prepared_topic(kafka, settings.topic, watch)
            ranked = Ranked(kafka, settings.topic, watch, interruption)
            if settings.until_ranked:
                ranked.begin()
            producer = new_producer(
                kafka, delivery_timeout_ms=NEVER_MS, bootstrap_timeout_ms=BOOTSTRAP_MS
            )
        except (KafkaError, OSError) as error:
            return unreachable(settings, error)
        except InterruptedWaiting:
            return PlaybackResult(0, 0, interruption.signal)
        stack.callback(abandon, producer)
        readings = Prefetcher(event_batches(source, settings.limit))
        stack.callback(readings.close)
        playing = Playing(settings, kafka, partitions, producer, watch, interruption, total)
        played = playing.run(readings)
        if settings.until_ranked and played.failure is None and played.interrupted is None:
            return ranked_too(ranked, playing, played, interruption, watch)
        return played


def prepared_topic(kafka: KafkaSettings, topic: str, watch: Progress) -> int:
    """Make the topic if it is missing; returns how many partitions it has."""
    admin = new_admin(kafka, bootstrap_timeout_ms=BOOTSTRAP_MS)
    try:
        made = ensure(admin, [documents_plan(topic)], kafka.replication_factor)
        partitions = partitions_by_topic(admin)[topic]
        if made:
            watch.say(f"{topic} was made, with {partitions} partitions that keep everything")
        return partitions
    finally:
        admin.close()


def unreachable(settings: PlaybackSettings, error: Exception) -> PlaybackResult:
    """How it ends if the broker cannot be worked with."""
    if isinstance(error, AuthorizationError):
        error = not_allowed(error)
    if isinstance(error, RefusedError):
        return PlaybackResult(0, 0, failure=str(error))
    return PlaybackResult(
        0,
        0,
        failure=f"The broker at {settings.bootstrap} cannot be used "
        f"({in_words(error)}). Is it running, and is this its address?",
    )


class Playing:
    """One source on its way into one topic."""

    def __init__(
        self,
        settings: PlaybackSettings,
        kafka: KafkaSettings,
        partitions: int,
        producer: Producer,
        watch: Progress,
        interruption: Interruption,
        total: int | None,
    ) -> None:
        self._settings = settings
        self._kafka = kafka
        self._partitions = partitions
        self._producer = producer
        self._watch = watch
        self._interruption = interruption
        self._total = total
        self._decode = FORMATS[settings.format]
        self._pace = None if settings.speed is None else Pace(settings.speed)
        self._index = -1  # of the last event that was read
        self._chain = ""
        self._already = Already()
        self._skipped = 0
        self._held: (
            list[tuple[int, str, bytes]] | None
        ) = []  # until the source is known to be the same
        self.source = ""  # its name, when that and what is there is known
        self._since = time.perf_counter()
        self._outbox = self._new_outbox()

    def _new_outbox(self) -> Outbox:
        return Outbox(
            self._producer,
            self._settings.topic,
            self._already.complete,
            self._watch.say,
            lambda: self._interruption.signal is not None,
        )

    def run(self, readings: Prefetcher[list[bytes]]) -> PlaybackResult:
        """Write what is missing of the source."""
        self._watch.say(
            f"source = {self._settings.source}   topic = {self._settings.topic}   "
            f"partitions = {self._partitions}"
        )
        failure = None
        self._watch.begin(self._total)
        try:
            for event in self._events(readings):
                self._take(event)
            self._finish()
        except InterruptedWaiting:
            failure = self._parted()
        except SourceError as error:
            failure = self._parted() or str(error)
        except (UndeliveredError, KafkaError, TimeoutError) as error:
            failure = str(error) if isinstance(error, UndeliveredError) else f"{in_words(error)}."
        finally:
            self._watch.end()
        return self._concluded(failure)

    def _events(self, readings: Prefetcher[list[bytes]]) -> Iterator[bytes]:
        """The events, as long as nobody asks to stop."""
        for chunk in readings:
            if self._interruption.signal is not None:
                raise InterruptedWaiting
            self._outbox.look()
            yield from chunk or ()
            self._watch.advance(self._index + 1)

    def _take(self, event: bytes) -> None:
        """Write an event, unless it is there."""
        self._index += 1
        index = self._index
        self._chain = link(self._chain, event)
        if index == 0:
            self._look_back(event)
        already = self._already
        if index <= already.complete:
            self._skipped += 1
        elif index in already.beyond:
            if already.beyond[index] != self._chain:
                how = f"differs at event {index + 1:,} or before"
                raise UsageError(not_the_same(self._settings, how))
            self._skipped += 1
        elif self._held is not None and index < already.last:
            self._held.append((index, self._chain, event))
        else:
            self._release()
            self._write(index, self._chain, event, completes=index)

    def _look_back(self, first: bytes) -> None:
        """Find out what is there, now that the source can be told by its first event."""
        settings = self._settings
        name = source_name(first, settings.pass_number, settings.format)
        already = look_back(self._kafka, settings.topic, self._partitions, name, self._watch.say)
        if already.partitions - {self._partitions}:
            raise UsageError(
                f"{settings.topic} had {min(already.partitions)} partitions when a part of this "
                f"source was played, and has {self._partitions} now: late labels would not find "
                "their documents. Play it into a new topic, or all of it again with --pass."
            )
        if already.missing and already.unsearched:
            raise UsageError(
                f"In {settings.topic}, what was played of this source lies behind so many records "
                "of others that it cannot be told what is missing. Play it into another topic, or "
                "all of it again with --pass."
            )
        self.source, self._already = name, already
        self._since = time.perf_counter()
        self._outbox = self._new_outbox()
        there = already.count(settings.limit)
        if there:
            self._watch.say(f"there already: {self._of_total(there)}; going on")
        elif already.unsearched:
            self._watch.say("others have written much here, and nothing of this source was found")

    def _release(self) -> None:
        """The source is the one that was played: write what is missing of that part of it."""
        if self._held is None:
            return
        held, self._held = self._held, None
        for index, chain, event in held:
            self._write(index, chain, event, completes=self._already.complete)
        if held:
            self._outbox.drain()
        self._outbox.complete = self._already.last

    def _write(self, index: int, chain: str, event: bytes, completes: int) -> None:
        try:
            decoded = self._decode(event, self._settings.max_event_bytes)
        except MalformedEvent:
            key, moment, partition = None, None, index % self._partitions
        else:
            key, moment = str(decoded.id).encode(), decoded.time
            partition = partition_of(key, self._partitions)
        if self._pace is not None:
            self._wait_until(self._pace.due(moment, time.monotonic()), moment)
        self._outbox.make_room()
        mark = Mark(self.source, index, self._outbox.complete, chain, self._partitions)
        self._outbox.send(Outgoing(partition, key, event, mark.headers()), completes)

    def _wait_until(self, due: float, moment: str | None) -> None:
        left = due - time.monotonic()
        if left > LONG_PAUSE_S:
            self._watch.say(f"the next event is of {moment}, due in {left:,.0f} s")
        while (left := due - time.monotonic()) > 0:
            if self._interruption.signal is not None:
                raise InterruptedWaiting
            self._outbox.look()
            time.sleep(min(left, SLICE_S))

    def _finish(self) -> None:
        """The source has ended, and nothing may be left behind."""
        if self._index < self._already.last and not self._settings.limit:
            how = f"ends after {self._index + 1:,} events, and {self._already.last + 1:,} are there"
            raise UsageError(not_the_same(self._settings, how))
        self._release()
        self._outbox.drain()

    def reached(self) -> dict[int, int]:
        """For each partition the offset behind the last event of the source."""
        if not self.source:
            return {}
        topic, say = self._settings.topic, self._watch.say
        return look_back(self._kafka, topic, self._partitions, self.source, say).ends

    def _parted(self) -> str | None:
        """Give what is on its way some time to arrive; returns why it did not."""
        try:
            if not self._outbox.drain(FAREWELL_S):
                return f"The broker has not acknowledged everything within {FAREWELL_S:.0f} s."
        except UndeliveredError as error:
            return str(error)
        return None

    def _concluded(self, failure: str | None) -> PlaybackResult:
        """Say how it ended."""
        seconds = time.perf_counter() - self._since
        written, stopped, say = self._outbox.written, self._interruption.signal, self._watch.say
        rate = f"{written / seconds:,.0f} documents per second" if written else "nothing to write"
        say(f"written {written:,}, there already {self._skipped:,}, in {seconds:.1f} s: {rate}")
        there = self._already.count(self._settings.limit) + written
        if failure is not None:
            known = f" There now: {self._of_total(there)}." if self.source else ""
            failure = f"{failure}{known} {GOES_ON}"
        elif stopped is not None:
            say(f"stopped; there now: {self._of_total(there)}. {GOES_ON}")
        elif not written and self._skipped:
            again = self._settings.pass_number + 1
            say(f"everything is there already; --pass {again} plays it again")
        return PlaybackResult(written, self._skipped, stopped, failure)

    def _of_total(self, there: int) -> str:
        if self._total is not None and there <= self._total:
            return f"{there:,} of {self._total:,} events"
        return f"{there:,} event{'s' if there != 1 else ''}"


def not_the_same(settings: PlaybackSettings, how: str) -> str:
    """What to do with a source that has changed since a part of it was played."""
    again = settings.pass_number + 1
    return (
        f"{settings.source} is not what was played into {settings.topic} before: it begins alike, "
        f"but {how}. Play it into another topic, or all of it with --pass {again}."
    )


def ranked_too(
    ranked: Ranked,
    playing: Playing,
    played: PlaybackResult,
    interruption: Interruption,
    watch: Progress,
) -> PlaybackResult:
    """Wait until the workers have ranked what was played."""
    try:
        ranked.wait(playing.reached())
    except InterruptedWaiting:
        watch.say(
            "stopped waiting; everything was played, and is ranked when the workers get there"
        )
        return replace(played, interrupted=interruption.signal)
    except (KafkaError, TimeoutError) as error:
        return replace(played, failure=f"Everything was played, but {error}.")
    return played
