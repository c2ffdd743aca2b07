"""The stream of many classes: its documented properties, and that it can be learned."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from itertools import islice
from typing import Any

import orjson
import pytest

from pipeline.corpora import SourceError, open_source, size_for
from pipeline.corpora.synthetic_classes import SyntheticClasses
from pipeline.events.event import parse_event

Event = dict[str, Any]


def events(count: int, classes: int, **arguments: Any) -> list[Event]:  # noqa: ANN401
    stream = SyntheticClasses(documents=count, classes=classes, **arguments)
    return [orjson.loads(raw) for raw in stream]


def test_a_seed_is_a_stream() -> None:
    stream = SyntheticClasses(documents=300, classes=50, seed=7, drift=50.0)
    again = SyntheticClasses(documents=300, classes=50, seed=7, drift=50.0)
    assert list(stream) == list(stream) == list(again)
    assert list(stream) != list(SyntheticClasses(documents=300, classes=50, seed=8, drift=50.0))


def test_a_short_stream_is_the_beginning_of_a_long_one() -> None:
    short = list(SyntheticClasses(documents=1_300, classes=1_000))
    assert short == list(islice(SyntheticClasses(documents=5_000, classes=1_000), 1_300))


def test_the_stream_is_the_same_on_every_machine() -> None:
    stream = SyntheticClasses(documents=2_000, classes=500, seed=1, drift=100.0)
    digest = hashlib.sha256(b"\n".join(stream))
    assert digest.hexdigest() == "58f6cf21ea193c3a9e7dce53d75924a0781916a25dac52ee1eedccf523187a5b"


@pytest.mark.parametrize("classes", [2, 10, 1_000, 100_000])
def test_events_keep_the_contract(classes: int) -> None:
    stream = SyntheticClasses(documents=2_500, classes=classes)
    assert (stream.total, list(stream.topics)) == (2_500, [])
    parsed = [parse_event(raw) for raw in stream]
    assert [event.id for event in parsed] == [f"classes-{n}" for n in range(1, 2_501)]
    names = {name for event in parsed for name in event.topics or ()}
    assert all(re.fullmatch(r"class-\d{5}", name) for name in names)
    assert all(int(name[6:]) < classes for name in names)
    assert all(len(set(event.topics or ())) == len(event.topics or ()) > 0 for event in parsed)


@pytest.mark.parametrize("classes", [10, 100_000])
def test_documents_are_short_however_many_classes_there_are(classes: int) -> None:
    sizes = [len(set(event["text"].split())) for event in events(2_000, classes)]
    assert 20 < sum(sizes) / len(sizes) < 24
    assert sum(15 <= size <= 30 for size in sizes) > 0.95 * len(sizes)


def test_some_documents_have_two_classes() -> None:
    counts = Counter(len(event["topics"]) for event in events(8_000, 1_000))
    assert set(counts) == {1, 2}
    assert 0.10 < counts[2] / 8_000 < 0.14


def test_classes_are_skewed() -> None:
    sample = events(20_000, 1_000)
    counts = Counter(name for event in sample for name in event["topics"])
    ranked = counts.most_common()
    assert ranked[0][0] == "class-00000"
    assert ranked[0][1] > 4 * counts["class-00010"] > 12 * counts["class-00100"]
    assert len(counts) > 900


def signs(sample: list[Event]) -> dict[str, set[str]]:
    """The words in at least a fifth of the documents of each class, without common words."""
    inside: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sizes = Counter[str]()
    for event in sample:
        name = event["topics"][0]
        inside[name].update({word for word in event["text"].split() if len(word) > 4})
        sizes[name] += 1
    return {
        name: {word for word, n in words.items() if n > 0.2 * sizes[name]}
        for name, words in inside.items()
    }


def test_neighbours_share_words_and_strangers_do_not() -> None:
    actual = signs(events(20_000, 40))
    for number in range(38):
        words, next_one = actual[f"class-{number:05}"], actual[f"class-{number + 1:05}"]
        assert words - next_one
        assert words & next_one
        assert not words & actual[f"class-{(number + 20) % 40:05}"]


def test_drift_gives_the_words_of_some_classes_to_others() -> None:
    before, after = events(20_000, 40), events(40_000, 40, drift=10.0)[20_000:]
    steady = events(40_000, 40)[20_000:]
    own, later, same = signs(before)["class-00003"], signs(after), signs(steady)
    assert own == same["class-00003"]
    assert len(own & later["class-00003"]) <= len(own) // 3
    assert set().union(*later.values()) <= set().union(*signs(before).values())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("synthetic:10,classes=1", "classes must be between 2 and 100,000, not 1"),
        ("synthetic:10,classes=100001", "classes must be between 2 and 100,000"),
        ("synthetic:10,classes=many", "'many' is not a number"),
        ("synthetic:10,classes=5,topics=5", "topics= .* and classes= .* exclude each other"),
        ("synthetic:0,classes=5", "documents must be between"),
        ("synthetic:10,classes=5,drift=-1", "drift must be between"),
    ],
)
def test_mistakes_are_explained(source: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_source(source)


def test_it_says_how_many_topics_and_terms_it_has() -> None:
    size = size_for("synthetic:3000,classes=30,seed=1")
    assert size is not None
    assert size.topics == 30
    words = {word for event in events(30_000, 30) for word in event["text"].split()}
    assert 0.8 * size.terms < len(words) <= size.terms
    assert size_for("synthetic:3000") is size_for("synthetic:3,classes=x") is None
    assert size_for("text:novel.txt") is not None
    assert size_for("reuters21578:folder,classes=10") is None
