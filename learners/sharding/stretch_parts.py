"""What shards send each other about a stretch: how it is written, and checked when it is read.

Every part begins with a digest of what all shards must agree on. A shard believes the scores of
others without computing them again. But no number may lead a kernel astray.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, TypeVar

import numpy as np

from learners.arrays import Bytes, Floats, Ints, Longs
from learners.jit import njit
from learners.sharding.exchange import DisagreementError
from learners.sharding.lessons import Offers
from learners.sharding.sparse_stretch import (
    Lessons,
    Parcel,
    Scoring,
    coded_columns_size,
    decoded,
)
from learners.sharding.topic_slice import owned

DIGEST_BYTES = 16
SHORT_COLUMNS = 1 << 16  # that many columns or fewer are numbered by two bytes

Numbers = TypeVar("Numbers", Ints, Floats, Bytes)


class Place(NamedTuple):
    """Where in the stream an exchange happens, for messages."""

    shard: int
    shards: int
    exchange: int
    rounds: int


def check_digest(place: Place, sender: int, part: bytes, digest: bytes) -> memoryview:
    """Return a part without its digest; raise DisagreementError if the digest differs."""
    if part[:DIGEST_BYTES] != digest:
        raise DisagreementError(
            f"shards {place.shard} and {sender} of {place.shards} do not compute the same, as "
            f"exchange {place.exchange} shows, in round {place.rounds}. All shards need the same "
            "version, the same configuration, and machines of one kind (logarithms may differ in "
            "their last bit between processors)."
        )
    return memoryview(part)[DIGEST_BYTES:]


def refuse(place: Place, sender: int, found: str, expected: str) -> DisagreementError:
    """Return the error for a part that no shard can have computed."""
    return DisagreementError(
        f"shard {sender} of {place.shards} sent {found} in exchange {place.exchange}, expected "
        f"{expected}. Start all shards over: empty their snapshot folders, and delete the scores "
        "topic."
    )


def read_numbers(place: Place, sender: int, data: memoryview, count: int) -> Floats:
    """Return the numbers of a part; raise DisagreementError unless they are so many and finite."""
    expected = f"{count} finite numbers of 8 bytes"
    if len(data) != 8 * count:
        raise refuse(place, sender, f"{len(data)} bytes", expected)
    numbers = np.frombuffer(data)
    if not np.isfinite(numbers).all():
        raise refuse(place, sender, "numbers that are not finite", expected)
    return numbers


def column_size(topics: int, shards: int) -> int:
    """Return how many bytes the number of a column takes."""
    return 2 if owned(topics, 0, shards) <= SHORT_COLUMNS else 4


def write_parcel(parcel: Parcel, size: int) -> bytes:
    """Return what a shard sends as bytes."""
    columns = parcel.columns.astype(np.dtype(f"<u{size}"))
    return b"".join(array.tobytes() for array in parcel._replace(columns=columns))


def read_offers(
    place: Place, sender: int, data: memoryview, lessons: Lessons, topics: int, scoring: Scoring
) -> Offers:
    """Return the offers of a shard; raise DisagreementError if no shard can have made them."""
    count, shards = len(lessons.row), place.shards
    size, expected = column_size(topics, shards), f"scores for {count} lessons"
    if len(data) < 16 * count:
        raise refuse(place, sender, f"{len(data)} bytes", expected)
    exact, coded = np.frombuffer(data[: 8 * count], np.uint32).reshape(2, count)
    bounds = np.frombuffer(data[8 * count : 16 * count])
    widths = (lessons.known - sender + shards - 1) // shards
    if (exact.astype(np.int64) + coded > widths).any():
        raise refuse(place, sender, "more topics than exist", expected)
    map_sizes = np.minimum(coded.astype(np.int64) * size, (widths + 7) // 8)
    exacts, codeds = int(exact.sum()), int(coded.sum())
    sizes = (16 * count, 8 * exacts, size * exacts, exacts, 4 * codeds, int(map_sizes.sum()))
    ends = list(accumulate(sizes))
    if len(data) != ends[-1]:
        raise refuse(place, sender, f"{len(data)} bytes", f"{ends[-1]} bytes")
    # A bound of -inf says that no topic is left out.
    if np.isnan(bounds).any() or (scoring.least - bounds <= scoring.limits).any():
        raise refuse(place, sender, "bounds that are too high", expected)
    scores = np.frombuffer(data[ends[0] : ends[1]])
    if not np.isfinite(scores).all():
        raise refuse(place, sender, "numbers that are not finite", expected)
    columns = np.frombuffer(data[ends[1] : ends[2]], np.dtype(f"<u{size}")).astype(np.uint32)
    level = np.frombuffer(data[ends[2] : ends[3]], np.uint8)
    codes = np.frombuffer(data[ends[3] : ends[4]], np.float32)
    places = np.frombuffer(data[ends[4] :], np.uint8)
    parcel = Parcel(exact, coded, bounds, scores, columns, level, codes, places)
    offers, valid = unpack(parcel, lessons, scoring, topics, sender, shards, size)
    if not valid:
        raise refuse(place, sender, "topics or codes that cannot be", expected)
    return offers


@njit
def unpack(
    parcel: Parcel, lessons: Lessons, scoring: Scoring, topics: int, shard: int, shards: int,
    size: int,
) -> tuple[Offers, bool]:  # fmt: skip
    """Return the offers of a shard, and whether they are valid. Sizes have been checked."""
    count = len(lessons.row)
    entries = len(parcel.scores) + len(parcel.codes)
    starts, found, valid = np.zeros(count + 1, np.int64), np.empty(entries, np.int32), True
    scores, doubts = np.empty(entries), np.zeros(entries)
    level = np.zeros(entries, np.uint8)
    seen = np.full(topics, -1, np.int64)  # the lesson that a topic was last seen in
    filled = exact = coded = place = 0
    columns = np.empty((topics + shards - 1) // shards, np.int64)
    for j in range(count):
        width = (lessons.known[j] - shard + shards - 1) // shards
        start = filled
        for _ in range(parcel.exact[j]):
            column = int(parcel.columns[exact])
            valid &= column < width
            found[filled], scores[filled] = column * shards + shard, parcel.scores[exact]
            label = lessons.label_starts[j] + int(parcel.level[exact]) - 1
            if parcel.level[exact] > 0:
                valid = valid and label < lessons.label_starts[j + 1]
                valid = valid and scoring.of_labels[label] == scores[filled]
                level[filled] = parcel.level[exact]
            exact += 1
            filled += 1
        kept = int(parcel.coded[j])
        room = coded_columns_size(kept, width, size)
        if room < kept * size:
            listed = 0
            for column in range(8 * room):
                if parcel.places[place + column // 8] & (1 << (column % 8)):
                    valid = valid and listed < kept and column < width
                    if listed < kept:
                        columns[listed] = column
                    listed += 1
            valid &= listed == kept
            columns[listed:kept] = 0
        else:
            for k in range(kept):
                column = 0
                for byte in range(size):
                    column |= int(parcel.places[place + k * size + byte]) << (8 * byte)
                valid &= column < width
                columns[k] = column
        place += room
        base = scoring.least[j] - scoring.margin
        for k in range(kept):
            found[filled] = columns[k] * shards + shard
            scores[filled], doubts[filled] = decoded(parcel.codes[coded], base)
            valid &= np.isfinite(scores[filled])
            coded += 1
            filled += 1
        if not valid:
            break
        for topic in lessons.labels[lessons.label_starts[j] : lessons.label_starts[j + 1]]:
            seen[topic] = j
        for topic in found[start:filled]:
            valid &= seen[topic] != j
            seen[topic] = j
        starts[j + 1] = filled
    return Offers(starts, found, scores, doubts, level, parcel.bounds.copy()), valid


@njit
def merged(starts: Longs, all_starts: Longs, numbers: Numbers) -> Numbers:
    """Return the entries of all shards, lesson by lesson in the order of the shards.

    Those of shard i and lesson j are at `all_starts[i, j]:all_starts[i, j + 1]`.
    """
    new = np.empty_like(numbers)
    for j in range(len(starts) - 1):
        filled = starts[j]
        for i in range(len(all_starts)):
            first, last = all_starts[i, j], all_starts[i, j + 1]
            new[filled : filled + last - first] = numbers[first:last]
            filled += last - first
    return new


def join_offers(parts: Sequence[Offers]) -> Offers:
    """Return the offers of all shards as one."""
    if len(parts) == 1:
        return parts[0]
    starts: Longs = np.sum([part.starts for part in parts], axis=0)
    offsets = np.cumsum([0, *(part.starts[-1] for part in parts[:-1])])
    all_starts = np.stack([part.starts for part in parts]) + offsets[:, None]
    return Offers(
        starts,
        merged(starts, all_starts, np.concatenate([part.topics for part in parts])),
        merged(starts, all_starts, np.concatenate([part.scores for part in parts])),
        merged(starts, all_starts, np.concatenate([part.doubts for part in parts])),
        merged(starts, all_starts, np.concatenate([part.level for part in parts])),
        np.max([part.bounds for part in parts], axis=0),
    )
