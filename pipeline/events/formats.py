"""The formats of incoming events, by the name that `--format` takes."""

from __future__ import annotations

from pipeline.events.event import Decoder, parse_event
from pipeline.events.ninjs import parse_ninjs

FORMATS: dict[str, Decoder] = {"wirerank": parse_event, "ninjs": parse_ninjs}
