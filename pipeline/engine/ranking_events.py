"""Ranking events: what a lane says of a document, best topic first.

An event is a JSON object, and a block has thousands of them, most of whose bytes are the same names
over and over. So names and numbers are written once by a JSON library, and a kernel puts the
pieces together; the plain-Python twin builds each event as an object.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import orjson

from learners.arrays import Bytes, Longs
from learners.jit import njit
from learners.scores import LabelKind, Scores
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.storage.binary_array import BinaryArray, BinaryArrayBuilder

COMMA, CLOSE, ZERO = ord(","), ord("}"), ord("0")
LONGEST_ROUND = 20  # digits


@njit
def put(room: Bytes, at: int, letters: Bytes, start: int, stop: int) -> int:
    """Copy a piece into the room; returns where it ends."""
    for i in range(start, stop):
        room[at] = letters[i]
        at += 1
    return at


@njit
def put_number(room: Bytes, at: int, number: int) -> int:
    """Write a whole number that is not negative."""
    digits, rest = 1, number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for i in range(digits):
        room[at + digits - 1 - i] = ZERO + number % 10
        number //= 10
    return at + digits


@njit
def assemble(
    room: Bytes,
    ends: Longs,
    orders: npt.NDArray[np.int32],  # documents x lanes x places
    rounds: Longs,
    heads: Bytes,
    head_ends: Longs,
    tails: Bytes,
    tail_ends: Longs,
    lanes: Bytes,
    lane_ends: Longs,
    topics: Bytes,
    topic_ends: Longs,
    opening: Bytes,
    scores: Bytes,
) -> None:
    """Write the events of all documents and lanes one after another."""
    at, number = 0, 0
    next_score = 1  # behind the bracket that opens the list of all scores
    for document in range(orders.shape[0]):
        for lane in range(orders.shape[1]):
            at = put(room, at, heads, head_ends[document], head_ends[document + 1])
            at = put(room, at, lanes, lane_ends[lane], lane_ends[lane + 1])
            at = put_number(room, at, rounds[document])
            at = put(room, at, opening, 0, len(opening))
            for place in range(orders.shape[2]):
                topic = orders[document, lane, place]
                if topic < 0:
                    break
                if place > 0:
                    room[at] = COMMA
                    at += 1
                at = put(room, at, topics, topic_ends[topic], topic_ends[topic + 1])
                stop = next_score
                while scores[stop] != COMMA and stop < len(scores) - 1:
                    stop += 1
                at = put(room, at, scores, next_score, stop)
                next_score = stop + 1
                room[at] = CLOSE
                at += 1
            at = put(room, at, tails, tail_ends[document], tail_ends[document + 1])
            number += 1
            ends[number] = at


class RankingWriter:
    """Writes the ranking events of some lanes: `top` topics each; 0 means all that were known."""

    def __init__(self, lanes: Sequence[str], top: int) -> None:
        self._names = lanes
        self._top = top
        self._opening = np.frombuffer(b',"ranking":[', np.uint8)
        self._topics = BinaryArrayBuilder()

    def write(
        self, ranked: RankedSegment, topics: Sequence[str], which: Sequence[int]
    ) -> BinaryArray:
        """The events of a stretch of documents: document by document, lane by lane.

        `which` of the scores belong to the lanes of this writer. `time` is the document's own, so
        that the same log gives the same events.
        """
        known_names = len(self._topics)
        self._topics.append(
            [b'{"topic":%b,"score":' % orjson.dumps(t) for t in topics[known_names:]]
        )
        of_ranks = [ranked.scores[lane].label_kind is LabelKind.RANKS for lane in which]
        if not any(of_ranks):
            return self._of_topics(ranked, which, self._names)
        ordinal, others = (
            [place for place, is_rank in enumerate(of_ranks) if is_rank == wanted]
            for wanted in (True, False)
        )
        events: dict[int, list[bytes]] = {
            place: rank_events(ranked, which[place], self._names[place]) for place in ordinal
        }
        if others:
            names = [self._names[place] for place in others]
            written = self._of_topics(
                ranked, [which[place] for place in others], names
            ).to_strings()
            events |= {place: written[i :: len(others)] for i, place in enumerate(others)}
        return BinaryArray.from_strings(
            [*chain.from_iterable(zip(*(events[i] for i in sorted(events)), strict=True))]
        )

    def _of_topics(
        self, ranked: RankedSegment, which: Sequence[int], lanes: Sequence[str]
    ) -> BinaryArray:
        """The events of lanes that rank topics."""
        known = int(ranked.known_topics.max(initial=0))
        most = min(self._top, known) if self._top else known
        shape = (len(ranked.documents), len(which), most)
        orders, values = np.empty(shape, np.int32), np.empty(shape)
        for place, lane in enumerate(which):
            scores = Scores.expect(ranked.scores[lane])
            orders[:, place], values[:, place] = scores.best(ranked.known_topics, most)
        there = orders >= 0
        numbers = orjson.dumps(values[there], option=orjson.OPT_SERIALIZE_NUMPY)
        heads = BinaryArray.from_strings(
            [b'{"id":%b,"lane":' % orjson.dumps(d.id) for d in ranked.documents]
        )
        tails = BinaryArray.from_strings(
            [b'],"time":%b}' % orjson.dumps(d.time) for d in ranked.documents]
        )
        middles = BinaryArray.from_strings([orjson.dumps(lane) + b',"round":' for lane in lanes])
        names = self._topics.array
        shown = orders[there]
        size = (
            (len(heads.data) + len(tails.data)) * len(which)
            + shape[0] * len(middles.data)
            + shape[0] * len(which) * (LONGEST_ROUND + len(self._opening))
            + int((names.offsets[shown + 1] - names.offsets[shown]).sum() + 2 * len(shown))
            + len(numbers)
        )
        room, ends = np.empty(size, np.uint8), np.zeros(shape[0] * len(which) + 1, np.int64)
        rounds = np.array(ranked.rounds[which[0]], np.int64)  # topic lanes have the same ones
        assemble(
            room, ends, orders, rounds, *heads, *tails, *middles, *names, self._opening,
            np.frombuffer(numbers, np.uint8),
        )  # fmt: skip
        return BinaryArray(room[: ends[-1]], ends)


def rank_events(ranked: RankedSegment, lane: int, name: str) -> list[bytes]:
    """The events of an ordinal lane: the rank that it says, and the score it read it off."""
    said = ranked.scores[lane]
    return [
        orjson.dumps(
            {
                "id": document.id,
                "lane": name,
                "round": round_,
                "rank": int(rank),
                "score": score,
                "time": document.time,
            }
        )
        for row, (document, round_) in enumerate(
            zip(ranked.documents, ranked.rounds[lane], strict=True)
        )
        for rank, score in [said.row(row, 0).tolist()]
    ]


def ranking_events(
    ranked: RankedSegment, lanes: Sequence[str], topics: Sequence[str], top: int
) -> list[bytes]:
    """The ranking events of a stretch of documents, of all its lanes."""
    return RankingWriter(lanes, top).write(ranked, topics, range(len(lanes))).to_strings()
