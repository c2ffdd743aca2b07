"""Plays a source into a Kafka topic, each event exactly once, however often it is interrupted.

Events are written unchanged. The key of a record is the event's id, so a late label goes to the
partition of its document. An event without a readable id goes to any partition; the tokenizers send
it to the dead-letter topic. After an interruption or a crash the same command continues: it reads
from the topic which events are there (`replay_progress`) and writes only the others.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from consumers.kafka.client_types import Producer
from consumers.kafka.clients import new_admin, new_producer, partition_of
from consumers.kafka.errors import AuthorizationError, KafkaError, RefusedError, describe_error
from consumers.kafka.security import authorization_refusal
from consumers.kafka.topics import documents_plan, ensure_planned, partitions_by_topic
from consumers.kafka.workarounds import discard_producer
from consumers.player.outbox import (
    NEVER_MS,
    EventRecord,
    InterruptedWaiting,
    Outbox,
    UndeliveredError,
)
from consumers.player.ranking_waiter import RankingWaiter
from consumers.player.replay_progress import (
    RecordOrigin,
    ReplayProgress,
    extend_chain,
    read_progress,
    source_name,
)
from consumers.settings import KafkaSettings
from pipeline.corpora import SourceError, open_source, remarks_for
from pipeline.errors import UsageError
from pipeline.events.event import MalformedEvent
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record
from pipeline.interruption import Interruption
from pipeline.log.prefetcher import Prefetcher
from pipeline.printable import printable
from pipeline.replay.pacing import Pace
from pipeline.replay.playback import PlaybackResult, PlaybackSettings, event_batches
from pipeline.replay.progress import Progress
from pipeline.replay.replay import expected_events

TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
BOOTSTRAP_MS = 10_000
SLEEP_SLICE_S = 0.1  # so that a signal ends a long sleep soon
LONG_PAUSE_S = 60.0
LAST_WAIT_S = 20.0
CONTINUES = "The same command continues from there."


def play(settings: PlaybackSettings, kafka: KafkaSettings, reporter: Progress) -> PlaybackResult:
    """Play a source into a topic; returns how that ended."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # `reporter` reports what matters
    if not TOPIC_NAME.fullmatch(settings.topic):
        raise UsageError(
            "--topic must be 1 to 249 letters, digits, dots, dashes or underscores. "
            f"Got {settings.topic!r}."
        )
    source = open_source(settings.source, settings.max_event_bytes, settings.format)
    for line in remarks_for(settings.source):
        reporter.say(line)
    total = expected_events(source, settings.limit)
    interruption = Interruption()
    with interruption.installed(), ExitStack() as stack:
        try:
            partitions = prepare_topic(kafka, settings.topic, reporter)
            waiter = RankingWaiter(kafka, settings.topic, reporter, interruption)
            if settings.until_ranked:
                waiter.begin()
            producer = new_producer(
                kafka, delivery_timeout_ms=NEVER_MS, bootstrap_timeout_ms=BOOTSTRAP_MS
            )
        except (KafkaError, OSError) as error:
            return unreachable(settings, error)
        except InterruptedWaiting:
            return PlaybackResult(0, 0, interruption.signal)
        stack.callback(discard_producer, producer)
        batches = Prefetcher(event_batches(source, settings.limit))
        stack.callback(batches.close)
        playback = Playback(settings, kafka, partitions, producer, reporter, interruption, total)
        played = playback.run(batches)
        if settings.until_ranked and played.failure is None and played.interrupted is None:
            return wait_for_rankings(waiter, playback, played, interruption, reporter)
        return played


def prepare_topic(kafka: KafkaSettings, topic: str, reporter: Progress) -> int:
    """Create the topic if it is missing; returns its number of partitions."""
    admin = new_admin(kafka, bootstrap_timeout_ms=BOOTSTRAP_MS)
    try:
        created = ensure_planned(admin, [documents_plan(topic)], kafka.replication_factor)
        partitions = partitions_by_topic(admin)[topic]
        if created:
            reporter.say(f"created {topic} with {partitions} partitions, which keep all records")
        return partitions
    finally:
        admin.close()


def unreachable(settings: PlaybackSettings, error: Exception) -> PlaybackResult:
    """The outcome if the broker cannot be reached, or refuses."""
    if isinstance(error, AuthorizationError):
        error = authorization_refusal(error)
    if isinstance(error, RefusedError):
        return PlaybackResult(0, 0, failure=str(error))
    return PlaybackResult(
        0,
        0,
        failure=f"The broker at {settings.bootstrap} cannot be used "
        f"({describe_error(error)}). Is it running, and is this its address?",
    )


