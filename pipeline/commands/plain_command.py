"""How the help of a command looks."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

from learners.options import MOST


class PlainCommand(TyperCommand):
    """A command whose help names arguments as SOURCE, not as {SOURCE} or SOURCE <str>."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own type
        """The words of the usage line after the name of the command."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the sections of arguments and options."""
        for title in ("Argument", "Option"):
            parameters = [p for p in self.get_params(ctx) if p.param_type_name == title.lower()]
            records = [record for p in parameters if (record := p.get_help_record(ctx))]
            if title == "Argument":
                records = [(name.partition(" <")[0], text) for name, text in records]
            if records:
                with formatter.section(f"{title}s"):
                    formatter.write_dl([(name, without_overflow(text)) for name, text in records])


def without_overflow(text: str) -> str:
    """The help of an option without a limit that only guards against overflow.

    >>> without_overflow("Read at most N events.  [default: 0; 0<=x<=2147483647]")
    'Read at most N events.  [default: 0]'
    >>> without_overflow("Keep at most N topics.  [1<=x<=2147483647]")
    'Keep at most N topics.'
    """
    text = re.sub(rf"  \[\d+<=x<={MOST}\]$", "", text)
    return re.sub(rf"; \d+<=x<={MOST}\]$", "]", text)
