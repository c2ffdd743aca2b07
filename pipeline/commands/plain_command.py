"""How the usage line of a command looks."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class PlainCommand(TyperCommand):
    """A command whose usage line shows required arguments as SOURCE, not as {SOURCE}."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own type
        """The words of the usage line after the name of the command."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]
