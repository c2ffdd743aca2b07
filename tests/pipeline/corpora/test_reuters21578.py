"""The Reuters-21578 source, on made-up SGML."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpora import open_source
from pipeline.corpora.reuters21578 import Reuters21578, Story, clean, parse_date
from pipeline.corpora.source import Source, SourceError
from tests.support.reuters_sgml import story, write_stories


def events(source: Source) -> list[dict[str, Any]]:
    return [json.loads(raw) for raw in source]


def ids(source: Source) -> list[str]:
    return [event["id"] for event in events(source)]


def one(folder: Path, **parts: Any) -> dict[str, Any]:  # noqa: ANN401
    (event,) = events(Reuters21578(write_stories(folder, story(1, **parts))))
    return event


def test_event_has_all_fields(tmp_path: Path) -> None:
    assert one(tmp_path, labels=("copper", "tin")) == {
        "id": "1",
        "title": "A TITLE",
        "text": "A body.",
        "topics": ["copper", "tin"],
        "time": "1987-03-05T09:29:34.23Z",
        "split": "train",
    }


def test_entities_and_control_characters(tmp_path: Path) -> None:
    body = "<TEXT><TITLE>A &amp; B\n</TITLE><BODY>x &lt;ABC.O>&#127;y\n&amp;lt;&#3;</BODY></TEXT>"
    event = one(tmp_path, text=body)
    assert event["title"] == "A & B"
    assert event["text"] == "x <ABC.O> y\n&lt;"


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a&#31;b", "a b"),
        ("a\tb\x85c", "a b c"),
        ("&#252;", "ü"),
        ("&#55296;&#9999999;", "  "),
        ("AT&T; &unknown; &", "AT&T; &unknown; &"),
        ("&#38;lt;", "&lt;"),
    ],
)
def test_clean(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


def test_latin_1(tmp_path: Path) -> None:
    assert one(tmp_path, text="<TEXT><BODY>M\xfcnchen</BODY></TEXT>")["text"] == "München"


def test_unprocessed_story_is_its_raw_text(tmp_path: Path) -> None:
    event = one(tmp_path, text='<TEXT TYPE="UNPROC">&#2;\nA TABLE\n 1  2\n&#3;</TEXT>')
    assert event["text"] == "A TABLE\n 1  2"
    assert "title" not in event


@pytest.mark.parametrize("filler", ["&#3;", "Blah blah blah.\n&#3;"])
def test_brief_is_its_title_without_the_filler(tmp_path: Path, filler: str) -> None:
    event = one(
        tmp_path, text=f'<TEXT TYPE="BRIEF">&#2;\n******<TITLE>TIN UP\n</TITLE>{filler}</TEXT>'
    )
    assert event["title"] == "TIN UP"
    assert event["text"] == ""


def test_brief_keeps_text_beside_its_title(tmp_path: Path) -> None:
    event = one(tmp_path, text='<TEXT TYPE="BRIEF">***<TITLE>TIN UP</TITLE>More follows</TEXT>')
    assert event["text"].split() == ["***", "More", "follows"]


def test_story_without_any_text_is_still_a_document(tmp_path: Path) -> None:
    event = one(tmp_path, text='<TEXT TYPE="UNPROC">&#2;\n&#3;</TEXT>')
    assert event["text"] == ""


@pytest.mark.parametrize(
    ("topics", "labels", "expected"),
    [
        ("YES", ("tin",), ["tin"]),
        ("YES", (), []),
        ("YES", ("tin", "tin", "lead"), ["tin", "lead"]),
        ("NO", (), None),
        ("NO", ("tin",), None),
        ("BYPASS", (), None),
    ],
)
def test_topics_only_where_labelled(
    tmp_path: Path, topics: str, labels: tuple[str, ...], expected: list[str] | None
) -> None:
    assert one(tmp_path, topics=topics, labels=labels).get("topics") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" 5-MAR-1987 09:29:34.23", (1987, 3, 5, 9, 29, 34, 230_000)),
        ("27-FEB-1987 11:22:33.44", (1987, 2, 27, 11, 22, 33, 440_000)),
        ("1-JUN-1987  15:01:01.7", (1987, 6, 1, 15, 1, 1, 700_000)),
        (" 12-OCT-1987 15:01:01.79&#9;&#9;&#9;C T", (1987, 10, 12, 15, 1, 1, 790_000)),
        ("9-APR-1987 00:00:00.00    # a guess", (1987, 4, 9)),
        ("30-MAR-1987 708:45:06.78", (1987, 3, 30, 8, 45, 6, 780_000)),
        ("30-MAR-1987 99:99:99.99", (1987, 3, 30)),
        ("30-MAR-1987", (1987, 3, 30)),
        ("31-FEB-1987 10:00:00.00", None),
        ("3-XYZ-1987 10:00:00.00", None),
        ("unknown", None),
        ("", None),
    ],
)
def test_dates(text: str, expected: tuple[int, ...] | None) -> None:
    actual = parse_date(text)
    assert actual == (datetime(*expected, tzinfo=UTC) if expected else None)  # type: ignore[arg-type,misc]


def test_order_is_date_then_newid_over_all_files(tmp_path: Path) -> None:
    late, early = " 6-MAR-1987 00:00:00.00", "26-FEB-1987 00:00:00.00"
    write_stories(tmp_path, story(3, date=late), story(4, date=early))
    write_stories(tmp_path, story(10, date=late), story(2, date=late), number=1)
    assert ids(Reuters21578(tmp_path)) == ["4", "2", "3", "10"]


def test_fractions_of_different_length_sort_by_time(tmp_path: Path) -> None:
    write_stories(
        tmp_path, story(1, date="1-JUN-1987 00:00:00.99"), story(2, date="1-JUN-1987 00:00:00.9")
    )
    assert ids(Reuters21578(tmp_path)) == ["2", "1"]


def test_undated_story_follows_its_neighbour(tmp_path: Path) -> None:
    late, early = " 6-MAR-1987 00:00:00.00", "26-FEB-1987 00:00:00.00"
    write_stories(
        tmp_path,
        story(1, date="?"),
        story(2, date=late),
        story(3, date="?"),
        story(4, date=early),
        story(5, date="?"),
    )
    documents = events(Reuters21578(tmp_path))
    assert [event["id"] for event in documents] == ["4", "5", "1", "2", "3"]
    assert [event["id"] for event in documents if "time" not in event] == ["5", "1", "3"]


def test_no_date_at_all_leaves_newid_order(tmp_path: Path) -> None:
    write_stories(tmp_path, story(2, date=""), story(1, date=""))
    assert ids(Reuters21578(tmp_path)) == ["1", "2"]


def test_splits(tmp_path: Path) -> None:
    write_stories(
        tmp_path,
        story(1, split="TRAIN"),
        story(2, split="TEST"),
        story(3, split="NOT-USED"),
        story(4, split="TRAIN", topics="NO"),
        story(5, split="TEST", topics="NO"),
        story(6, split="TRAIN", topics="BYPASS"),
    )
    expected = {"all": "123456", "modapte": "12", "train": "1", "test": "2"}
    for split, wanted in expected.items():
        source = Reuters21578(tmp_path, split)
        assert "".join(ids(source)) == wanted
        assert source.total == len(wanted)
    assert [event.get("split") for event in events(Reuters21578(tmp_path))] == [
        *("train", "test"),
        *[None] * 4,
    ]


def test_unknown_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no split 'dev'; choose all, modapte, train, test"):
        Reuters21578(tmp_path, "dev")


def largest(folder: Path) -> Path:
    (folder / "all-topics-strings.lc.txt").write_text("acq\ncorn\nearn\ngrain\n")
    return write_stories(
        folder,
        story(1, labels=("earn",)),
        story(2, labels=("grain", "corn", "earn")),
        story(3, labels=("grain", "corn")),
        story(4, labels=("acq",), split="TEST"),
        story(5, labels=("acq",), split="TEST"),
        story(6, labels=("acq",), topics="NO"),
        story(7),
    )


@pytest.mark.parametrize(
    ("options", "expected", "topics"),
    [
        # All have two; of equals by name, and what was not labelled does not count.
        ({"classes": 1}, {"4": ["acq"], "5": ["acq"]}, ["acq"]),
        (
            {"classes": 2},
            {"2": ["corn"], "3": ["corn"], "4": ["acq"], "5": ["acq"]},
            ["acq", "corn"],
        ),
        # The largest of the split that was chosen.
        (
            {"classes": 2, "split": "train"},
            {"1": ["earn"], "2": ["corn", "earn"], "3": ["corn"]},
            ["corn", "earn"],
        ),
        (
            {"classes": 9, "split": "train", "labels": "last"},
            {"1": ["earn"], "2": ["earn"], "3": ["corn"]},
            ["corn", "earn"],
        ),
    ],
)
def test_only_the_largest_classes(
    tmp_path: Path, options: dict[str, Any], expected: dict[str, list[str]], topics: list[str]
) -> None:
    source = Reuters21578(largest(tmp_path), **options)
    assert {event["id"]: event["topics"] for event in events(source)} == expected
    assert source.topics == topics
    assert source.total == len(expected)


def test_one_label_of_all_stories(tmp_path: Path) -> None:
    documents = events(Reuters21578(largest(tmp_path), labels="last"))
    assert [event.get("topics") for event in documents] == [
        *(["earn"], ["earn"], ["corn"], ["acq"], ["acq"]),
        None,
        [],
    ]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("classes=-1", r"classes=-1 is not possible; expected 0 \(all classes\) to 1,000"),
        ("classes=ten", "'ten' is not a number"),
        ("labels=first", "choose all, last"),
    ],
)
def test_unknown_cuts_are_refused(tmp_path: Path, option: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_source(f"reuters21578:{largest(tmp_path)},{option}")


def test_stories_for_experiments(tmp_path: Path) -> None:
    write_stories(tmp_path, story(7, split="NOT-USED", labels=("tin",)))
    assert Reuters21578(tmp_path).stories == [
        Story(
            newid=7,
            date=datetime(1987, 3, 5, 9, 29, 34, 230_000, tzinfo=UTC),
            split="not-used",
            topics=("tin",),
            labelled=True,
            title="A TITLE",
            text="A body.",
        )
    ]


def test_topic_list_in_file_order(tmp_path: Path) -> None:
    write_stories(tmp_path, story(1))
    assert Reuters21578(tmp_path).topics == []
    (tmp_path / "all-topics-strings.lc.txt").write_text("tin  \n\nlead\nzinc\n")
    assert Reuters21578(tmp_path).topics == ["tin", "lead", "zinc"]


def test_iterates_again_from_the_beginning(tmp_path: Path) -> None:
    source: Source = Reuters21578(write_stories(tmp_path, story(1), story(2)))
    assert list(source) == list(source)


def test_files_one_folder_below(tmp_path: Path) -> None:
    folder = write_stories(tmp_path / "reuters", story(1))
    (folder / "all-topics-strings.lc.txt").write_text("tin\n")
    source = Reuters21578(tmp_path)
    assert ids(source) == ["1"]
    assert source.topics == ["tin"]


def test_two_copies_below_are_refused(tmp_path: Path) -> None:
    write_stories(tmp_path / "a", story(1))
    write_stories(tmp_path / "b", story(1))
    with pytest.raises(SourceError, match="found a and b; name the folder"):
        Reuters21578(tmp_path)


def test_no_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"expected reut2-\*\.sgm files there.*found none"):
        Reuters21578(tmp_path)
    with pytest.raises(SourceError, match="does not exist; expected the folder of the corpus"):
        Reuters21578(tmp_path / "nowhere")


def test_repeated_newid_is_refused(tmp_path: Path) -> None:
    write_stories(tmp_path, story(1))
    write_stories(tmp_path, story(1), number=1)
    with pytest.raises(SourceError, match="2 stories with NEWID 1; expected each NEWID once"):
        list(Reuters21578(tmp_path))


@pytest.mark.parametrize(
    ("sgml", "problem"),
    [
        ("", "0 stories begin and 0 are complete"),
        ("<html>", "0 stories begin and 0 are complete"),
        (story(1) + story(2)[:-20], "2 stories begin and 1 are complete"),
        (story(1).replace('NEWID="1"', 'NEWID="x"'), "expected a number as its NEWID"),
    ],
)
def test_damaged_file_is_named(tmp_path: Path, sgml: str, problem: str) -> None:
    write_stories(tmp_path, sgml)
    with pytest.raises(SourceError, match=rf"reut2-000\.sgm: .*{problem}"):
        list(Reuters21578(tmp_path))
