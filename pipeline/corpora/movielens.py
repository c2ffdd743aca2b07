"""MovieLens as a stream of ranks: one viewer's ratings, predicted from the other viewers' ratings.

This follows the experiments of Crammer and Singer (2001) with EachMovie, which has been withdrawn.
The ratings of a target viewer are the ranks. The features of a film are the other viewers' ratings
of it, centred so that a missing rating is 0. EachMovie's scores range from 0 to 1, so stars are
scaled to a range of that width: from -0.5 for one star to 0.5 for five. (The width matters to
PRank, whose thresholds move by one whatever the features are.) The middle of EachMovie's scale lies
between two of its six scores; here it is 3 stars, so a rating of 3 counts like a missing one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt
import orjson

from pipeline.corpora.corpus_files import open_files
from pipeline.corpora.source import SourceError

SEPARATORS = {"u.data": b"\t", "ratings.dat": b"::"}  # of MovieLens 100K and 1M
STARS = (1, 5)
MIDDLE, WIDTH = 3, 4
OTHERS = ("all", "earlier")
MOST_DIGITS = 11  # of any number in the files; times have ten, eleven stay below the year 9999

Numbers = npt.NDArray[np.int64]


class MovieLens:
    """Source of the ratings of one viewer, in order of time, then of the film's number.

    The target is the viewer `user`, or by default the `nth` most active one (of equally active
    ones the one with the lowest number). Viewers with fewer than `least` ratings are ignored. As in
    the paper all ratings of the other viewers are features, whenever they were given; with
    `others="earlier"` only those that were given before the target's rating.
    """

    def __init__(
        self,
        path: Path,
        user: int | None = None,
        nth: int = 1,
        least: int = 1,
        others: str = "all",
    ) -> None:
        if others not in OTHERS:
            raise SourceError(
                f"movielens: others={others!r} is not known; choose {' or '.join(OTHERS)}"
            )
        ratings = ratings_in(path)
        viewers, counts = np.unique(ratings[:, 0], return_counts=True)
        active = viewers[counts >= least]
        self._others = others
        self._target = user if user is not None else nth_most_active(viewers, counts, nth)
        if self._target not in active:
            raise SourceError(
                f"{path} has no viewer {self._target} with at least {least} ratings; "
                f"{len(active):,} viewers have that many, and viewers are numbered "
                f"{viewers.min()} to {viewers.max()}"
            )
        films = ratings[ratings[:, 0] == self._target]
        self._films = films[np.lexsort((films[:, 1], films[:, 3]))]
        wanted = np.isin(ratings[:, 0], active[active != self._target])
        wanted &= np.isin(ratings[:, 1], films[:, 1])
        given = ratings[wanted]
        self._given = given[np.lexsort((given[:, 0], given[:, 1]))]  # by film, then by viewer

    @property
    def topics(self) -> Sequence[str]:
        """Empty: the labels are ranks."""
        return ()

    @property
    def total(self) -> int:
        """The number of films that the target has rated."""
        return len(self._films)

    def __iter__(self) -> Iterator[bytes]:
        for _, film, stars, seconds in self._films.tolist():
            start, stop = np.searchsorted(self._given[:, 1], [film, film + 1])
            features = {
                str(viewer): (rating - MIDDLE) / WIDTH
                for viewer, _, rating, then in self._given[start:stop].tolist()
                if rating != MIDDLE and (self._others == "all" or then < seconds)
            }
            yield orjson.dumps(
                {
                    "id": f"{self._target}-{film}",
                    "features": features,
                    "rank": stars,
                    "time": f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}Z",
                }
            )


def ratings_in(path: Path) -> Numbers:
    """The ratings in a folder or archive, one per row: viewer, film, stars and time."""
    files = open_files(path, lambda name: PurePosixPath(name).name in SEPARATORS)
    if len(files.names) != 1:
        found = ", ".join(files.names) or "none"
        raise SourceError(
            f"{path}: expected one u.data (MovieLens 100K) or ratings.dat (1M), found {found}"
        )
    (name,) = files.names
    return read_ratings(name, files.read(name))


def nth_most_active(viewers: Numbers, counts: Numbers, nth: int) -> int:
    """The viewer with the n-th most ratings; of equal ones the lower number is first."""
    if not 1 <= nth <= len(viewers):
        raise SourceError(
            f"nth={nth} is out of range; expected 1 to {len(viewers):,}, the number of viewers"
        )
    return int(viewers[np.lexsort((viewers, -counts))[nth - 1]])


def read_ratings(name: str, data: bytes) -> Numbers:
    """The ratings of a file, one per row: viewer, film, stars and time."""
    separator = SEPARATORS[PurePosixPath(name).name]
    numbers = array("q")
    for number, line in enumerate(data.splitlines(), start=1):
        fields = line.split(separator)
        if len(fields) != 4 or not all(f.isdigit() and len(f) <= MOST_DIGITS for f in fields):
            shown = line[:80].decode("latin-1")
            raise SourceError(
                f"{name}, line {number}: expected viewer, film, stars and time as whole numbers "
                f"with {separator.decode()!r} between them, found {shown!r}"
            )
        rating = [int(field) for field in fields]
        if not STARS[0] <= rating[2] <= STARS[1]:
            raise SourceError(f"{name}, line {number}: expected 1 to 5 stars, found {rating[2]}")
        numbers.extend(rating)
    if not numbers:
        raise SourceError(f"{name} has no ratings; expected one per line")
    return np.array(numbers, np.int64).reshape(-1, 4)
