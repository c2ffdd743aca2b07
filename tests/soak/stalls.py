"""How long rankings stood still, and which part of that no fault explains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

CALM = "calm"  # an entry of the journal: no faults, until the workers have caught up

SHORT_S = 5.0  # a stall that nobody asks the faults about


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which documents waited and no ranking of a lane appeared."""

    began: float
    ended: float
    quiet: float  # the longest part of it without a fault

    @property
    def seconds(self) -> float:
        return self.ended - self.began


def lane_stalls(
    passages: Iterable[tuple[float, float]],
    faults: Sequence[dict[str, Any]],
    started: float = float("-inf"),
) -> list[Stall]:
    """The stalls of a lane, from when each document arrived and when its ranking appeared.

    What was before the workers had `started` does not count.

    >>> [round(stall.seconds) for stall in lane_stalls([(0, 1), (2, 9), (8, 10), (30, 31)], [])]
    [1, 7, 1, 1]
    """
    by_end = sorted(passages, key=lambda passage: passage[1])
    waiting_since = float("inf")
    earliest: list[float] = []  # by place: when the first of these documents and later ones arrived
    for arrived, _ in reversed(by_end):
        waiting_since = min(waiting_since, arrived)
        earliest.append(waiting_since)
    earliest.reverse()
    stalls, last = [], float("-inf")
    for (_, appeared), since in zip(by_end, earliest, strict=True):
        began = max(last, since, started)
        if appeared > began:
            longest = appeared - began
            quiet = quiet_part(began, appeared, faults) if longest > SHORT_S else longest
            stalls.append(Stall(began, appeared, quiet))
        last = max(last, appeared)
    return stalls


def quiet_part(began: float, ended: float, faults: Sequence[dict[str, Any]]) -> float:
    """The longest part of an interval in which no fault was active.

    >>> quiet_part(0, 100, [{"began": 10, "ended": 30}, {"began": 20, "ended": 80}])
    20
    """
    if not faults:
        return ended - began
    at, longest = began, 0.0
    for fault in sorted(faults, key=lambda entry: float(entry["began"])):
        if fault["began"] >= ended:
            break
        longest = max(longest, fault["began"] - at)
        at = max(at, fault.get("ended", fault["began"]))
    return max(longest, ended - at)


def fault_gaps(journal: Sequence[dict[str, Any]]) -> float:
    """The longest time without a fault between the first and the last."""
    faults = [entry for entry in journal if entry.get("number") and "ended" in entry]
    if not faults:
        return 0.0
    began, ended = (pick(f[n] for f in faults) for pick, n in ((min, "began"), (max, "ended")))
    return round(quiet_part(began, ended, faults), 1)


def recoveries(journal: Sequence[dict[str, Any]]) -> list[float]:
    """How long each calm took until the workers had caught up."""
    calms = [entry for entry in journal if entry.get("kind") == CALM]
    return [round(entry["ended"] - entry["began"], 1) for entry in calms]
