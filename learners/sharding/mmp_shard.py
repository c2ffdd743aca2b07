"""How one shard of MMP learns: it keeps the prototypes of every N-th topic.

How far topics move depends on the scores of the relevant topics, and of the topics that are level
with or above them. Shards on one machine tell each other about every document, in memory that they
share: see `learners.prototypes.mmp_slice`. Others take the lessons of a segment in stretches:

1. Each shard scores the documents of the stretch with its own prototypes, as they are now.
2. The shards exchange the scores of the relevant topics.
3. They exchange the scores of topics that a relevant one does not lead by the margin and a reserve.
   For the other topics there is one bound per lesson.
4. Every shard takes the lessons alone: see `learners.sharding.lessons`. Where rounding or a topic
   that was not sent could change a decision, all shards end the stretch without asking.
5. Each shard replays the steps on its own prototypes: see `learners.sharding.replay`.

So scores and prototypes equal those of an undivided learner to the last bit.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import array_of, check_between, check_extent, count_of, floats, longs
from learners.growing_array import GrowingArray
from learners.learner import State
from learners.prototypes.kernel import Prototypes
from learners.prototypes.mmp_slice import Attendance, Meeting, Minutes, follow_mmp_slice
from learners.segment import Segment
from learners.sharding.certain_leads import Updates
from learners.sharding.content_checksum import content_checksum
from learners.sharding.exchange import DisagreementError, Exchange
from learners.sharding.gathering import Gathering
from learners.sharding.lessons import Offers, TopicRecords, resolve
from learners.sharding.level_topics import label_fingerprints
from learners.sharding.mmp_meeting import (
    LABEL_BYTES,
    hold_meeting,
    recall_meeting,
    topics_of,
)
from learners.sharding.replay import column_lengths, replay, row_lengths, score_rows
from learners.sharding.rounding_bounds import Words
from learners.sharding.sparse_stretch import Lessons, Scoring, choose_offers, inner_products
from learners.sharding.stretch_expectation import LONGEST, SHORTEST, Expectation
from learners.sharding.stretch_parts import (
    DIGEST_BYTES,
    Place,
    check_digest,
    column_size,
    join_offers,
    read_numbers,
    read_offers,
    write_parcel,
)
from learners.sharding.topic_slice import TopicSlice, owned
from learners.update_rule import MMP_RULE, UpdateRule

MAX_BYTES = 64 << 20  # of the scores of all shards, if all were exchanged
# The bounds of lengths are sums that grow with every update, so they are measured now and then.
MEASURE_EVERY = 256  # exchanges
UNMEASURED = float(np.finfo(np.float64).max)  # a bound that is right, but useless
NO_UPDATES = Updates(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64),
    np.zeros(0, np.int32),
)  # fmt: skip


class MMPShard:
    """Learns as one shard of MMP; takes all steps, keeps the prototypes of its own topics."""

    # Arrays of the state that are equal in all shards, and the axis of own topics of the others.
    shared: ClassVar[tuple[str, ...]] = (
        "rounds", "exchanges", "stretch", "measured", "expected", "mass", "history",
    )  # fmt: skip
    topic_axes: ClassVar[dict[str, int]] = {"weights": 1, "lagging": 1}
    learns_alone = False

    def __init__(self, exchange: Exchange, loss: int, margin: float, average: bool) -> None:
        self.exchange = exchange
        self.loss, self.margin, self.average = loss, margin, average
        self.rounds = 0
        self._begun = 0  # rounds at the beginning of a segment
        self.exchanges = 0  # so far, which is the number of the next one
        self.sent_bytes = 0
        self.threads = 1  # one does the work, whatever is set
        self._expected = Expectation()
        self._measured = 0  # the exchange at which lengths were measured
        self._weights = GrowingArray(2)
        self._lagging = GrowingArray(2)
        # Of all topics: see `TopicRecords`.
        self._mass = GrowingArray(1)
        self._history: Words = np.zeros(0, np.uint64)
        self._content = b""  # checksum of the current segment
        self._seconds = {"learn": 0.0, "score": 0.0, "wait": 0.0, "resolve": 0.0, "update": 0.0}

    def begin(self, segment: Segment, own: Floats) -> None:
        """Make room for new terms and topics."""
        self._grow(segment)
        self._begun = self.rounds

    def take_apart(self, segment: Segment, own: Floats) -> None:
        """Take all steps in stretches; write the own scores of every ranking step to `own`."""
        steps = segment.steps
        labels = np.diff(steps.label_starts)
        # Without pairs of a relevant and an irrelevant topic, no topic moves.
        lesson_steps = np.flatnonzero(steps.learn & (labels > 0) & (labels < steps.known))
        if len(lesson_steps):
            self._content = content_checksum(segment, self.exchanges)
        most = max(1, MAX_BYTES // (8 * max(1, segment.topics)))
        step = lesson = 0
        while lesson < len(lesson_steps):
            tried = lesson_steps[lesson : lesson + min(self._expected.stretch, most)]
            taken = self._take(segment, step, tried, own)
            step, lesson = int(tried[taken - 1]) + 1, lesson + taken
        nothing = np.zeros((0, self._weights.room.shape[1]))
        self._replay(segment, step, len(steps), lesson_steps[:0], nothing, NO_UPDATES, own)

    def _grow(self, segment: Segment) -> None:
        columns = owned(segment.topics, self.exchange.shard, self.exchange.shards)
        self._weights.grow(segment.terms, columns)
        if self.average:
            self._lagging.grow(segment.terms, columns)
        self._mass.grow(segment.topics)
        missing = segment.topics - len(self._history)
        if missing > 0:
            self._history = np.concatenate((self._history, np.zeros(missing, np.uint64)))

    def take_together(self, segment: Segment, own: Floats, gathering: Gathering) -> bytes:
        """Take all steps in step with the other shards; return the minutes."""
        return hold_meeting(segment, gathering, partial(self._follow, segment, own))

    def recall(self, segment: Segment, own: Floats, minutes: memoryview) -> None:
        """Take all steps by the minutes of a meeting."""
        take = partial(self._follow, segment, own)
        recall_meeting(segment, self.exchange.shard, minutes, take)

    def minutes_bytes(self, segment: Segment) -> int:
        """Some numbers for each label."""
        return LABEL_BYTES * segment.steps.label_count()

    def _follow(
        self, segment: Segment, own: Floats, meeting: Meeting, minutes: Minutes,
        attendance: Attendance, begin: int,
    ) -> int:  # fmt: skip
        """Take the steps from `begin` on; return the step where it waits, or their number."""
        started = time.perf_counter()
        if begin == 0:
            self.rounds = self._begun
        topics = topics_of(segment.steps, TopicSlice(self.exchange.shard, self.exchange.shards))
        rule = UpdateRule(MMP_RULE, self.loss, self.margin, self.average)
        model = Prototypes(self._weights.room, self._lagging.room)
        step, self.rounds = follow_mmp_slice(
            segment.rows, segment.steps, topics, rule, self.rounds, model, own, meeting, minutes,
            attendance, begin,
        )  # fmt: skip
        # A shard does not learn how the topics of others have moved.
        self._mass.view[:] = UNMEASURED
        self._history = np.arange(1, len(self._history) + 1, dtype=np.uint64)
        self._seconds["learn"] += time.perf_counter() - started
        return step

    def _take(self, segment: Segment, start: int, tried: Longs, own: Floats) -> int:
        """Take the lessons that are certain, at least one, and the steps before; return how many.

        `tried` are the numbers of the steps that are lessons.
        """
        started = time.perf_counter()
        rows, topics = segment.rows, segment.topics
        lessons = self._lessons(segment, start, tried)
        shard, shards = self.exchange.shard, self.exchange.shards
        initial = np.empty((len(tried), owned(topics, shard, shards)))
        score_rows(rows, lessons.row, self._weights.room, initial)
        self._seconds["score"] += time.perf_counter() - started
        of_labels, marks, digest = self._swap_label_scores(segment, lessons, initial)
        started = time.perf_counter()
        lengths = row_lengths(rows, lessons.row)
        products = inner_products(rows, lessons.row, np.full(segment.terms, -1, np.int64))
        distances = np.sqrt((products * products).sum(axis=1))
        least = np.minimum.reduceat(of_labels, lessons.label_starts[:-1])
        limits = self.margin + self._expected.fall * distances
        scoring = Scoring(of_labels, marks, least, limits, self.margin)
        size = column_size(topics, shards)
        rise = self._expected.rise
        parcel = choose_offers(
            rows, lessons, products, rise, scoring, initial, self._weights.words, shard, shards,
            size,
        )  # fmt: skip
        self._seconds["resolve"] += time.perf_counter() - started
        offers = self._swap_offers(write_parcel(parcel, size), lessons, topics, scoring, digest)
        started = time.perf_counter()
        place_of = np.full(topics, -1, np.int64)
        place_of[lessons.labels] = lessons.places
        records = TopicRecords(self._mass.view, self._history)
        longest = int((rows.starts[lessons.row + 1] - rows.starts[lessons.row]).max())
        resolved = resolve(
            lessons, lengths, longest, products, rise, scoring, offers, self.loss, records,
            place_of, np.full(len(self._history), -1, np.int64),
        )  # fmt: skip
        self._seconds["resolve"] += time.perf_counter() - started
        if resolved.lessons == 0:
            raise DisagreementError(
                f"the scores of exchange {self.exchanges - 1}, in round {self.rounds}, do not "
                "decide a step whose scores are exact. Start all shards over: empty their snapshot "
                "folders, and delete the scores topic."
            )
        self._expected.update(resolved, least, distances, self.loss)
        taken = tried[: resolved.lessons]
        self._replay(segment, start, int(taken[-1]) + 1, taken, initial, resolved.updates, own)
        return resolved.lessons

    def _lessons(self, segment: Segment, start: int, tried: Longs) -> Lessons:
        steps = segment.steps
        rounds = self.rounds + np.cumsum(steps.learn[start : int(tried[-1]) + 1]) - 1
        starts, stops = steps.label_starts[tried], steps.label_starts[tried + 1]
        label_starts = np.concatenate(([0], np.cumsum(stops - starts)))
        chosen = np.arange(label_starts[-1]) + np.repeat(starts - label_starts[:-1], stops - starts)
        labels = np.ascontiguousarray(steps.labels[chosen])
        distinct, places = np.unique(labels, return_inverse=True)
        return Lessons(
            steps.row[tried].astype(np.int64), steps.known[tried].astype(np.int64),
            rounds[tried - start], label_starts, labels, places.astype(np.int64), len(distinct),
        )  # fmt: skip

    def _swap_label_scores(
        self, segment: Segment, lessons: Lessons, initial: Floats
    ) -> tuple[Floats, Words, bytes]:
        """Return scores and fingerprints of the labels, of all shards, and a digest of them."""
        shard, shards, topics = self.exchange.shard, self.exchange.shards, segment.topics
        lesson = np.repeat(np.arange(len(lessons.row)), np.diff(lessons.label_starts))
        is_own = lessons.labels % shards == shard
        own_scores = initial[lesson[is_own], lessons.labels[is_own] // shards]
        own_marks = label_fingerprints(
            segment.rows, lessons.row, lessons.label_starts, lessons.labels, self._weights.words,
            shard, shards,
        )  # fmt: skip
        measured = self.exchanges - self._measured >= MEASURE_EVERY
        measured = measured or bool((self._mass.view == UNMEASURED).any())
        columns = owned(topics, shard, shards)
        lengths = np.zeros(0)
        if measured:
            lengths = column_lengths(self._weights.room, self._weights.shape[0], columns)
        digest = self._digest(lessons)
        sent = (own_marks, own_scores, lengths)
        part = digest + b"".join(array.tobytes() for array in sent)
        scores, marks = np.empty(len(lessons.labels)), np.empty(len(lessons.labels), np.uint64)
        place, parts = self._swap(part)
        for sender, received in enumerate(parts):
            data = check_digest(place, sender, received, digest)
            of_sender = lessons.labels % shards == sender
            count = int(of_sender.sum())
            columns = owned(topics, sender, shards) if measured else 0
            numbers = read_numbers(place, sender, data[8 * count :], count + columns)
            marks[of_sender] = np.frombuffer(data[: 8 * count], np.uint64)
            scores[of_sender] = numbers[:count]
            if measured:
                self._mass.view[sender:topics:shards] = np.abs(numbers[count:])
        if measured:
            self._measured = place.exchange
        digest = hashlib.blake2b(b"".join(parts), digest_size=DIGEST_BYTES).digest()
        return scores, marks, digest

    def _swap_offers(
        self, parcel: bytes, lessons: Lessons, topics: int, scoring: Scoring, digest: bytes
    ) -> Offers:
        """Return the offers of all shards."""
        part = digest + parcel
        place, parts = self._swap(part)
        started = time.perf_counter()
        offers = []
        for sender, received in enumerate(parts):
            data = check_digest(place, sender, received, digest)
            offers.append(read_offers(place, sender, data, lessons, topics, scoring))
        joined = join_offers(offers)
        self._seconds["resolve"] += time.perf_counter() - started
        return joined

    def _swap(self, part: bytes) -> tuple[Place, list[bytes]]:
        """Exchange parts; return them with the place in the stream."""
        started = time.perf_counter()
        place = Place(self.exchange.shard, self.exchange.shards, self.exchanges, self.rounds)
        parts = self.exchange.swap(self.exchanges, part)
        self.exchanges += 1
        self.sent_bytes += len(part)
        self._seconds["wait"] += time.perf_counter() - started
        return place, parts

    def _digest(self, lessons: Lessons) -> bytes:
        """Return a digest of everything that must be equal in all shards at this point."""
        digest = hashlib.blake2b(self._content, digest_size=DIGEST_BYTES)
        counts = (self.loss, self.rounds, self.exchanges, self._measured, self._expected.stretch)
        digest.update(np.array(counts).tobytes())
        expected = (self.margin, self._expected.fall, self._expected.rise)
        for array in (np.array(expected), lessons.row, self._mass.view, self._history):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def _replay(
        self, segment: Segment, start: int, stop: int, taken: Longs, initial: Floats,
        updates: Updates, own: Floats,
    ) -> None:  # fmt: skip
        """Take the steps on its own prototypes; `taken` are the steps that are lessons."""
        started = time.perf_counter()
        steps = segment.steps.between(start, stop)
        lesson_of, initial_of = np.full(len(steps), -1), np.full(len(segment.rows), -1)
        lesson_of[taken - start] = np.arange(len(taken))
        initial_of[segment.steps.row[taken]] = np.arange(len(taken))
        self.rounds = replay(
            segment.rows, steps, lesson_of, initial_of, initial, updates, self.exchange.shard,
            self.exchange.shards, self.average, self.rounds, self._weights.room,
            self._lagging.room, own,
        )  # fmt: skip
        self._seconds["update"] += time.perf_counter() - started

    def forget(self, keep: Longs) -> None:
        """Drop the prototypes' rows of terms that left the vocabulary."""
        self._weights.keep(keep)
        self._lagging.keep(keep)

    def state(self) -> State:
        """Return the prototypes of its own topics, and what all shards know."""
        state: State = {
            "rounds": np.array(self.rounds),
            "exchanges": np.array(self.exchanges),
            "stretch": np.array(self._expected.stretch),
            "measured": np.array(self._measured),
            "expected": np.array([self._expected.fall, self._expected.rise]),
            "weights": self._weights.copy(),
            "mass": self._mass.copy(),
            "history": self._history.view(np.int64).copy(),
        }
        if self.average:
            state["lagging"] = self._lagging.copy()
        return state

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a state that `state` returned."""
        self._check_state(state)
        self.rounds, self.exchanges = int(state["rounds"]), int(state["exchanges"])
        self._measured = int(state["measured"])
        self._expected = Expectation(int(state["stretch"]), *map(float, state["expected"]))
        self._weights.load(state["weights"])
        if self.average:
            self._lagging.load(state["lagging"])
        self._mass.load(state["mass"])
        self._history = np.array(state["history"], np.int64).view(np.uint64)

    def _check_state(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Raise `InvalidArrayError` if this cannot be the state of such a shard."""
        for name in ("rounds", "exchanges", "measured"):
            count_of(state, name)
        longs(state, "stretch", least=SHORTEST, below=LONGEST + 1)
        check_between("expected", floats(state, "expected", 2), 0.0)
        mass = floats(state, "mass", None)
        check_between("mass", mass, 0.0)
        array_of(state, "history", np.int64, len(mass))
        columns = owned(len(mass), self.exchange.shard, self.exchange.shards)
        weights = floats(state, "weights", None, columns)
        if self.average:
            floats(state, "lagging", *weights.shape)

    def check_references(self, terms: int, topics: int) -> None:
        """The prototypes have no more terms and topics than the stream."""
        check_extent("weights", self._weights.shape[0], terms, "terms")
        check_extent("mass", self._mass.shape[0], topics, "topics")

    def timings(self) -> dict[str, float]:
        """Return the seconds spent together, and apart on scoring, waiting, lessons and replay."""
        return dict(self._seconds)

    def column(self, terms: Ints, column: int) -> Floats:
        """Return the weights of these terms for one of its own topics, as rankings use them."""
        weights: Floats = self._weights.room[terms, column]
        if self.average and self.rounds > 0:
            weights = (self.rounds * weights - self._lagging.room[terms, column]) / self.rounds
        return weights

    def size_bytes(self) -> int:
        """Return the memory of its own prototypes, and of what it knows about all topics."""
        prototypes = self._weights.nbytes + self._lagging.nbytes
        return prototypes + self._mass.nbytes + self._history.nbytes

    def max_bytes(self, terms: int, topics: int) -> int:
        """The prototypes of its own topics, and two numbers for each of all topics."""
        columns = owned(topics, self.exchange.shard, self.exchange.shards)
        return (2 if self.average else 1) * 8 * terms * columns + 2 * 8 * topics
