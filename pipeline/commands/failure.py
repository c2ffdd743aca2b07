"""Ending a command with a message and an exit code."""

from __future__ import annotations

from typing import NoReturn

import typer


def fail(message: str, code: int = 2) -> NoReturn:
    """End the program with a message on standard error; 2 is the exit code of wrong usage."""
    typer.echo(f"wirerank: {message}", err=True)
    raise typer.Exit(code)
