"""The Reuters-21578 source on the collection itself, where it is available."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpora.reuters21578 import Reuters21578, Story
from pipeline.corpora.source import Source

SharedCorpus = Callable[[str], Path]


def events(source: Source) -> list[dict[str, Any]]:
    return [json.loads(raw) for raw in source]


def test_the_collection_has_its_known_counts(shared_corpus: SharedCorpus) -> None:
    source = Reuters21578(shared_corpus("reuters21578"))
    stories = source.stories
    assert source.total == 21_578
    assert sorted(story.newid for story in stories) == list(range(1, 21_579))
    assert len(source.topics) == 135
    assert {topic for story in stories for topic in story.topics} <= set(source.topics)
    assert all(story.date for story in stories)
    dates = [story.date for story in stories if story.date]
    assert dates == sorted(dates)

    halves: dict[str, list[Story]] = {"train": [], "test": []}
    for story in stories:
        if story.modapte:
            halves[story.modapte].append(story)
    assert {half: len(actual) for half, actual in halves.items()} == {"train": 9603, "test": 3299}
    both = set.intersection(
        *({topic for story in half for topic in story.topics} for half in halves.values())
    )
    assert len(both) == 90
    assert (
        sum(bool(both & set(story.topics)) for half in halves.values() for story in half) == 10_789
    )


def test_the_collection_s_events(shared_corpus: SharedCorpus) -> None:
    documents = {
        event["id"]: event for event in events(Reuters21578(shared_corpus("reuters21578")))
    }
    assert len(documents) == 21_578
    assert sum("topics" in event for event in documents.values()) == 9603 + 3299 + 574
    assert not any("blah" in event["text"].lower().split() for event in documents.values())
    assert documents["17192"]["time"] == "1987-03-31T05:12:19.12Z"  # its hour is written 605
    assert documents["15370"]["time"] == "1987-04-09T00:00:00.00Z"  # with a remark behind it
    controls = {chr(code) for code in range(32)} - {"\n"}
    assert not any(controls & set(event["text"]) for event in documents.values())


def test_the_collection_s_modapte_split(shared_corpus: SharedCorpus) -> None:
    source = Reuters21578(shared_corpus("reuters21578"), "modapte")
    assert source.total == 9603 + 3299
    assert all("topics" in event and "split" in event for event in events(source))


def test_the_collection_s_ten_largest_classes(shared_corpus: SharedCorpus) -> None:
    source = Reuters21578(shared_corpus("reuters21578"), classes=10)
    sizes = Counter(len(story.topics) for story in source.stories)
    assert (source.total, sizes) == (9_393, {1: 8_489, 2: 791, 3: 107, 4: 6})
    assert " ".join(source.topics) == (
        "acq corn crude earn grain interest money-fx ship trade wheat"
    )
    single = Reuters21578(shared_corpus("reuters21578"), classes=10, labels="last")
    counts = Counter(topic for story in single.stories for topic in story.topics)
    assert counts.total() == 9_393
    by_frequency = sum(n for _, n in counts.most_common(5)) / 9_393
    assert (counts["earn"] / 9_393, by_frequency) == pytest.approx((0.42, 0.86), abs=0.005)
