"""A run as somebody at a terminal follows it."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pipeline.replay.watch import Watch


class TerminalWatch(Watch):
    """Narration on standard error: lines in a log; on a terminal a progress bar below them."""

    def __init__(self, quiet: bool = False, bar: bool = True, unit: str = "events") -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self._bar = bar
        self._unit = unit
        self._progress: Progress | None = None

    def say(self, line: str) -> None:
        """Write a line above the progress bar."""
        self._console.print(line, markup=False)

    def begin(self, total: int | None) -> None:
        """Show the progress bar, if somebody can see it."""
        if not self._console.is_terminal or self._console.quiet or not self._bar:
            return
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task(self._unit, total=total, rate="")
        self._progress.start()

    def advance(self, events: int) -> None:
        """Move the progress bar."""
        if self._progress is not None:
            elapsed = self._progress.tasks[0].elapsed or 0.0
            rate = f"{events / elapsed:,.0f}/s" if elapsed else ""
            self._progress.update(self._task, completed=events, rate=rate)

    def end(self) -> None:
        """Take the progress bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
