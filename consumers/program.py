"""The entry point of `wirerank`: it imports the commands so that Ctrl-C shows no traceback."""

from __future__ import annotations

from pipeline.interruption import quiet_interrupts


def main() -> None:
    """Import the program, which takes a while, and run it."""
    with quiet_interrupts():
        from consumers.cli import main as run_program  # noqa: PLC0415 - slow to import
    run_program()
