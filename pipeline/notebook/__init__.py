"""Replays in notebooks and programs: documents with their rankings, curves as arrays, plots."""

from pipeline.notebook.replay import Replay

__all__ = ["Replay"]
