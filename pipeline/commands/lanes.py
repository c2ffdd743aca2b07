"""`wirerank lanes`: the learners that a lane can have."""

from __future__ import annotations

import typer

from learners.specs import LEARNERS, options_of


def lanes_command() -> None:
    """List the learners that lanes can have, and their options."""
    for name, learner in LEARNERS.items():
        typer.echo(f"{name}: {learner.summary}")
        rows = [
            (f"  {option.name}={option.default}", option.help, f"({option.rule})")
            for option in options_of(name)
        ]
        width = max(len(first) for first, *_ in rows)
        for first, meaning, rule in rows:
            typer.echo(f"{first.ljust(width)}  {meaning} {rule}")
