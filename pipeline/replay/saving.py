"""Saving the model of a replay: at the end, and every so many documents."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pipeline.engine.engine import Engine
from pipeline.events.dead_letters import DeadLetterFile
from pipeline.log.read_events import ReadEvents
from pipeline.models.model import InputSettings, RunState, take_model
from pipeline.models.model_file import write_model
from pipeline.replay.progress import Progress
from pipeline.replay.rankings_output import RankingsOutput


class ModelSaver:
    """Saves the model of a run between two blocks. Without a path it does nothing."""

    def __init__(
        self,
        path: Path | None,
        every: int,
        engine: Engine,
        input_: InputSettings,
        dead_letters: DeadLetterFile,
        rankings: RankingsOutput | None,
        read: ReadEvents,
    ) -> None:
        self._path = path
        self._every = every
        self._engine = engine
        self._input = input_
        self._dead_letters = dead_letters
        self._rankings = rankings
        self._read = read  # up to the last block
        self._next = engine.documents + every
        self._is_saved = False

    def note(self, read: ReadEvents | None, progress: Progress) -> None:
        """Take note of a block that is learned and written; save the model if that is due."""
        if self._path is None or read is None:
            return
        self._read, self._is_saved = read, False
        if not self._every or self._engine.documents < self._next:
            return
        self._next = self._engine.documents + self._every
        try:
            self._save(self._path, progress.say)
        except OSError as error:
            progress.warn(
                f"the model cannot be saved to {self._path}: {error.strerror}. The run goes on, "
                "and tries it again later."
            )

    def finish(self, progress: Progress) -> None:
        """Save the model at the end of the run; raises OSError if it cannot be written."""
        if self._path is not None and not self._is_saved:
            self._save(self._path, progress.say)

    def _save(self, path: Path, say: Callable[[str], None]) -> None:
        began = time.perf_counter()
        rankings = None if self._rankings is None else self._rankings.flushed()
        run = RunState(self._read, self._dead_letters.counts, rankings)
        write_model(path, take_model(self._engine, self._input, run))
        self._is_saved = True
        seconds, size = time.perf_counter() - began, path.stat().st_size
        say(
            f"model saved: {path}, {self._engine.documents:,} documents, {size:,} bytes, "
            f"{seconds:.2f} s"
        )
