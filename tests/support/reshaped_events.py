"""Native events in other shapes, each with the field mapping that reads the shape."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from random import Random
from typing import Any

import orjson

from pipeline.events.paths import EACH, Step, join_path
from pipeline.events.record import Record

KEYS = (
    "articleId",
    "a",
    "dc:title",
    "en.us",
    "@type",
    "",
    "körper",
    "x y",
    'q"uote',
    "[0]",
    "meta",
)
WORDS = ("wheat", "Zürich", "oil & gas", "a<b", "rose", "C++", "\U0001f600", "it's", "1,000")
TOPICS = ("grain", "ship", "money-fx", "中国", "7", "a b")


def random_document(rng: Random, number: int) -> dict[str, Any]:
    """A native event: a document or a late label."""
    event: dict[str, Any] = {"id": rng.choice((number, f"n{number}"))}
    kind = rng.random()
    if kind < 0.75:
        event["text"] = " ".join(rng.choices(WORDS, k=rng.randrange(1, 30)))
        if rng.random() < 0.5:
            event["title"] = " ".join(rng.choices(WORDS, k=4))
    elif kind < 0.85:
        event["features"] = {word: rng.randrange(1, 9) / 4 for word in rng.sample(WORDS, 3)}
    if rng.random() < 0.7 or kind >= 0.85:
        event["topics"] = rng.sample(TOPICS, rng.randrange(4))
    if rng.random() < 0.4:
        event["rank"] = rng.randrange(1, 6)
    if rng.random() < 0.6:
        event["time"] = datetime.fromtimestamp(rng.randrange(2**31), UTC).isoformat()[:19] + "Z"
    return event


class Shape:
    """One way to write events: where each field goes. Made at random."""

    def __init__(self, rng: Random, kafka: bool = True) -> None:
        self._rng = rng
        self._first: set[str] = set()
        self.unwrap = [rng.choice(KEYS), "after"] if rng.random() < 0.3 else []
        self.paths: dict[str, list[Step]] = {
            name: self._path() for name in ("id", "title", "text", "features", "rank", "time")
        }
        self.topics = rng.choice(("list", "objects", "delimited", "header" if kafka else "list"))
        self.paths["topics"] = self._path()
        self.html = rng.random() < 0.5
        self.seconds = rng.random() < 0.5
        self.key = kafka and rng.random() < 0.4
        self.settings = self._settings()

    def _path(self) -> list[Step]:
        """A path whose first key no other path has, so that no two of them collide."""
        first = f"{self._rng.choice(KEYS)}{len(self._first)}"
        self._first.add(first)
        return [first, *self._rng.choices((*KEYS, 0, 2), k=self._rng.randrange(3))]

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {name: join_path(path) for name, path in self.paths.items()}
        if self.topics == "objects":
            settings["topics"] = join_path([*self.paths["topics"], EACH, "slug"])
        elif self.topics == "delimited":
            settings["topics"] = {"path": join_path(self.paths["topics"]), "separator": "|"}
        elif self.topics == "header":
            settings["topics"] = {"path": "@header.x-topics", "separator": "|"}
        if self.html:
            settings["text"] = {"path": settings["text"], "html": True}
        if self.seconds:
            settings["time"] = {"path": settings["time"], "format": "seconds"}
        if self.key:
            settings["id"] = "@key"
        if self.unwrap:
            settings["unwrap"] = join_path(self.unwrap)
        return settings

    def native(self, event: dict[str, Any]) -> dict[str, Any]:
        """The native event that this shape can carry: it may not tell no topics from no label."""
        if self.topics in ("delimited", "header") and not event.get("topics"):
            if len(event.keys() - {"id", "time", "topics"}) == 0:
                event["topics"] = ["grain"]
            else:
                event.pop("topics", None)
        if self.html and "text" in event:
            event["text"] = " ".join(event["text"].split())
        if self.key:
            event["id"] = str(event["id"])
        return event

    def write(self, event: dict[str, Any], **place: Any) -> Record:  # noqa: ANN401
        """A record that has the event in this shape."""
        written: dict[str, Any] = {}
        headers = [("trace", b"\xff")]
        for name, value in event.items():
            shaped = value
            if name == "topics":
                if self.topics == "header":
                    headers.append(("x-topics", " | ".join(value).encode()))
                    continue
                shaped = [{"slug": topic, "n": 1} for topic in value]
                shaped = {"objects": shaped, "delimited": "|".join(value)}.get(self.topics, value)
            elif name == "text" and self.html:
                shaped = f"<div><p>{html.escape(value)}</p>"
            elif name == "time" and self.seconds:
                shaped = int(datetime.fromisoformat(value).timestamp())
            elif name == "id" and self.key:
                continue
            put(written, self.paths[name], shaped)
        if event.keys() & {"text", "title", "features"}:
            written["unmapped"] = {"desk": 5}  # documents may have other keys
        for outer in reversed(self.unwrap):
            written = {outer: written, "op": "c"}
        key = str(event["id"]).encode() if self.key else b"\xff\x00"
        return Record(orjson.dumps(written), key, 5, headers, **place)


def put(into: dict[str, Any], path: list[Step], value: object) -> None:
    """Put a value under a path of an object, with lists where the path has numbers."""
    for step in reversed(path[1:]):
        value = {step: value} if isinstance(step, str) else [None] * int(str(step)) + [value]
    into[str(path[0])] = value