class Playback:
    """Writes one source into one topic."""

    def __init__(
        self,
        settings: PlaybackSettings,
        kafka: KafkaSettings,
        partitions: int,
        producer: Producer,
        reporter: Progress,
        interruption: Interruption,
        total: int | None,
    ) -> None:
        self._settings = settings
        self._kafka = kafka
        self._partitions = partitions
        self._producer = producer
        self._reporter = reporter
        self._interruption = interruption
        self._total = total
        self._decode = new_decoder(settings.format, settings.fields)
        self._pace = None if settings.speed is None else Pace(settings.speed)
        self._index = -1  # of the last event read
        self._chain = ""
        self._already_played = ReplayProgress()
        self._skipped = 0
        # Missing events among those that are there, held back until the source is known to be the
        # same: index, chain, event. None once they are written.
        self._held: list[tuple[int, str, bytes]] | None = []
        self.source = ""  # its digest, once the progress is known
        self._since = time.perf_counter()
        self._outbox = self._new_outbox()

    def _new_outbox(self) -> Outbox:
        return Outbox(
            self._producer,
            self._settings.topic,
            self._already_played.complete,
            self._reporter.say,
            lambda: self._interruption.signal is not None,
        )

    def run(self, batches: Prefetcher[list[bytes]]) -> PlaybackResult:
        """Write the events of the source that are missing in the topic."""
        self._reporter.say(
            f"source = {printable(self._settings.source)}   topic = {self._settings.topic}   "
            f"partitions = {self._partitions}"
        )
        failure = None
        self._reporter.begin(self._total)
        try:
            for event in self._events(batches):
                self._take(event)
            self._finish()
        except InterruptedWaiting:
            failure = self._wait_for_last()
        except SourceError as error:
            failure = self._wait_for_last() or str(error)
        except (UndeliveredError, KafkaError, TimeoutError) as error:
            failure = (
                str(error) if isinstance(error, UndeliveredError) else f"{describe_error(error)}."
            )
        finally:
            self._reporter.end()
        return self._conclude(failure)

    def _events(self, batches: Prefetcher[list[bytes]]) -> Iterator[bytes]:
        """The events of the source; raises `InterruptedWaiting` if the user asks to stop."""
        for chunk in batches:
            if self._interruption.signal is not None:
                raise InterruptedWaiting
            self._outbox.check()
            yield from chunk or ()
            self._reporter.advance(self._index + 1)

    def _take(self, event: bytes) -> None:
        """Write an event, unless it is in the topic."""
        self._index += 1
        index = self._index
        self._chain = extend_chain(self._chain, event)
        if index == 0:
            self._read_progress(event)
        progress = self._already_played
        if index <= progress.complete:
            self._skipped += 1
        elif index in progress.beyond:
            if progress.beyond[index] != self._chain:
                how = f"differs at event {index + 1:,} or before"
                raise UsageError(source_changed(self._settings, how))
            self._skipped += 1
        elif self._held is not None and index < progress.last:
            self._held.append((index, self._chain, event))
        else:
            self._release()
            self._write(index, self._chain, event, completes=index)

    def _read_progress(self, first: bytes) -> None:
        """Find out which events are in the topic; the first event identifies the source."""
        settings = self._settings
        name = source_name(first, settings.pass_number, settings.format)
        progress = read_progress(
            self._kafka, settings.topic, self._partitions, name, self._reporter.say
        )
        if progress.partitions - {self._partitions}:
            raise UsageError(
                f"{settings.topic} had {min(progress.partitions)} partitions when a part of this "
                f"source was played, and has {self._partitions} now: late labels would go to other "
                "partitions than their documents. Play the source into a new topic, or all of it "
                "again with --pass."
            )
        if progress.missing and progress.unsearched:
            raise UsageError(
                f"{settings.topic} holds so many records of other programs that the missing events "
                "of this source cannot be found. Play the source into another topic, or all of it "
                "again with --pass."
            )
        self.source, self._already_played = name, progress
        self._since = time.perf_counter()
        self._outbox = self._new_outbox()
        there = progress.count(settings.limit)
        if there:
            self._reporter.say(f"in the topic already: {self._of_total(there)}; continuing")
        elif progress.unsearched:
            self._reporter.say(
                "the topic holds many records of other programs; none of this source was found"
            )

    def _release(self) -> None:
        """Write the events that were held back: the source is the one that was played before."""
        if self._held is None:
            return
        held, self._held = self._held, None
        for index, chain, event in held:
            self._write(index, chain, event, completes=self._already_played.complete)
        if held:
            self._outbox.drain()
        self._outbox.complete = self._already_played.last

    def _write(self, index: int, chain: str, event: bytes, completes: int) -> None:
        try:
            decoded = self._decode(Record(event, offset=index + 1), self._settings.max_event_bytes)
        except MalformedEvent:
            key, moment, partition = None, None, index % self._partitions
        else:
            key, moment = str(decoded.id).encode(), decoded.time
            partition = partition_of(key, self._partitions)
        if self._pace is not None:
            self._wait_until(self._pace.due(moment, time.monotonic()), moment)
        self._outbox.make_room()
        origin = RecordOrigin(self.source, index, self._outbox.complete, chain, self._partitions)
        self._outbox.send(EventRecord(partition, key, event, origin.headers()), completes)

    def _wait_until(self, due: float, moment: str | None) -> None:
        left = due - time.monotonic()
        if left > LONG_PAUSE_S:
            self._reporter.say(
                f"the next event has the time {moment}; it is written in {left:,.0f} s"
            )
        while (left := due - time.monotonic()) > 0:
            if self._interruption.signal is not None:
                raise InterruptedWaiting
            self._outbox.check()
            time.sleep(min(left, SLEEP_SLICE_S))

    def _finish(self) -> None:
        """At the end of the source: write the events held back, and wait for all records."""
        played = self._already_played.last + 1
        if self._index + 1 < played and not self._settings.limit:
            how = f"has {self._index + 1:,} events, and {played:,} are in the topic"
            raise UsageError(source_changed(self._settings, how))
        self._release()
        self._outbox.drain()

    def ends(self) -> dict[int, int]:
        """By partition, the offset behind the last event of the source."""
        if not self.source:
            return {}
        topic, say = self._settings.topic, self._reporter.say
        return read_progress(self._kafka, topic, self._partitions, self.source, say).ends

    def _wait_for_last(self) -> str | None:
        """Wait some time for the records in flight; returns why they were not acknowledged."""
        try:
            if not self._outbox.drain(LAST_WAIT_S):
                return f"The broker has not acknowledged all records within {LAST_WAIT_S:.0f} s."
        except UndeliveredError as error:
            return str(error)
        return None

    def _conclude(self, failure: str | None) -> PlaybackResult:
        """Report how the playback ended."""
        seconds = time.perf_counter() - self._since
        written, stopped, say = self._outbox.written, self._interruption.signal, self._reporter.say
        rate = f"{written / seconds:,.0f} documents per second" if written else "nothing to write"
        counts = f"written {written:,}, in the topic already {self._skipped:,}"
        say(f"{counts}, in {seconds:.1f} s: {rate}")
        there = self._already_played.count(self._settings.limit) + written
        if failure is not None:
            known = f" In the topic now: {self._of_total(there)}." if self.source else ""
            failure = f"{failure}{known} {CONTINUES}"
        elif stopped is not None:
            say(f"stopped; in the topic now: {self._of_total(there)}. {CONTINUES}")
        elif not written and self._skipped:
            again = f"--pass {self._settings.pass_number + 1} plays it again"
            say(f"all events are in the topic already; {again}")
        return PlaybackResult(written, self._skipped, stopped, failure)

    def _of_total(self, there: int) -> str:
        if self._total is not None and there <= self._total:
            return f"{there:,} of {self._total:,} events"
        return f"{there:,} event{'s' if there != 1 else ''}"


def source_changed(settings: PlaybackSettings, how: str) -> str:
    """The message that a source has changed since a part of it was played, and what to do."""
    return (
        f"{settings.source} has changed since it was played into {settings.topic}: its first event "
        f"is the same, but it {how}. Play it into another topic, or all of it again with --pass "
        f"{settings.pass_number + 1}."
    )


def wait_for_rankings(
    waiter: RankingWaiter,
    playback: Playback,
    played: PlaybackResult,
    interruption: Interruption,
    reporter: Progress,
) -> PlaybackResult:
    """Wait until the workers have ranked every event that was played."""
    try:
        waiter.wait(playback.ends())
    except InterruptedWaiting:
        reporter.say("stopped waiting; every event was played, and the workers will rank it")
        return replace(played, interrupted=interruption.signal)
    except (KafkaError, TimeoutError) as error:
        return replace(played, failure=f"Every event was played, but {error}.")
    return played
