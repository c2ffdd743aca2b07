"""What all sections of the configuration have in common."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section of the configuration: unknown keys are refused, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def expanded(path: Path) -> Path:
    """A path that may begin with `~`, the home folder."""
    try:
        if "\0" in str(path):
            raise RuntimeError("a path has no null byte")
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError(f"{path} cannot be used: {error}; write an absolute path") from None
