"""The same documents as native events and in other formats, and their rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings

LANES = ("mmp:loss=1", "perceptron")


def documents(count: int = 60) -> list[dict[str, Any]]:
    """Labelled documents with texts that every format must quote."""
    signs = (
        "Wheat, corn & ships;",
        'He said "no"',
        "two\nlines",
        "Z\u00fcrich \u20ac",
        "a | b <c>",
    )
    found = []
    for number, raw in enumerate(SyntheticNewswire(documents=count, topics=20, seed=3)):
        event = orjson.loads(raw)
        event["id"] = f"n{number}"
        event["title"] = f"{event.get('title', 'title')} {signs[number % len(signs)]}"
        found.append({key: event[key] for key in ("id", "title", "text", "topics")})
    return found


def native(path: Path, events: list[dict[str, Any]]) -> str:
    """A file of native events."""
    path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
    return str(path)


def rankings(folder: Path, source: str, **settings: Any) -> bytes:  # noqa: ANN401
    """The rankings of a source; no event of it may be a dead letter."""
    path = folder / "rankings.jsonl"
    result = replay(
        ReplaySettings(
            source=source, lanes=LANES, rankings=path, top=0, dead_letters=folder / "dead.jsonl",
            **settings,
        ),
        Progress(),
    )  # fmt: skip
    assert result.failure is None
    assert not result.dead_letters.counts
    return path.read_bytes()
