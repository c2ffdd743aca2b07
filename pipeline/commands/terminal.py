"""The progress of a run, shown on standard error."""

from __future__ import annotations

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from pipeline.printable import printable_lines
from pipeline.replay.progress import Progress


class TerminalProgress(Progress):
    """Writes lines to standard error; on a terminal, with a progress bar below them."""

    def __init__(self, quiet: bool = False, bar: bool = True, unit: str = "events") -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self._wants_bar = bar
        self._unit = unit
        self._bar: rich.progress.Progress | None = None

    def say(self, line: str) -> None:
        """Write a line above the progress bar."""
        self._console.print(printable_lines(line), markup=False)

    def warn(self, line: str) -> None:
        """Write a line, also if everything else is quiet."""
        quiet, self._console.quiet = self._console.quiet, False
        self._console.print(printable_lines(f"wirerank: {line}"), markup=False)
        self._console.quiet = quiet

    def begin(self, total: int | None) -> None:
        """Show the progress bar, if standard error is a terminal."""
        if not self._console.is_terminal or self._console.quiet or not self._wants_bar:
            return
        self._bar = rich.progress.Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task(self._unit, total=total, rate="")
        self._bar.start()

    def advance(self, events: int) -> None:
        """Move the progress bar."""
        if self._bar is not None:
            elapsed = self._bar.tasks[0].elapsed or 0.0
            rate = f"{events / elapsed:,.0f}/s" if elapsed else ""
            self._bar.update(self._task, completed=events, rate=rate)

    def end(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
