"""The MovieLens source on made-up ratings, and on MovieLens 100K where available."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpora import open_source
from pipeline.corpora.movielens import MovieLens
from pipeline.corpora.source import Source, SourceError
from pipeline.events.event import parse_event
from tests.support.movielens_files import write_movielens

SharedCorpus = Callable[[str], Path]


def events(source: Source) -> list[dict[str, Any]]:
    documents = [json.loads(raw) for raw in source]
    assert source.total == len(documents)
    assert not source.topics
    return documents


@pytest.mark.parametrize(("name", "separator"), [("u.data", "\t"), ("ratings.dat", "::")])
def test_a_viewers_ratings_from_those_of_the_others(
    tmp_path: Path, name: str, separator: str
) -> None:
    """Ordered by time, then by film; features from -0.5 to 0.5, so that 3 stars count as 0."""
    source = open_source(f"movielens:{write_movielens(tmp_path, name, separator)},user=7")
    assert events(source) == [
        {"id": "7-20", "features": {"9": -0.25}, "rank": 1, "time": "1997-12-04T15:55:40Z"},
        {"id": "7-30", "features": {}, "rank": 3, "time": "1997-12-04T15:55:49Z"},
        {
            "id": "7-100",
            "features": {"3": 0.25, "9": -0.5, "11": -0.25},
            "rank": 5,
            "time": "1997-12-04T15:55:49Z",
        },
    ]


def test_events_are_usable(tmp_path: Path) -> None:
    parsed = [parse_event(raw) for raw in MovieLens(write_movielens(tmp_path), user=7)]
    assert [event.rank for event in parsed] == [1, 3, 5]
    assert all(event.content is not None for event in parsed)


def test_only_what_the_others_had_said(tmp_path: Path) -> None:
    source = open_source(f"movielens:{write_movielens(tmp_path)},user=7,others=earlier")
    assert [event["features"] for event in events(source)] == [{"9": -0.25}, {}, {"3": 0.25}]


def test_only_viewers_with_enough_ratings(tmp_path: Path) -> None:
    source = open_source(f"movielens:{write_movielens(tmp_path)},user=7,least=2")
    assert events(source)[-1]["features"] == {"3": 0.25, "9": -0.5}


@pytest.mark.parametrize(("nth", "target"), [(1, "3"), (2, "7"), (3, "9"), (4, "11")])
def test_target_by_activity(tmp_path: Path, nth: int, target: str) -> None:
    source = open_source(f"movielens:{write_movielens(tmp_path)},nth={nth}")
    assert {event["id"].split("-")[0] for event in events(source)} == {target}


def test_most_active_viewer_is_the_default(tmp_path: Path) -> None:
    assert events(MovieLens(write_movielens(tmp_path)))[0]["id"] == "3-20"


def test_archives_are_read_in_place(tmp_path: Path) -> None:
    folder = write_movielens(tmp_path / "ml-100k")
    (folder / "README").write_text("not a rating")
    with tarfile.open(tmp_path / "ml.tar.xz", "w:xz") as tar:
        tar.add(folder, "ml-100k")
    with zipfile.ZipFile(tmp_path / "ml.zip", "w", zipfile.ZIP_DEFLATED) as pack:
        pack.mkdir("ml-100k")
        for file in folder.iterdir():
            pack.write(file, f"ml-100k/{file.name}")
    expected = events(MovieLens(folder))
    assert events(MovieLens(tmp_path / "ml.tar.xz")) == expected
    assert events(MovieLens(tmp_path / "ml.zip")) == expected


def test_damaged_zip_is_refused(tmp_path: Path) -> None:
    whole, cut = tmp_path / "ml.zip", tmp_path / "cut.zip"
    write_movielens(tmp_path)
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as pack:
        pack.write(tmp_path / "u.data", "u.data")
    data = bytearray(whole.read_bytes())
    data[45] ^= 0xFF  # within the packed ratings
    whole.write_bytes(data)
    cut.write_bytes(data[:-30])
    for path in (whole, cut):
        with pytest.raises(SourceError, match="cannot be read as an archive"):
            MovieLens(path)


def test_zip_that_holds_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "ml.zip", "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("u.data", "1\t1\t1\t1\n" * 1000)
    monkeypatch.setattr("pipeline.corpora.corpus_files.MAX_FILE_BYTES", 7999)
    with pytest.raises(SourceError, match="larger than 7,999 bytes"):
        MovieLens(tmp_path / "ml.zip")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("7\t100\t5", "line 10: expected viewer, film, stars and time"),
        ("7 100 5 881250949", "line 10: expected viewer, film, stars and time"),
        ("7\t100\t3.5\t881250949", "line 10: expected viewer, film, stars and time"),
        ("7\t100\t-1\t881250949", "line 10: expected viewer, film, stars and time"),
        ("7\t100\t5\t881250949000", "line 10: expected viewer, film, stars and time"),
        ("7\t100\t0\t881250949", "line 10: expected 1 to 5 stars, found 0"),
        ("7\t100\t6\t881250949", "line 10: expected 1 to 5 stars, found 6"),
        ("", "line 10: expected viewer"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    file = write_movielens(tmp_path) / "u.data"
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(SourceError, match=message):
        MovieLens(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ",user=8",
            "no viewer 8 with at least 1 ratings; 4 viewers have that many, and viewers are "
            "numbered 3 to 11",
        ),
        (",user=9,least=3", "no viewer 9 with at least 3 ratings; 2 viewers have that many"),
        (",user=x", "'x' is not a number"),
        (",nth=0", "nth=0 is out of range; expected 1 to 4, the number of viewers"),
        (",nth=5", "nth=5 is out of range; expected 1 to 4, the number of viewers"),
        (",others=some", "choose all or earlier"),
        (",film=3", "movielens has no option 'film'. Known: user=ID or nth"),
    ],
)
def test_bad_options_are_explained(tmp_path: Path, options: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_source(f"movielens:{write_movielens(tmp_path)}{options}")


def test_ratings_must_be_there_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"expected one u\.data .*, found none"):
        MovieLens(tmp_path)
    write_movielens(tmp_path / "ml-100k")
    write_movielens(tmp_path / "ml-1m", "ratings.dat", "::")
    with pytest.raises(SourceError, match=r"found ml-100k/u\.data, ml-1m/ratings\.dat"):
        MovieLens(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "u.data").write_text("")
    with pytest.raises(SourceError, match="has no ratings"):
        MovieLens(tmp_path / "empty")


def test_movielens_100k(shared_corpus: SharedCorpus) -> None:
    documents = events(MovieLens(shared_corpus("movielens")))
    assert len(documents) == 737
    assert {event["id"].split("-")[0] for event in documents} == {"405"}
    assert [event["time"] for event in documents] == sorted(event["time"] for event in documents)
    values = Counter(value for event in documents for value in event["features"].values())
    assert set(values) == {-0.5, -0.25, 0.25, 0.5}
    assert all("405" not in event["features"] for event in documents)
