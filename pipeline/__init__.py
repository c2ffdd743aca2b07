"""From text events to topic rankings and learning curves, in one process.

For notebooks and programs it offers `Replay`, `save` and `load`. They are imported when they are
first used, so that importing a part of this package stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.learner_files import load, save
    from pipeline.notebook import Replay

__all__ = ["Replay", "load", "save"]

_HOMES = {
    "Replay": "pipeline.notebook",
    "load": "pipeline.learner_files",
    "save": "pipeline.learner_files",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class or a function
    if name not in _HOMES:
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
