"""Field mappings: settings, an event and what comes with it, all mutated."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import orjson

from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES, REASONS, MalformedEvent
from pipeline.events.fields import parse_fields
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record
from pipeline.events.sniffing import explain_sample
from tests.fuzz.mutation import JsonMutator, blown_up, keys_in
from tests.fuzz.target import Broken, Target, kind_of
from tests.fuzz.targets.events import check_round_trip

EXAMPLES: list[dict[str, Any]] = [
    {
        "fields": {
            "id": "articleId", "title": "headline", "topics": "tags[].slug", "rank": "priority",
            "text": ["lead", {"path": "body.html", "html": True}], "time": "published.at",
        },
        "event": {
            "articleId": 7, "headline": "Wheat up", "lead": "Prices rose.", "priority": "3",
            "body": {"html": "<p>Traders &amp; farmers</p>"}, "tags": [{"slug": "grain"}],
            "published": {"at": "1987-02-26T15:01:01Z"},
        },
    },
    {
        "fields": {
            "unwrap": "payload.after", "id": ["@key.id", "@key"], "text": "body",
            "time": {"path": "@envelope.payload.ts_ms", "format": "milliseconds"},
            "topics": {"path": "codes", "separator": ";"}, "ignore": ["v"],
        },
        "event": {"payload": {"after": {"body": "x", "codes": "a; b", "v": 1}, "op": "c",
                              "ts_ms": 541350061000}},
        "key": '{"id": 7}',
    },
    {
        "fields": {
            "id": "@origin", "title": "@header.h", "text": "@value", "features": [],
            "time": {"path": "when", "format": "%d.%m.%Y %H:%M", "zone": "Europe/Zurich"},
        },
        "event": {"when": "26.02.1987 15:01", "a.b": [[1], [2]]},
        "header": "x",
    },
    {
        "fields": {"features": "f[0].\"a.b\"", "topics": ["t", "@topic"], "time": "@timestamp"},
        "event": {"id": 1, "f": [{"a.b": {"x": 1.5}}], "t": [1, "b"]},
        "timestamp": 541350061000,
    },
]  # fmt: skip
WORDS: tuple[Any, ...] = (
    "@key", "@header.h", "@timestamp", "a[].b", "tags[0]", '"a.b"', "$.a", "/a", "payload.after",
    "*", "seconds", "iso8601", "%d.%m.%Y", "UTC", "+01:00", "id", "", ["a", "b"], {"path": "x"},
    None, [[]],
)  # fmt: skip


class Mappings(Target):
    """Mapped events: `pipeline/events/fields.py`, `paths.py` and `mapped_event.py`."""

    name = "field-mappings"

    def __init__(self) -> None:
        self._mutator = JsonMutator(sorted(keys_in(EXAMPLES)), WORDS)

    def seeds(self) -> Sequence[bytes]:
        return [orjson.dumps(example) for example in EXAMPLES]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return self._mutator.mutate(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        grown = blown_up(rng, b"word <b>;", self.largest - 1000).decode("utf-8", "replace")
        event = {"tags": grown, "body": [{"x": n} for n in range(9999)], "id": 1, "text": grown}
        fields = rng.choice(({"topics": "body[].x"}, {"text": {"path": "text", "html": True}},
                             {"topics": {"path": "tags", "separator": ";"}}))  # fmt: skip
        return orjson.dumps({"fields": fields, "event": event})

    def run(self, data: bytes) -> str:
        try:
            given = orjson.loads(data)
        except orjson.JSONDecodeError:
            return "not JSON"
        if not isinstance(given, dict):
            return "not an object"
        try:
            mapping = parse_fields(given.get("fields"))
        except UsageError as error:
            return kind_of(error)
        timestamp = given.get("timestamp")
        try:
            value = orjson.dumps(given.get("event"))
            key = orjson.dumps(given["key"]) if "key" in given else None
        except TypeError:
            return "nested too deep to be written"
        record = Record(
            value,
            key,
            timestamp if type(timestamp) is int else None,
            [("h", str(given.get("header")).encode())],
        )
        explain_sample(record.value or b"", kafka=True)
        try:
            event = new_decoder("wirerank", mapping)(record, MAX_EVENT_BYTES)
        except MalformedEvent as problem:
            if problem.reason not in REASONS:
                raise Broken(f"refused with reason {problem.reason!r}") from None
            problem.detail.encode()
            return f"{problem.reason} {kind_of(problem)}"
        check_round_trip(event)
        return " ".join("-" if part is None else type(part).__name__ for part in event)
