"""The JSON text of what lanes decided, as ranking events have it.

Behind the score of each candidate comes its probability, and behind the ranking come the assigned
topics and the certainty of the set. Lanes with a risk also say whether to review the document.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from learners.arrays import Bools, Bytes, Ints
from learners.decisions.decided import CANDIDATES, Decisions
from learners.jit import njit
from pipeline.engine.json_kernels import COMMA, number_end, put
from pipeline.storage.binary_array import BinaryArray

FIELDS = ("assigned", "certainty", "review")
DIGITS = 4  # of probabilities and certainties
BEFORE_NAME, AFTER_NAME = b'{"topic":', b',"score":'
MAX_NUMBER_BYTES = 24


def text(value: bytes) -> Bytes:
    """Bytes as an array that kernels take."""
    return np.frombuffer(value, np.uint8)


BEFORE_PROBABILITY, TRUE, FALSE = text(b',"probability":'), text(b"true"), text(b"false")


class DecisionTexts(NamedTuple):
    """The texts that the decisions of several lanes are put together from."""

    decided: Bools  # per lane: whether it assigns topics
    marks: Bools  # per lane: whether it marks documents for review
    numbers: Bytes  # a JSON list: of each event the probabilities, then the certainty
    assigned: Ints  # documents x lanes x candidates: the assigned topics; -1 follows the last one
    review: Bools  # documents x lanes
    # What comes before each field; empty if the field is left out.
    before_assigned: Bytes
    before_certainty: Bytes
    before_review: Bytes


def decision_texts(
    decisions: Sequence[Decisions | None], marks: Sequence[bool], documents: int, places: int,
    fields: Collection[str],
) -> DecisionTexts:  # fmt: skip
    """Return the texts for events with this many places in their rankings.

    `marks` says of each lane whether it marks documents for review.
    """
    lanes = len(decisions)
    numbers = np.full((documents, lanes, CANDIDATES + 1), np.nan)
    assigned = np.full((documents, lanes, CANDIDATES), -1, np.int32)
    review = np.zeros((documents, lanes), np.bool_)
    for lane, made in enumerate(decisions):
        if made is None:
            continue
        topics = made.topics[:documents]
        numbers[:, lane, :CANDIDATES] = np.where(
            topics >= 0, made.probabilities[:documents], np.nan
        )
        numbers[:, lane, places:CANDIDATES] = np.nan
        numbers[:, lane, CANDIDATES] = made.certainty[:documents]
        first_assigned(topics, made.assigned[:documents], assigned[:, lane])
        review[:, lane] = made.review[:documents]
    used = numbers[~np.isnan(numbers)]
    before = [text(b',"%b":' % name.encode()) if name in fields else text(b"") for name in FIELDS]
    return DecisionTexts(
        np.array([made is not None for made in decisions], np.bool_),
        np.array(marks, np.bool_),
        text(orjson.dumps(np.round(used, DIGITS), option=orjson.OPT_SERIALIZE_NUMPY)),
        assigned,
        review,
        *before,
    )


@njit
def first_assigned(topics: Ints, is_assigned: Bools, assigned: npt.NDArray[np.int32]) -> None:
    """Write the assigned topics of each row, one after another."""
    for row in range(len(topics)):
        count = 0
        for place in range(topics.shape[1]):
            if topics[row, place] >= 0 and is_assigned[row, place]:
                assigned[row, count] = topics[row, place]
                count += 1


@njit
def put_probability(
    output: Bytes, at: int, texts: DecisionTexts, next_number: int
) -> tuple[int, int]:
    """Write the next probability; return where it ends, and where the next number begins."""
    stop = number_end(texts.numbers, next_number)
    at = put(output, at, BEFORE_PROBABILITY, 0, len(BEFORE_PROBABILITY))
    at = put(output, at, texts.numbers, next_number, stop)
    return at, stop + 1


@njit
def put_decision(
    output: Bytes, at: int, texts: DecisionTexts, topics: BinaryArray, document: int, lane: int,
    next_number: int,
) -> tuple[int, int]:  # fmt: skip
    """Write what a lane decided; return where it ends, and where the next number begins.

    `topics` are the texts of the topics, as rankings have them.
    """
    if len(texts.before_assigned) > 0:
        at = put(output, at, texts.before_assigned, 0, len(texts.before_assigned))
        output[at] = ord("[")
        at += 1
        for i in range(texts.assigned.shape[2]):
            topic = texts.assigned[document, lane, i]
            if topic < 0:
                break
            if i > 0:
                output[at] = COMMA
                at += 1
            start = topics.offsets[topic] + len(BEFORE_NAME)
            stop = topics.offsets[topic + 1] - len(AFTER_NAME)
            at = put(output, at, topics.data, start, stop)
        output[at] = ord("]")
        at += 1
    stop = number_end(texts.numbers, next_number)
    if len(texts.before_certainty) > 0:
        at = put(output, at, texts.before_certainty, 0, len(texts.before_certainty))
        at = put(output, at, texts.numbers, next_number, stop)
    if texts.marks[lane] and len(texts.before_review) > 0:
        at = put(output, at, texts.before_review, 0, len(texts.before_review))
        word = TRUE if texts.review[document, lane] else FALSE
        at = put(output, at, word, 0, len(word))
    return at, stop + 1


def decision_bytes(texts: DecisionTexts, topics: BinaryArray) -> int:
    """Return an upper bound on the bytes of all decisions."""
    used = texts.assigned[texts.assigned >= 0]
    names = topics.offsets[used + 1] - topics.offsets[used]
    keys = (texts.before_assigned, texts.before_certainty, texts.before_review)
    fixed = sum(map(len, keys)) + len(FALSE) + 2
    events = int(texts.assigned.shape[0] * texts.assigned.shape[1])
    probabilities = events * CANDIDATES * len(BEFORE_PROBABILITY)
    return int(names.sum()) + len(used) + events * fixed + probabilities + len(texts.numbers)


def as_objects(
    decisions: Decisions, row: int, names: Sequence[str], has_marks: bool
) -> tuple[dict[str, Any], list[float]]:
    """Return what was decided about a row as an object, and the probabilities of candidates.

    The object has `review` only if the lane marks documents.
    """
    count = int(np.count_nonzero(decisions.topics[row] >= 0))
    chosen = decisions.topics[row, :count][decisions.assigned[row, :count]].tolist()
    decided: dict[str, Any] = {
        "assigned": [names[topic] for topic in chosen],
        "certainty": round(float(decisions.certainty[row]), DIGITS),
    }
    if has_marks:
        decided["review"] = bool(decisions.review[row])
    return decided, np.round(decisions.probabilities[row, :count], DIGITS).tolist()
