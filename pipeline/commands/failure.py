"""Ending a command with a message and an exit code."""

from __future__ import annotations

from typing import NoReturn

import typer

from pipeline.printable import printable


def fail(message: str, code: int = 2) -> NoReturn:
    """End the program with a message on standard error; 2 is the exit code of wrong usage."""
    # Some messages have several lines, all but the first indented. Other line ends come from names.
    lines = (printable(line) for line in message.split("\n  "))
    typer.echo("wirerank: " + "\n  ".join(lines), err=True)
    raise typer.Exit(code)
