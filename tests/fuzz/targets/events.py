"""Events in every format, and files of events."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from random import Random
from typing import Any

import orjson

from pipeline.corpora.jsonl import JsonLines
from pipeline.corpora.packed import DECOMPRESSORS, ZIP
from pipeline.corpora.source import SourceError
from pipeline.events.event import MAX_EVENT_BYTES, REASONS, Event, MalformedEvent
from pipeline.events.formats import FORMATS
from pipeline.log.block_reader import BlockReader
from pipeline.text.tokenizer import Tokenizer
from tests.fuzz.mutation import JsonMutator, blown_up, keys_in, mutate_bytes
from tests.fuzz.target import Broken, Target, kind_of, scratch_folder
from tests.support.packing import PACKINGS

WIRERANK: list[dict[str, Any]] = [
    {
        "id": "n1",
        "title": "Wheat up",
        "text": "Farmers in Z\u00fcrich.",
        "topics": ["grain", "ship"],
    },
    {"id": 7, "text": "", "rank": 3, "time": "1987-02-26T15:01:01.23Z"},
    {"id": "n2", "features": {"a": 1, "b b": -2.5, "\u00e9": 1e-75}, "topics": []},
    {"id": "n1", "topics": ["grain"]},
]
NINJS: list[dict[str, Any]] = [
    {
        "uri": "urn:x:7", "headline": "Wheat up", "urgency": 4, "pubstatus": "usable",
        "versioncreated": "2026-01-02T03:04:05+0100", "mimetype": "text/html",
        "subject": [{"code": "20000382", "name": "cereals"}, {"name": "ships"}],
        "body_xhtml": "<p>Prices <b>rose</b>.</p><p>Traders &amp; co.</p>", "body_text": "Prices",
    },
    {
        "uri": "urn:x:8", "headlines": [{"role": "main", "value": "Up"}, {"value": "Down"}],
        "bodies": [{"role": "main", "contenttype": "text/plain", "value": "Prices fell."}],
        "descriptions": [{"contenttype": "text/html", "value": "<i>x</i>"}],
        "subjects": [{"uri": "medtop:1", "creator": "a", "relevance": 90}],
        "contentType": "text", "pubStatus": "usable", "versionCreated": "2026-01-02T03:04:05Z",
    },
    {"guid": "urn:x:9", "urgency": 1, "subject": [{"qcode": "a:b"}], "description_text": "x"},
]  # fmt: skip
WORDS = (
    "n1", "usable", "canceled", "main", "text/html", "<p>x", "2026-01-02T03:04:05Z",
    "2026-02-30T00:00:00Z", "2026-01-02T23:59:60Z", "2026-01-02T03:04:05+01",
    "9999-12-31T23:59:59-23:59", "x" * 256, "y" * 1025, [f"t{n}" for n in range(1001)],
    {"a": 1e76}, {"": 1}, {"x" * 256: 1}, {"\u00e9" * 128: 1},
)  # fmt: skip


class EventTarget(Target):
    """Events as JSON."""

    format = "wirerank"
    examples = WIRERANK

    def __init__(self) -> None:
        self._decode = FORMATS[self.format]
        self._mutator = JsonMutator(sorted(keys_in(self.examples)), WORDS)

    def seeds(self) -> Sequence[bytes]:
        return [orjson.dumps(example) for example in self.examples]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return self._mutator.mutate(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        text = rng.choice(("text", "title", "headline", "body_xhtml", "body_text"))
        grown = blown_up(rng, b"word <b>", self.largest - 1000).decode("utf-8", "replace")
        if rng.random() < 0.3:
            return blown_up(rng, data, self.largest)
        return orjson.dumps({**self.examples[0], text: grown})

    def run(self, data: bytes) -> str:
        try:
            event = self._decode(data, MAX_EVENT_BYTES)
        except MalformedEvent as problem:
            if problem.reason not in REASONS or len(problem.detail) > 5000:
                raise Broken(f"refused with reason {problem.reason!r}") from None
            problem.detail.encode()
            return kind_of(problem)
        check_round_trip(event)
        kinds = ("-" if part is None else type(part).__name__ for part in event)
        return " ".join(kinds)


def check_round_trip(event: Event) -> None:
    """An accepted event, written as an event and parsed again, is the same event."""
    fields: dict[str, Any] = {"id": event.id}
    if event.content is not None:
        fields["text" if isinstance(event.content, str) else "features"] = event.content
    if event.topics is not None:
        fields["topics"] = event.topics
    fields |= {"rank": event.rank, "time": event.time}
    written = orjson.dumps(fields)
    event = event._replace(title_length=0, language=None)  # the content is written as text
    if FORMATS["wirerank"](written, 8 * MAX_EVENT_BYTES) != event:
        raise Broken("an accepted event changes when it is written and parsed again")


class WirerankEvents(EventTarget):
    """Events in the format `wirerank`: `pipeline/events/event.py`."""

    name = "events-wirerank"


class NinjsEvents(EventTarget):
    """Events in the format `ninjs`: `pipeline/events/ninjs.py`."""

    name = "events-ninjs"
    format = "ninjs"
    examples = NINJS


class EventLines(Target):
    """Files of JSON lines or arrays, packed or not: all that is in them is an event or a letter."""

    name = "event-lines"
    share = 0.2
    limit = 5000  # bytes of an event

    def __init__(self) -> None:
        self._folder = scratch_folder()
        self._tokenizer = Tokenizer()
        self._mutator = JsonMutator(sorted(keys_in(WIRERANK)), WORDS)
        with open(f"{self._folder.name}/events.jsonl", "wb"):
            self._source = JsonLines(_path(self._folder.name), self.limit)

    def seeds(self) -> Sequence[bytes]:
        lines = b"\n".join(orjson.dumps(event) for event in WIRERANK)
        return [
            lines + b"\n",
            lines.replace(b"\n", b"\r\n\r\n"),
            b"\xef\xbb\xbf" + lines,
            b"[" + lines.replace(b"\n", b",\n") + b"]",
            *(pack(lines) for pack in PACKINGS.values()),
        ]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        lines = data.split(b"\n")
        if rng.random() < 0.5:
            at = int(rng.random() * len(lines))
            lines[at] = self._mutator.mutate(rng, lines[at], other)
            return b"\n".join(lines)
        return mutate_bytes(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return blown_up(rng, data, self.largest)

    def run(self, data: bytes) -> str:
        with open(self._source.path, "wb") as file:
            file.write(data)
        events = letters = read = 0
        try:
            for part in BlockReader(self._source, self._tokenizer, 3, 0, self.limit):
                events += len(part.block.entries)
                letters += len(part.dead_letters)
                read = part.events
        except SourceError as error:
            return kind_of(error)
        if read != events + letters:
            raise Broken(f"{read} lines were read, {events} events and {letters} dead letters came")
        if is_plain_lines(data):
            lines = sum(
                1 for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()
            )
            if lines != read:
                raise Broken(f"of {lines} lines {read} were read")
        return f"{min(events, 9)} {min(letters, 9)}"

    def close(self) -> None:
        self._folder.cleanup()


def is_plain_lines(data: bytes) -> bool:
    """Return whether a file is neither packed nor in UTF-16 nor a JSON array."""
    other = (*DECOMPRESSORS, *ZIP, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    text = data.removeprefix(codecs.BOM_UTF8).lstrip()
    in_lines = text[:1] != b"[" and text.split(b"\n", 1)[0].strip() != b"{"
    return in_lines and not data.startswith(other)


def _path(folder: str) -> Any:  # noqa: ANN401
    from pathlib import Path

    return Path(folder) / "events.jsonl"
