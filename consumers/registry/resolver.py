"""Finds the schemas of records before the records are decoded, and waits for a registry.

Decoding has a time limit, after which the process is taken for hung. So nothing is asked then: all
schemas of the records that were polled are known before, or the records are polled again later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from consumers.registry.client import FoundSchema, RegistryClient
from consumers.registry.http_client import RegistryAwayError
from consumers.registry.schema_cache import SchemaCache
from consumers.registry_settings import RegistrySettings
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from consumers.task import Task
from pipeline.events.event import MalformedEvent
from pipeline.events.schema_ids import RegisteredSchema

log = logging.getLogger(__name__)

MAX_IDS = 32  # that the records of one poll may have; others are polled again
WAIT_SECONDS = 0.1
CHECK_SECONDS = 5.0
MAX_LOGGED = 10  # different reasons, while the registry is away
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 5.0


class SchemaResolver:
    """The schemas of the records that are decoded next."""

    def __init__(
        self, settings: RegistrySettings, moved: Callable[[], None] = lambda: None
    ) -> None:
        self._settings = settings
        self._moved = moved  # is called while the registry is asked
        self._client = RegistryClient(settings)
        self._cache = SchemaCache()
        self._current: dict[int, FoundSchema] = {}
        self._away_since: float | None = None
        self._logged = set[str]()  # why the registry is away
        self._pause = FIRST_PAUSE_S

    @property
    def is_away(self) -> bool:
        """Whether the registry gave no answer when it was asked last."""
        return self._away_since is not None

    def check(self) -> None:
        """Raise `RefusedError` if the address or the password is certainly wrong."""
        client = RegistryClient(self._settings)
        try:
            Task("asking the Schema Registry", client.check).result(CHECK_SECONDS)
        except TimeoutError:
            client.abort()
        else:
            client.close()

    def begin(self) -> None:
        """Forget which schemas the records before had; the cache keeps them."""
        self._current = {}

    def resolve(self, ids: Iterable[int | None], stop: threading.Event) -> int:
        """Find the schemas of records, in their order; returns how many can be decoded.

        Raises `RegistryAwayError` if the registry gives no answer.
        """
        count = 0
        for id_ in ids:
            if id_ is not None and id_ not in self._current:
                if len(self._current) >= MAX_IDS:
                    break
                found = self._cache.get(id_)
                if found is None:
                    found = self._ask(id_, stop)
                    self._cache.put(id_, found)
                self._current[id_] = found
            count += 1
        return count

    def lookup(self, id_: int) -> RegisteredSchema:
        """The schema of an id that was resolved; raises `MalformedEvent` if there is none."""
        found = self._current[id_]
        if found.schema is None:
            reason, detail = found.refusal or ("unknown_schema", f"there is no schema {id_}")
            raise MalformedEvent(reason, detail)
        return found.schema

    def _ask(self, id_: int, stop: threading.Event) -> FoundSchema:
        """Ask the registry in a thread, so that a request that hangs does not hinder a stop."""
        client = self._client
        # A schema with its references takes several requests, each with a limit of its own.
        seconds = 2 * self._settings.timeout_seconds
        until = time.monotonic() + seconds
        task = Task("asking the Schema Registry", lambda: client.schema(id_))
        while not task.done(WAIT_SECONDS):
            self._moved()
            if stop.is_set() or time.monotonic() > until:
                client.abort()
                self._client = RegistryClient(self._settings)
                raise RegistryAwayError(f"no answer within {seconds:g} s")
        return task.result(0)

    def is_back(self) -> None:
        """Log that the registry answers again, if it did not."""
        if self._away_since is not None:
            seconds = time.monotonic() - self._away_since
            log.warning(
                "the Schema Registry at %s answers again after %.1f s", self._settings.url, seconds
            )
            self._away_since, self._pause = None, FIRST_PAUSE_S

    def wait(self, error: RegistryAwayError, stop: threading.Event) -> None:
        """Log that the registry is away and why, unless that is known, and pause."""
        if stop.is_set():
            return
        if self._away_since is None:
            self._away_since, self._logged = time.monotonic(), set()
        reason = str(error)
        if reason not in self._logged and len(self._logged) < MAX_LOGGED:
            self._logged.add(reason)
            log.warning("waiting for the Schema Registry at %s: %s", self._settings.url, reason)
        stop.wait(self._pause)
        self._pause = min(2 * self._pause, MAX_PAUSE_S)

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def new_resolver(
    config: Config, stream: StreamSettings, moved: Callable[[], None] = lambda: None
) -> SchemaResolver | None:
    """The resolver of a stream, or None if the stream needs no schemas.

    Raises `RefusedError` if the address or the password of the registry is certainly wrong.
    """
    if not stream.needs_registry:
        return None
    resolver = SchemaResolver(config.registry, moved)
    resolver.check()
    return resolver
