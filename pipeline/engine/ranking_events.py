"""Ranking events: the JSON objects that tell how a lane ranked a document, best topic first.

A block has thousands of ranking events, and most of their bytes are the same names over and over.
So a JSON library writes each name and number once, and a kernel copies them into the events. The
plain-Python twin builds each event as an object.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from learners.arrays import Bytes, Longs
from learners.decisions.decided import CANDIDATES
from learners.jit import njit
from learners.scores import LabelKind
from pipeline.engine.decision_texts import (
    AFTER_NAME,
    BEFORE_NAME,
    FIELDS,
    DecisionTexts,
    decision_bytes,
    decision_texts,
    put_candidate,
    put_decision,
)
from pipeline.engine.json_kernels import COMMA, number_end, put, put_number, put_string
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.storage.binary_array import BinaryArray, BinaryArrayBuilder

CLOSE, CLOSE_LIST = ord("}"), ord("]")
MAX_ROUND_DIGITS = 20
# The keys of a ranking event, in their order: of topic lanes, and of ordinal lanes. Only lanes that
# assign topics have those of `FIELDS`, and only lanes with a risk have `review`.
TOPIC_FIELDS = ("id", "lane", "round", "ranking", *FIELDS, "time")
RANK_FIELDS = ("id", "lane", "round", "rank", "score", "time")
ALL_FIELDS = frozenset((*TOPIC_FIELDS, *RANK_FIELDS))


class EventParts(NamedTuple):
    """The JSON texts that ranking events are put together from, in the order of an event."""

    heads: BinaryArray  # per document
    lanes: BinaryArray  # per lane
    has_round: bool
    before_ranking: Bytes
    topics: BinaryArray  # per topic: everything before its score
    scores: Bytes  # a JSON list of all scores, in the order of the events
    tails: BinaryArray  # per document
    decisions: DecisionTexts


@njit
def assemble(
    output: Bytes,
    offsets: Longs,
    orders: npt.NDArray[np.int32],
    rounds: Longs,
    parts: EventParts,
) -> None:
    """Write the events of all documents and lanes one after another.

    `orders` (documents x lanes x places) holds topics; -1 follows the last topic of a ranking.
    """
    at, number = 0, 0
    next_score = 1  # after the bracket that opens the list of all scores
    texts = parts.decisions
    for document in range(orders.shape[0]):
        for lane in range(orders.shape[1]):
            at = put_string(output, at, parts.heads, document)
            at = put_string(output, at, parts.lanes, lane)
            if parts.has_round:
                at = put_number(output, at, rounds[document])
            at = put(output, at, parts.before_ranking, 0, len(parts.before_ranking))
            for place in range(orders.shape[2]):
                topic = orders[document, lane, place]
                if topic < 0:
                    break
                if place > 0:
                    output[at] = COMMA
                    at += 1
                at = put_string(output, at, parts.topics, topic)
                stop = number_end(parts.scores, next_score)
                at = put(output, at, parts.scores, next_score, stop)
                next_score = stop + 1
                if texts.decided[lane] and place < CANDIDATES:
                    at = put_candidate(output, at, texts.probabilities[document, lane, place])
                output[at] = CLOSE
                at += 1
            output[at] = CLOSE_LIST
            at += 1
            if texts.decided[lane]:
                at = put_decision(output, at, texts, parts.topics, document, lane)
            at = put_string(output, at, parts.tails, document)
            number += 1
            offsets[number] = at


class RankingWriter:
    """Writes the ranking events of some lanes, with the first `top` topics (0: all topics).

    `fields` are the keys that an event has, besides the ranking or the rank.
    """

    def __init__(
        self, lanes: Sequence[str], top: int, fields: Collection[str] = ALL_FIELDS
    ) -> None:
        self._names = lanes
        self._top = top
        self._fields = fields
        self._topics = BinaryArrayBuilder()

    def write(
        self,
        ranked: RankedSegment,
        topics: Sequence[str],
        lanes: Sequence[int],
        top: int | None = None,
    ) -> BinaryArray:
        """Return the events of a segment: document by document, and lane by lane for each.

        `top` replaces that of the writer for this segment.
        `lanes` are the indices of this writer's lanes in the segment. `time` is that of the
        document, so that the same log gives the same events.
        """
        top = self._top if top is None else top
        known_names = len(self._topics)
        self._topics.append(
            [BEFORE_NAME + orjson.dumps(t) + AFTER_NAME for t in topics[known_names:]]
        )
        ordinal = [ranked.scores[lane].label_kind is LabelKind.RANKS for lane in lanes]
        if not any(ordinal):
            return self._write_topics(ranked, lanes, self._names, top)
        events: dict[int, list[bytes]] = {
            i: rank_events(ranked, lanes[i], self._names[i], self._fields)
            for i in np.flatnonzero(ordinal).tolist()
        }
        topic_lanes = [i for i, is_ordinal in enumerate(ordinal) if not is_ordinal]
        if topic_lanes:
            written = self._write_topics(
                ranked, [lanes[i] for i in topic_lanes], [self._names[i] for i in topic_lanes], top
            ).to_strings()
            events |= {lane: written[i :: len(topic_lanes)] for i, lane in enumerate(topic_lanes)}
        return BinaryArray.from_strings(
            [*chain.from_iterable(zip(*(events[i] for i in sorted(events)), strict=True))]
        )

    def _write_topics(
        self, ranked: RankedSegment, lanes: Sequence[int], names: Sequence[str], top: int
    ) -> BinaryArray:
        """Return the events of topic lanes."""
        known = int(ranked.known_topics.max(initial=0))
        places = min(top, known) if top else known
        documents = ranked.documents
        shape = (len(documents), len(lanes), places)
        orders, values = np.empty(shape, np.int32), np.empty(shape)
        decisions = [ranked.emitted_by(lane) for lane in lanes]
        for i, lane in enumerate(lanes):
            orders[:, i], values[:, i] = ranked.best(lane, places)
        used = orders >= 0
        numbers = orjson.dumps(values[used], option=orjson.OPT_SERIALIZE_NUMPY)
        chosen = self._fields
        head = b'{"id":%b,' if "id" in chosen else b"{%.0b"
        named = b'"lane":%b,' if "lane" in chosen else b"%.0b"
        named += b'"round":' if "round" in chosen else b""
        opening = b',"ranking":[' if "round" in chosen else b'"ranking":['
        tail = b',"time":%b}' if "time" in chosen else b"%.0b}"
        parts = EventParts(
            BinaryArray.from_strings([head % orjson.dumps(d.id) for d in documents]),
            BinaryArray.from_strings([named % orjson.dumps(name) for name in names]),
            "round" in chosen,
            np.frombuffer(opening, np.uint8),
            self._topics.array,
            np.frombuffer(numbers, np.uint8),
            BinaryArray.from_strings([tail % orjson.dumps(d.time) for d in documents]),
            decision_texts(
                decisions, [ranked.has_marks(lane) for lane in lanes], len(documents), chosen
            ),
        )
        output = np.empty(output_bytes(parts, orders[used]), np.uint8)
        offsets = np.zeros(len(documents) * len(lanes) + 1, np.int64)
        rounds = np.array(ranked.rounds[lanes[0]], np.int64)  # equal for all topic lanes
        assemble(output, offsets, orders, rounds, parts)
        return BinaryArray(output[: offsets[-1]], offsets)


def output_bytes(parts: EventParts, topics: npt.NDArray[np.int32]) -> int:
    """Return an upper bound on the bytes of all events; `topics` are the topics of all rankings."""
    documents, lanes = len(parts.heads.offsets) - 1, len(parts.lanes.offsets) - 1
    offsets = parts.topics.offsets
    return (
        (len(parts.heads.data) + len(parts.tails.data)) * lanes
        + documents * len(parts.lanes.data)
        + documents * lanes * (MAX_ROUND_DIGITS + len(parts.before_ranking) + 1)
        + int((offsets[topics + 1] - offsets[topics]).sum() + 2 * len(topics))
        + len(parts.scores)
        + decision_bytes(parts.decisions, parts.topics)
    )


def rank_events(
    ranked: RankedSegment, lane: int, name: str, fields: Collection[str] = ALL_FIELDS
) -> list[bytes]:
    """Return the events of an ordinal lane: the predicted rank, and the score behind it."""
    scores = ranked.scores[lane]
    return [
        orjson.dumps(
            {
                key: value
                for key, value in zip(
                    RANK_FIELDS,
                    (document.id, name, round_, int(rank), score, document.time),
                    strict=True,
                )
                if key in fields
            }
        )
        for row, (document, round_) in enumerate(
            zip(ranked.documents, ranked.rounds[lane], strict=True)
        )
        for rank, score in [scores.row(row, 0).tolist()]
    ]


def ranking_events(
    ranked: RankedSegment, lanes: Sequence[str], topics: Sequence[str], top: int,
    fields: Collection[str] = ALL_FIELDS,
) -> list[bytes]:  # fmt: skip
    """Return the ranking events of a segment, of all its lanes."""
    return RankingWriter(lanes, top, fields).write(ranked, topics, range(len(lanes))).to_strings()
