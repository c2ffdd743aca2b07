"""Notice early that hardly any event of an input can be used, and say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pipeline.events.sniffing import explain_sample
from pipeline.printable import printable

FIRST_EVENTS = 100  # after so many events the first judgement is made
WINDOW_EVENTS = 1000  # later ones are made for so many events each
MOST_WINDOWS = 1000  # between two warnings
UNUSABLE_SHARE = 0.9
NO_FAULT = ("tombstone", "deletion")  # reasons that say nothing about the format


class Usability:
    """Counts the events of an input that cannot be used.

    Warnings about the same state get rarer and rarer, so that they do not flood a log.
    """

    def __init__(self, kafka: bool) -> None:
        self._kafka = kafka
        self._events = 0  # of the current window
        self._reasons: Counter[str] = Counter()
        self._sample: tuple[bytes, str] = b"", ""  # the first event and its detail
        self._size = FIRST_EVENTS
        self._silent = 0  # windows without a warning that follow
        self._pause = 1

    def note(self, events: int, refused: Iterable[tuple[str, str, bytes]]) -> str | None:
        """Take note of events, and of reason, detail and value of those that cannot be used.

        Returns a warning if it is time for one.
        """
        for reason, detail, value in refused:
            if reason in NO_FAULT:
                events -= 1
                continue
            if not self._reasons:
                self._sample = value, detail
            self._reasons[reason] += 1
        self._events += events
        return self.judge() if self._events >= self._size else None

    def end(self) -> str | None:
        """Return a warning about an input that ended before anything was said about it."""
        return self.judge() if self._size == FIRST_EVENTS else None

    def judge(self) -> str | None:
        """End the window, and return a warning if hardly anything in it can be used."""
        events, reasons = self._events, self._reasons
        self._events, self._reasons, self._size = 0, Counter(), WINDOW_EVENTS
        if not events or reasons.total() < UNUSABLE_SHARE * events:
            self._silent, self._pause = 0, 1
            return None
        if self._silent:
            self._silent -= 1
            return None
        self._silent, self._pause = self._pause, min(10 * self._pause, MOST_WINDOWS)
        counts = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common(3))
        value, detail = self._sample
        looks = explain_sample(value, self._kafka)
        warning = f"{reasons.total():,} of {events:,} events cannot be used ({counts})."
        lines = (warning, looks, f"The first one: {detail}")
        return "\n  ".join(printable(line) for line in lines if line)  # keys may have line ends
