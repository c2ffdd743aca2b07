"""The newsgroups source on made-up posts, and on 20 Newsgroups where available."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpora.newsgroups import Newsgroups
from pipeline.corpora.source import Source, SourceError

SharedCorpus = Callable[[str], Path]

POST = """From: someone@example.org (Some One)
Newsgroups: rec.kites
Subject: Re: a kite
 that does not fly
Date: Tue, 6 Apr 1993 12:04:34 -0400
Lines: 3

It needs a tail.

-- S.
"""


def write(folder: Path, posts: dict[str, str]) -> Path:
    for name, text in posts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    return folder


def post(date: str = "") -> str:
    return f"Subject: s\nDate: {date}\n\nbody\n" if date else "Subject: s\n\nbody\n"


def events(source: Source) -> list[dict[str, Any]]:
    return [json.loads(raw) for raw in source]


def ids(source: Source) -> list[str]:
    return [event["id"] for event in events(source)]


def one(folder: Path, text: str) -> dict[str, Any]:
    (event,) = events(Newsgroups(write(folder, {"rec.kites/17": text})))
    return event


def test_event_keeps_only_the_subject_of_the_header(tmp_path: Path) -> None:
    assert one(tmp_path, POST) == {
        "id": "rec.kites/17",
        "title": "Re: a kite that does not fly",
        "text": "It needs a tail.\n\n-- S.",
        "topics": ["rec.kites"],
        "time": "1993-04-06T16:04:34Z",
    }


def test_carriage_returns_and_latin_1(tmp_path: Path) -> None:
    event = one(tmp_path, "\r\nsubject: H\xf6he\r\nLines: 1\r\n\r\n\xfcber\r\nuns\r\n")
    assert (event["title"], event["text"]) == ("Höhe", "über\nuns")


def test_headers_of_the_same_name_count_once(tmp_path: Path) -> None:
    assert one(tmp_path, "Subject: first\nSubject: second\n\nx\n")["title"] == "first"


def test_rest_of_a_dropped_header_is_cut_off(tmp_path: Path) -> None:
    event = one(tmp_path, " news.example.org!someone\nSubject: a kite\nLines: 1\n\nIt flies.\n")
    assert (event["title"], event["text"]) == ("a kite", "It flies.")


def test_empty_body_is_still_a_document(tmp_path: Path) -> None:
    event = one(tmp_path, "Subject: no words\n\n\n")
    assert (event["title"], event["text"]) == ("no words", "")


def test_post_without_header_is_all_body(tmp_path: Path) -> None:
    event = one(tmp_path, "just some words\n\nand more\n")
    assert event == {
        "id": "rec.kites/17",
        "text": "just some words\n\nand more",
        "topics": ["rec.kites"],
    }


@pytest.mark.parametrize(
    ("date", "time"),
    [
        ("5 Apr 93 01:58:12 GMT", "1993-04-05T01:58:12Z"),
        ("Thu, 15 Apr 1993 04:02:38", "1993-04-15T04:02:38Z"),
        ("Thu, 15 Apr 1993 04:02:38 EST", "1993-04-15T09:02:38Z"),
        ("Thu, 31 Apr 1993 04:02:38 GMT", None),
        ("31 Dec 9999 23:00:00 -1400", None),
        ("yesterday", None),
        (",", None),
    ],
)
def test_dates(tmp_path: Path, date: str, time: str | None) -> None:
    assert one(tmp_path, post(date)).get("time") == time


def test_order_by_date_then_path_unreadable_last(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a/1": post(),
            "a/2": post("6 Apr 93 00:00:00 GMT"),
            "b/1": post("5 Apr 93 23:00:00 -0200"),
            "a/3": post("6 Apr 93 02:00:00 +0100"),
            "b/2": post("1 Apr 93 00:00:00 GMT"),
            "b/3": post("6 Apr 93 00:00:00 GMT"),
        },
    )
    assert ids(Newsgroups(tmp_path)) == ["b/2", "a/2", "b/3", "a/3", "b/1", "a/1"]


def test_undated_groups_advance_together_by_article_number(tmp_path: Path) -> None:
    names = ["a/9", "a/10", "a/11", "a/12", "b/100", "b/99", "c/note"]
    write(tmp_path, {name: post() for name in names})
    assert ids(Newsgroups(tmp_path)) == ["a/9", "b/99", "a/10", "c/note", "a/11", "b/100", "a/12"]


def test_shuffle_is_seeded(tmp_path: Path) -> None:
    names = [f"{group}/{number}" for group in "abc" for number in range(10)]
    write(tmp_path, {name: post() for name in names})
    shuffled = ids(Newsgroups(tmp_path, "shuffled"))
    assert sorted(shuffled) == sorted(names)
    assert shuffled == ids(Newsgroups(tmp_path, "shuffled", seed=0))
    assert shuffled != ids(Newsgroups(tmp_path, "shuffled", seed=1))
    assert shuffled[:3] == ["c/1", "b/0", "b/3"]  # the same on every machine


def test_unknown_order_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no order 'random'; choose date or shuffled"):
        Newsgroups(tmp_path, "random")


def test_topics_and_total(tmp_path: Path) -> None:
    source: Source = Newsgroups(write(tmp_path, dict.fromkeys(["z/1", "a/1", "a/2"], POST)))
    assert source.topics == ["a", "z"]
    assert source.total == 3
    assert list(source) == list(source)


def test_parts_above_the_groups_and_stray_files(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(["train/a/1", "train/b/1", "test/a/2"], POST))
    write(tmp_path, dict.fromkeys(["README", "train/README", "train/a/.hidden"], "not a post"))
    source = Newsgroups(tmp_path)
    assert sorted(ids(source)) == ["a/1", "a/2", "b/1"]
    assert source.topics == ["a", "b"]


def test_two_editions_are_refused(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(["x/a/1", "y/a/1"], POST))
    with pytest.raises(SourceError, match="2 posts named a/1; expected one"):
        Newsgroups(tmp_path)


def test_no_posts(tmp_path: Path) -> None:
    write(tmp_path, {"README": "no groups"})
    with pytest.raises(SourceError, match="has no posts; expected one folder per group"):
        Newsgroups(tmp_path)
    with pytest.raises(SourceError, match="does not exist"):
        Newsgroups(tmp_path / "nowhere")


def test_post_that_disappears_is_named(tmp_path: Path) -> None:
    source = Newsgroups(write(tmp_path, {"a/1": POST}))
    (tmp_path / "a" / "1").unlink()
    with pytest.raises(SourceError, match="a/1 cannot be read"):
        list(source)


@pytest.mark.parametrize("kind", ["gz", "xz"])
@pytest.mark.parametrize("order", ["date", "shuffled"])
def test_archive_is_read_in_place(tmp_path: Path, kind: str, order: str) -> None:
    names = [f"{group}/{number}" for group in "abc" for number in range(5)]
    folder = write(tmp_path / "posts", {name: post() for name in names})
    archive = tmp_path / f"posts.tar.{kind}"
    with tarfile.open(archive, f"w:{kind}") as tar:  # type: ignore[call-overload]
        tar.add(folder, "posts")
    source = Newsgroups(archive, order)
    assert list(source) == list(Newsgroups(folder, order))
    assert (source.total, source.topics) == (15, ["a", "b", "c"])


def test_the_collection(shared_corpus: SharedCorpus) -> None:
    source = Newsgroups(shared_corpus("newsgroups"))
    documents = events(source)
    assert source.total == len(documents) == 11_314
    assert len(source.topics) == 20
    assert len({event["id"] for event in documents}) == 11_314
    counts = {
        topic: sum(event["topics"] == [topic] for event in documents) for topic in source.topics
    }
    assert (counts["alt.atheism"], counts["rec.sport.hockey"]) == (480, 600)
    assert all(event["title"] for event in documents)
    # Without dates the groups still come side by side, from the first posts on.
    assert {event["topics"][0] for event in documents[:100]} == set(source.topics)


def test_the_collection_shuffled(shared_corpus: SharedCorpus) -> None:
    folder = shared_corpus("newsgroups")
    by_date, shuffled = Newsgroups(folder), Newsgroups(folder, "shuffled")
    assert sorted(by_date) == sorted(shuffled)
    assert ids(by_date) != ids(shuffled)
