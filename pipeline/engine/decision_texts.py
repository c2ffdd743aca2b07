"""The JSON text of what lanes decided, as ranking events have it.

Behind the score of each candidate comes its probability, and behind the ranking come the assigned
topics and the certainty of the set. Lanes with a risk also say whether to review the document.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Bytes, Floats, Ints
from learners.decisions.decided import CANDIDATES, Decisions
from learners.jit import njit, njit_inline
from pipeline.engine.json_kernels import COMMA, ZERO, put
from pipeline.storage.binary_array import BinaryArray

FIELDS = ("assigned", "certainty", "review")
DIGITS = 4  # of probabilities and certainties
UNITS = 10**DIGITS
TEN, HUNDRED, DIGIT_ZERO = np.uint64(10), np.uint64(100), np.uint64(ZERO)
PROBABILITY_BYTES = DIGITS + 2
BEFORE_NAME, AFTER_NAME = b'{"topic":', b',"score":'


def text(value: bytes) -> Bytes:
    """Bytes as an array that kernels take."""
    return np.frombuffer(value, np.uint8)


BEFORE_PROBABILITY, TRUE, FALSE = text(b',"probability":'), text(b"true"), text(b"false")


class DecisionTexts(NamedTuple):
    """What the decisions of several lanes say, and the texts between."""

    decided: Bools  # per lane: whether it assigns topics
    marks: Bools  # per lane: whether it marks documents for review
    probabilities: Floats  # documents x lanes x candidates
    assigned: Ints  # documents x lanes x candidates: the assigned topics; -1 follows the last one
    certainty: Floats  # documents x lanes
    review: Bools  # documents x lanes
    # What comes before each field; empty if the field is left out.
    before_assigned: Bytes
    before_certainty: Bytes
    before_review: Bytes


def decision_texts(
    decisions: Sequence[Decisions | None], marks: Sequence[bool], documents: int,
    fields: Collection[str],
) -> DecisionTexts:  # fmt: skip
    """Return the texts for events of this many documents.

    `marks` says of each lane whether it marks documents for review.
    """
    lanes = len(decisions)
    probabilities = np.zeros((documents, lanes, CANDIDATES))
    assigned = np.full((documents, lanes, CANDIDATES), -1, np.int32)
    certainty, review = np.zeros((documents, lanes)), np.zeros((documents, lanes), np.bool_)
    for lane, made in enumerate(decisions):
        if made is None:
            continue
        probabilities[:, lane] = made.probabilities[:documents]
        first_assigned(made.topics[:documents], made.assigned[:documents], assigned[:, lane])
        certainty[:, lane], review[:, lane] = made.certainty[:documents], made.review[:documents]
    before = [text(b',"%b":' % name.encode()) if name in fields else text(b"") for name in FIELDS]
    return DecisionTexts(
        np.array([made is not None for made in decisions], np.bool_),
        np.array(marks, np.bool_),
        probabilities,
        assigned,
        certainty,
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


@njit_inline
def put_probability(output: Bytes, at: int, probability: float) -> int:
    """Write a number from 0 to 1 as a JSON library writes it, rounded; return where it ends."""
    is_between = 0.0 < probability < 1.0  # otherwise 0 or 1 is written, whatever it is
    units = np.uint64(np.rint(probability * UNITS) if is_between else UNITS * (probability >= 1.0))
    # Unsigned numbers are divided much faster. All four digits are written, and zeros at the end
    # are not counted.
    high, low = units // HUNDRED, units % HUNDRED
    whole, high = high // HUNDRED, high % HUNDRED
    output[at], output[at + 1] = DIGIT_ZERO + whole, ord(".")
    output[at + 2], output[at + 3] = DIGIT_ZERO + high // TEN, DIGIT_ZERO + high % TEN
    output[at + 4], output[at + 5] = DIGIT_ZERO + low // TEN, DIGIT_ZERO + low % TEN
    if low % TEN > 0:
        return at + 6
    if low > 0:
        return at + 5
    return at + 4 if high % TEN > 0 else at + 3


@njit_inline
def put_candidate(output: Bytes, at: int, probability: float) -> int:
    """Write the probability of a candidate, behind its score; return where it ends."""
    at = put(output, at, BEFORE_PROBABILITY, 0, len(BEFORE_PROBABILITY))
    return put_probability(output, at, probability)


@njit_inline
def put_decision(
    output: Bytes, at: int, texts: DecisionTexts, topics: BinaryArray, document: int, lane: int
) -> int:
    """Write what a lane decided; return where it ends.

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
    if len(texts.before_certainty) > 0:
        at = put(output, at, texts.before_certainty, 0, len(texts.before_certainty))
        at = put_probability(output, at, texts.certainty[document, lane])
    if texts.marks[lane] and len(texts.before_review) > 0:
        at = put(output, at, texts.before_review, 0, len(texts.before_review))
        word = TRUE if texts.review[document, lane] else FALSE
        at = put(output, at, word, 0, len(word))
    return at


def decision_bytes(texts: DecisionTexts, topics: BinaryArray) -> int:
    """Return an upper bound on the bytes of all decisions."""
    used = texts.assigned[texts.assigned >= 0]
    names = topics.offsets[used + 1] - topics.offsets[used]
    keys = (texts.before_assigned, texts.before_certainty, texts.before_review)
    probabilities = CANDIDATES * (len(BEFORE_PROBABILITY) + PROBABILITY_BYTES)
    fixed = probabilities + sum(map(len, keys)) + PROBABILITY_BYTES + len(FALSE) + 2
    events = int(texts.assigned.shape[0] * texts.assigned.shape[1])
    return int(names.sum()) + len(used) + events * fixed


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
