"""Logs that the broker does not answer, and that it answers again."""

from __future__ import annotations

import logging
import time

log = logging.getLogger(__name__)


class BrokerOutage:
    """The time during which a broker does not answer: logged when it begins and when it ends."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._since: float | None = None

    def begin(self, reason: str) -> None:
        """Log that the broker does not answer, unless that is known."""
        if self._since is None:
            self._since = time.monotonic()
            log.warning("waiting for the broker at %s: %s", self._bootstrap, reason)

    def end(self) -> None:
        """Log that the broker answers again, if it did not."""
        if self._since is not None:
            seconds = time.monotonic() - self._since
            log.warning("the broker at %s answers again after %.1f s", self._bootstrap, seconds)
            self._since = None
