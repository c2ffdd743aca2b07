"""Events of any shape: mapped, they are the native events; unmapped, none of them disappears."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from pipeline.engine.engine import Engine
from pipeline.events.event import MAX_EVENT_BYTES, REASONS, Event, MalformedEvent, parse_event
from pipeline.events.fields import parse_fields
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record
from pipeline.log.block_reader import BlockReader
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings, parse_lanes
from pipeline.text.tokenizer import Tokenizer
from tests.support.reshaped_events import Shape, random_document


def as_words(event: Event) -> Event:
    """An event with its words: HTML leaves white space, which no term has."""
    content = event.content
    return event._replace(content=" ".join(content.split())) if isinstance(content, str) else event


@pytest.mark.parametrize("seed", range(60))
def test_mapped_events_give_the_log_of_native_events(seed: int) -> None:
    rng = Random(seed)
    shape = Shape(rng)
    decode = new_decoder("wirerank", parse_fields(shape.settings))
    native = [shape.native(random_document(rng, number)) for number in range(40)]
    mapped = [
        decode(shape.write(event, offset=i), MAX_EVENT_BYTES) for i, event in enumerate(native)
    ]
    expected = [parse_event(orjson.dumps(event)) for event in native]
    assert [*map(as_words, mapped)] == [*map(as_words, expected)], shape.settings
    span, tokenizer = Span("t", 0, 0, 40), Tokenizer()
    written, wanted = (
        list(encode_batches([EventBatch(span, [*range(40)], events)], tokenizer, 1 << 20))
        for events in (mapped, expected)
    )
    assert written == wanted


@pytest.mark.parametrize("seed", range(3))
def test_rankings_of_mapped_events_are_those_of_native_events(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    shape = Shape(rng, kafka=False)
    native = [shape.native(random_document(rng, number)) for number in range(150)]
    events = {
        "native": [orjson.dumps(event) for event in native],
        "other": [shape.write(event).value or b"" for event in native],
    }
    for name, lines in events.items():
        (tmp_path / name).write_bytes(b"".join(line + b"\n" for line in lines))
        settings = ReplaySettings(
            source=str(tmp_path / name),
            lanes=("mmp:loss=1", "prank:ranks=5"),
            rankings=tmp_path / f"{name}.rankings",
            dead_letters=tmp_path / "dead",
            fields=parse_fields(shape.settings) if name == "other" else None,
            block=7 if name == "other" else 1024,
        )
        replay(settings, Progress())
    assert not (tmp_path / "dead").exists()
    rankings = [(tmp_path / f"{name}.rankings").read_bytes() for name in events]
    assert rankings[0] == rankings[1]
    assert rankings[0].count(b"\n") > 200


SCALARS = (None, True, 0, 7, -1, 1.5, "", "wheat rose", "<p>x", "a;b", "1987-02-26T15:01:01Z", "é")
NAMES = (
    "id", "title", "text", "topics", "rank", "time", "features", "headline", "body", "tags", "data",
    "payload", "after", "op", "articleId", "x",
)  # fmt: skip


def random_value(rng: Random, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
    kind = rng.random()
    if kind < 0.5 or depth > 3:
        return rng.choice(SCALARS)
    if kind < 0.75:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(NAMES): random_value(rng, depth + 1) for _ in range(rng.randrange(5))}


def random_event(rng: Random) -> dict[str, Any]:
    """Mostly usable values under the native keys, and anything under others."""
    event: dict[str, Any] = {"id": rng.randrange(500)} if rng.random() < 0.9 else {}
    if rng.random() < 0.4:
        event["text"] = "wheat"
    if rng.random() < 0.5:
        event["topics"] = ["grain"]
    for _ in range(rng.randrange(3)):
        event[rng.choice(NAMES)] = random_value(rng)
    return event


SETTINGS: tuple[dict[str, Any] | None, ...] = (
    None,
    {},
    {"id": ["articleId", "@key", "id"], "text": ["body", "text"], "topics": ["tags", "topics"]},
    {"unwrap": "payload.after"},
    {"text": {"path": "body[].text", "html": True}, "topics": "tags[].x", "ignore": ["x", "op"]},
)


@pytest.mark.parametrize("settings", SETTINGS)
def test_ten_thousand_events_of_random_shapes(settings: dict[str, Any] | None) -> None:
    """Each event is ranked, is a label that is learned or counted, or has a reason."""
    rng = Random(17)
    mapping = None if settings is None else parse_fields(settings)
    decode = new_decoder("wirerank", mapping)
    raw = [orjson.dumps(random_event(rng)) for _ in range(10_000)]

    class Lines:
        topics, total = (), None

        def __iter__(self) -> Any:  # noqa: ANN401
            return iter(raw)

    engine = Engine(parse_lanes(["mmp:loss=1", "prank:ranks=5"]))
    documents = labels = 0
    labelled: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for part in BlockReader(Lines(), Tokenizer(), 256, 0, MAX_EVENT_BYTES, decode):
        labels += sum(entry.row is None for entry in part.block.entries)
        labelled["topics"] += sum(entry.topics is not None for entry in part.block.entries)
        labelled["ranks"] += sum(entry.rank is not None for entry in part.block.entries)
        for letter in part.dead_letters:
            assert len(letter.refusal.detail) > 20
            assert not letter.refusal.detail.startswith("Traceback")
            reasons[letter.refusal.reason] += 1
        documents += sum(len(segment.documents) for segment in engine.process(part.block))
    assert documents + labels + reasons.total() == 10_000
    assert reasons.keys() <= set(REASONS)
    assert engine.documents == documents
    # Each label taught a round, waits for its document, or was counted as one without a document.
    counted = {
        name: group.rounds + len(group.pending.early) + group.pending.unmatched_labels
        for name, group in zip(("topics", "ranks"), engine.lane_groups, strict=True)
    }
    counted["ranks"] += engine.rank_labels.refused
    assert counted == labelled
    engine.close()


def test_the_stream_that_disappeared() -> None:
    """Events with a headline, a body and topics were taken for late labels, silently."""
    event = {"id": 1, "headline": "Wheat up", "body": "Prices rose.", "topics": ["grain"]}
    with pytest.raises(MalformedEvent) as refused:
        parse_event(orjson.dumps(event))
    assert refused.value.reason == "unknown_fields"
    assert "unknown keys: `body`, `headline`" in refused.value.detail
    assert 'write in `fields` title = "headline", text = "body"' in refused.value.detail
    mapping = parse_fields({"title": "headline", "text": "body"})
    record = Record(orjson.dumps(event))
    assert new_decoder("wirerank", mapping)(record, 1000).content == "Wheat up\nPrices rose."


def test_late_labels_stay_late_labels() -> None:
    for label in ({"topics": ["a"]}, {"rank": 2}, {"topics": [], "rank": 1, "time": None},
                  {"topics": ["a"], "text": None, "title": None, "features": None}):  # fmt: skip
        assert parse_event(orjson.dumps({"id": 1, **label})).content is None
