"""The texts of the experiments: which stories are used, and the class of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.corpora import SourceError
from pipeline.experiments.index_learning.text_corpora import newsgroups, reuters_largest
from tests.support.reuters_sgml import story, write_stories
from tests.support.small_corpora import GROUPS, POSTS, write_newsgroups


def test_stories_have_the_last_of_their_largest_classes(tmp_path: Path) -> None:
    letters = "abcdefghij"
    labels = [(letter,) for letter in letters] * 2 + [("b", "a", "z"), ("z",), ()]
    path = write_stories(
        tmp_path, *(story(i + 1, labels=of_story) for i, of_story in enumerate(labels))
    )
    actual = reuters_largest(path)
    assert actual.classes == list(letters)
    assert actual.labels.tolist() == [*range(10), *range(10), 0]  # z is the smallest


def test_posts_have_their_groups(tmp_path: Path) -> None:
    actual = newsgroups(write_newsgroups(tmp_path / "posts"))
    assert actual.classes == sorted(GROUPS)
    assert np.bincount(actual.labels).tolist() == [POSTS] * len(GROUPS)
    assert not any("Newsgroups:" in text for text in actual.texts)
    some = actual.sample(10, 3)
    assert [actual.texts.index(text) for text in some.texts] != list(range(10))
    for text, label in zip(some.texts, some.labels, strict=True):
        assert actual.labels[actual.texts.index(text)] == label


def test_a_single_class_is_refused(tmp_path: Path) -> None:
    posts = tmp_path / "posts" / "rec.kites"
    posts.mkdir(parents=True)
    (posts / "1").write_text("Subject: s\n\nbody\n")
    with pytest.raises(SourceError, match="1 documents of 1 classes; expected at least two"):
        newsgroups(tmp_path / "posts")
    with pytest.raises(SourceError, match="1 documents of 1 classes; expected at least two"):
        reuters_largest(write_stories(tmp_path / "sgml", story(1, labels=("a",))))
    two = (story(1, labels=("a",)), story(2, labels=("b",)))
    with pytest.raises(SourceError, match="and 3 documents"):
        reuters_largest(write_stories(tmp_path / "two", *two))


def test_reuters_is_that_of_the_paper(shared_corpus: Callable[[str], Path]) -> None:
    """9.4k documents; ranking classes by frequency gives R1 0.42 and R5 0.86."""
    actual = reuters_largest(shared_corpus("reuters21578"))
    assert len(actual.texts) == 9_393
    sizes = [count for _, count in Counter(actual.labels.tolist()).most_common()]
    assert len(sizes) == 10
    assert sizes[0] / 9_393 == pytest.approx(0.42, abs=0.005)
    assert sum(sizes[:5]) / 9_393 == pytest.approx(0.86, abs=0.005)
