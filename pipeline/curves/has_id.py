"""What curves need of a document to name it later."""

from __future__ import annotations

from typing import Protocol


class HasId(Protocol):
    """A document or a late label."""

    @property
    def id(self) -> str | int:
        """The id of the document."""
