"""The command line as tests use it: in a folder of its own, in this process or in another."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
from typer import Typer
from typer.testing import CliRunner, Result

from pipeline.commands.app import new_app

APP = new_app()
WIRERANK = [sys.executable, "-m", "pipeline"]
EVENTS = [
    {"id": "1", "text": "wheat harvest", "topics": ["grain"]},
    {"id": "2", "title": "Oil price", "topics": ["crude"], "time": "1987-02-26T15:01:01Z"},
    {"id": "3", "text": "wheat price"},
    {"id": "4", "features": {"oil": 2.0}, "topics": []},
    {"id": "3", "topics": ["grain", "trade"]},
]


def wirerank(*arguments: str, app: Typer = APP) -> Result:
    return CliRunner().invoke(app, arguments)


def write_events(name: str = "events.jsonl", events: list[dict[str, object]] = EVENTS) -> str:  # type: ignore[assignment]
    Path(name).write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
    return name
