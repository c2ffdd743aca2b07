"""Words as classes, predicted from their neighbours."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from pipeline.corpora import SourceError, open_source
from pipeline.corpora.word_prediction import SENTENCE_END, neighbours
from pipeline.events.event import parse_event


def test_every_word_is_an_event(tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    path.write_text("It is a truth. A\n_truth_ universally acknowledged!  Alone.\n\nYes")
    events = [orjson.loads(raw) for raw in open_source(f"text:{path}")]
    assert [event["topics"][0] for event in events] == [
        *("It", "is", "a", "truth"),
        *("A", "truth", "universally", "acknowledged"),
    ]  # a word alone in its sentence has nothing to be predicted from
    assert events[0]["features"] == dict.fromkeys(
        ("1:is", "1:is 2:a", "1:is 2:a 3:truth", "2:a", "2:a 3:truth", "3:truth"), 1
    )
    assert [event["id"] for event in events[:2]] == ["novel-1", "novel-2"]


def test_a_word_in_the_middle_has_fifteen_features() -> None:
    actual = neighbours(["a", "b", "c", "d", "e", "f", "g"], 3)
    assert len(actual) == 15
    assert "-1:c 1:e" in actual
    assert "-1:c 1:e 2:f" in actual
    assert not any("0:" in run for run in actual)


def test_where_sentences_end() -> None:
    text = 'Well... so?! "Yes." No.1 a.b!? c..d\n\n\n e'
    actual = [part.strip() for part in SENTENCE_END.split(text)]
    assert actual == ["Well", "so", '"Yes', '" No.1 a.b', "c..d", "e"]


def test_a_long_line_of_dots_takes_no_time() -> None:
    # Each dot that were tried by itself would look at all behind it: minutes.
    before = time.process_time()
    assert len(SENTENCE_END.split("." * 100_000 + "a")) == 1
    assert time.process_time() - before < 5


def test_a_folder_is_read_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"{name} x")
    events = [parse_event(raw) for raw in open_source(f"text:{tmp_path}")]
    assert [event.id for event in events] == ["a-1", "a-2", "b-1", "b-2"]


def test_a_pattern_is_all_that_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("emma.txt", "persuasion.md", "later/emma.txt", "later/[sense].txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a b")
    monkeypatch.chdir(tmp_path)

    def ids(source: str) -> list[str | int]:
        return [parse_event(raw).id for raw in open_source(source)][::2]

    assert ids("text:*.*") == ["emma-1", "persuasion-1"]
    assert ids("text:**/*.txt") == ["emma.txt-1", "[sense]-1", "later/emma.txt-1"]
    assert ids(f"text:{tmp_path}/e*.txt") == ["emma-1"]
    assert ids("text:later/[sense].txt") == ["[sense]-1"]
    with pytest.raises(SourceError, match="or a pattern such as"):
        open_source("text:*.pdf")


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="expected a text file"):
        open_source(f"text:{tmp_path}")
    (tmp_path / "x.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="cannot be read as UTF-8"):
        list(open_source(f"text:{tmp_path}"))


def test_jane_austen(shared_corpus: Callable[[str], Path]) -> None:
    events = [orjson.loads(raw) for raw in open_source(f"text:{shared_corpus('jane-austen')}")]
    assert 700_000 < len(events) < 730_000
    assert 14_000 < len({event["topics"][0] for event in events}) < 18_000
