"""The events of the load, drawn from a seed: news, late and early labels, garbage, hostile text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.corpora import open_source

TOPICS = 24
LABEL, DOCUMENT, GARBAGE = "label", "document", "garbage"
EVENT_LIMIT = 1 << 20  # what the configuration allows by default


@dataclass(frozen=True, slots=True)
class Written:
    """An event as it is written: a document gets rankings, garbage becomes a dead letter."""

    kind: str
    id: str  # empty for garbage
    value: bytes


def draw_events(seed: int, prefix: str = "d") -> Iterator[Written]:
    """An endless stream of events; ids begin with the prefix."""
    rng = random.Random(f"events of {seed}")
    stories = _stories(seed)
    waiting: list[tuple[int, Written]] = []  # due at this number: late labels, documents
    number = 0
    while True:
        number += 1
        for due, event in [entry for entry in waiting if entry[0] <= number]:
            waiting.remove((due, event))
            yield event
        draw = rng.random()
        if draw < 0.06:
            yield Written(GARBAGE, "", rng.choice(GARBAGE_MAKERS)(rng))
            continue
        story = next(stories) | {"id": f"{prefix}{number}"}
        if draw < 0.10:
            story |= rng.choice(HOSTILE_MAKERS)(rng)
        label = {"id": story["id"], "topics": story.get("topics", [])}
        if draw < 0.25:  # the label comes later, or never
            del story["topics"]
            yield _event(DOCUMENT, story)
            if draw < 0.21:
                waiting.append((number + rng.randint(1, 300), _event(LABEL, label)))
        elif draw < 0.32:  # the label comes first
            del story["topics"]
            yield _event(LABEL, label)
            waiting.append((number + rng.randint(1, 60), _event(DOCUMENT, story)))
        else:
            yield _event(DOCUMENT, story)
            if draw > 0.99:  # the same document once more: both are ranked
                waiting.append((number + rng.randint(1, 30), _event(DOCUMENT, story)))


def _event(kind: str, content: dict[str, Any]) -> Written:
    return Written(kind, content["id"], json.dumps(content, ensure_ascii=False).encode())


def _stories(seed: int) -> Iterator[dict[str, Any]]:
    while True:
        for story in open_source(f"synthetic:100000,topics={TOPICS},seed={seed}"):
            yield json.loads(story)


# Hostile, but valid: these replace parts of a story.

Maker = Callable[[random.Random], dict[str, Any]]


def _combining_marks(rng: random.Random) -> dict[str, Any]:
    return {"text": "a" + "\u0315\u0300" * rng.choice((50, 2_000, 20_000)) + " wheat"}


def _colliding_words(rng: random.Random) -> dict[str, Any]:
    """Words whose FNV-1a hashes share their low bits."""
    low, words, number = rng.randrange(64), list[str](), rng.randrange(10**9)
    while len(words) < 120:
        number += 1
        word = _letters(number)
        if _fnv1a(word.encode()) % 64 == low:
            words.append(word)
    return {"text": " ".join(words)}


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, digit = divmod(number, 26)
        letters += chr(ord("a") + digit)
    return letters


def _fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % (1 << 64)
    return value


def _long_word(rng: random.Random) -> dict[str, Any]:
    return {"text": "w" * rng.choice((300, 70_000)) + " oil"}


def _markup(rng: random.Random) -> dict[str, Any]:
    return {"text": "<" * rng.choice((10, 3_000)) + "b>&amp;&#x41;&" + "</b>" * 500}


def _scripts(rng: random.Random) -> dict[str, Any]:
    drawn = (
        chr(rng.choice((0x4E00, 0x0600, 0x1F600, 0x0900)) + rng.randrange(64)) for _ in "x" * 300
    )
    return {"title": "\u202e\ufeff\x00\x1b[31m", "text": "".join(drawn) + " grain"}


def _features(rng: random.Random) -> dict[str, Any]:
    names = (f"f{rng.randrange(50)}" for _ in range(20))
    return {"title": None, "text": None, "features": {name: rng.uniform(-2, 2) for name in names}}


def _nothing_to_read(rng: random.Random) -> dict[str, Any]:
    return {"title": "", "text": rng.choice(("", " ", "\n\t", "..."))}


def _many_topics(rng: random.Random) -> dict[str, Any]:
    return {"topics": [f"odd-{rng.randrange(40)}" for _ in range(300)]}


HOSTILE_MAKERS: tuple[Maker, ...] = (
    _combining_marks, _colliding_words, _long_word, _markup, _scripts, _features,
    _nothing_to_read, _many_topics,
)  # fmt: skip


# Garbage: each of these becomes a dead letter.

GARBAGE_MAKERS: tuple[Callable[[random.Random], bytes], ...] = (
    lambda _: b"",
    lambda _: b"not json",
    lambda _: b'{"id": "cut", "text": "the end is mis',
    lambda _: b"[1, 2, 3]",
    lambda _: b'{"text": "no id"}',
    lambda _: b'{"id": 1.5, "text": "a fraction as id"}',
    lambda _: b'{"id": "x"}',
    lambda _: b'{"id": "x", "text": 7}',
    lambda _: b'{"id": "x", "text": "t", "topics": "grain"}',
    lambda _: b'{"id": "x", "text": "t", "time": "yesterday"}',
    lambda _: b'{"id": "x", "text": "t", "features": {"a": 1}}',
    lambda _: b'{"id": "x", "features": {"a": 1e300}}',
    lambda _: b'{"id": "x", "text": "\xff\xfe"}',
    lambda _: b'{"id": "x", "text": "\\ud800"}',
    lambda _: b'{"id": "x", "features": {"a": NaN}}',
    lambda _: b"[" * 5_000,
    lambda rng: rng.randbytes(rng.choice((1, 100, 50_000))),
    lambda rng: b'{"id": "' + b"i" * 1_025 + b'", "text": "' + b"t" * rng.randrange(9) + b'"}',
    lambda rng: (
        b'{"id": "big", "text": "' + b"word " * (EVENT_LIMIT // 5) + rng.randbytes(0) + b'"}'
    ),
)
