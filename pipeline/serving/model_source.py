"""Loads the model that is served, and loads it again when its file or folder has changed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.models.frozen_lanes import load_frozen_lanes
from pipeline.ranking.rank import RankSettings, input_settings
from pipeline.serving.rank_request import Limits
from pipeline.serving.served_model import Reply, ServedModel
from pipeline.snapshots.folder import SUFFIX, Stamp, stamp_of
from pipeline.snapshots.new_deciders import new_deciders
from pipeline.storage.container import DamagedError

log = logging.getLogger(__name__)

State = tuple[tuple[str, Stamp], ...]


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where a model comes from, and how it is served."""

    path: Path
    lanes: tuple[str, ...]
    profile: str | None
    top: int
    limits: Limits

    def state(self) -> State:
        """Return something that differs as soon as there is another model."""
        try:
            if not self.path.is_dir():
                return ((str(self.path), stamp_of(self.path.stat())),)
            files = [
                file
                for pattern in (f"*{SUFFIX}", f"shards/*/*/*{SUFFIX}")
                for file in sorted(self.path.glob(pattern))
            ]
            return tuple((str(file), stamp_of(file.stat())) for file in files)
        except OSError:
            return ()  # a file was removed in this moment; the next look sees the rest

    def load(self, warn: Callable[[str], None]) -> ServedModel:
        """Load the newest model; raises UsageError or `DamagedError`."""
        state, now = self.state(), time.time()
        parts = load_frozen_lanes(self.path, self.lanes, warn)
        for part in parts:
            for warning in new_deciders(part.engine):
                warn(warning)
        saved = min(written(part.name, state, now) for part in parts)
        settings = RankSettings(self.path, lanes=self.lanes, profile=self.profile)
        profile = input_settings(settings, parts).profile
        return ServedModel(parts, profile, self.limits, self.top, saved)


def written(name: str, state: State, now: float) -> float:
    """Return when a file was written, or the snapshots of all shards in a folder.

    A file that is not in the state yet was written since then: `now` is when the state was taken.
    """
    newest: dict[str, float] = {}
    for path, stamp in state:
        if path == name or path.startswith(f"{name}/"):
            folder = path.rpartition("/")[0]
            newest[folder] = max(newest.get(folder, 0.0), stamp[1] / 1e9)
    return min(newest.values(), default=now)


class CurrentModel:
    """The model that answers now. A thread replaces it as a whole when there is a newer one."""

    def __init__(self, source: ModelSource, model: ServedModel, state: State) -> None:
        self._source = source
        self._state = state
        self._ended = threading.Event()
        self.model = model
        self.reloads = self.failures = 0

    def answer(self, bodies: Sequence[bytes]) -> list[Reply]:
        """Answer requests with the model that is the current one now."""
        return self.model.answer(bodies)

    def watch(self, every_seconds: float, say: Callable[[str], None]) -> None:
        """Look for a newer model, in a thread of its own, until `close` is called."""

        def look() -> None:
            while not self._ended.wait(every_seconds):
                self.refresh(say)

        threading.Thread(target=look, name="model", daemon=True).start()

    def refresh(self, say: Callable[[str], None]) -> None:
        """Load the model again if it has changed. If that fails, the present one stays."""
        state = self._source.state()
        if not state or state == self._state:
            return
        try:
            model = self._source.load(say)
        except (UsageError, DamagedError, OSError, MemoryError) as error:
            self.failures += 1
            say(f"the newer model cannot be served, so the present one stays: {error}")
        except Exception:
            self.failures += 1
            log.exception("the newer model cannot be served, so the present one stays")
        else:
            self.model = model
            self.reloads += 1
            say(f"serving a newer model: {model.documents:,} documents")
        self._state = state

    def close(self) -> None:
        """Stop looking for newer models."""
        self._ended.set()
