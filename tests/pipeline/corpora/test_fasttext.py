"""Lines of fastText: labels and words; the id is the number of the line."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from pipeline.corpora import SourceError, open_source
from pipeline.log.block_reader import BlockReader
from pipeline.text.tokenizer import Tokenizer
from tests.support.format_documents import documents, native, rankings
from tests.support.packing import PACKINGS


@pytest.mark.parametrize("packing", ["plain", *PACKINGS])
def test_rankings_are_those_of_native_events(tmp_path: Path, packing: str) -> None:
    every = documents()
    lines, events = [], []
    for number, event in enumerate(every, start=1):
        text = " ".join(f"{event['title']} {event['text']}".split())
        labels = " ".join(f"__label__{topic}" for topic in event["topics"])
        lines.append(f"{labels} {text}\n".encode())
        events.append({"id": number, "text": text, "topics": event["topics"]})
    path = tmp_path / "train.txt"
    path.write_bytes(PACKINGS.get(packing, bytes)(b"".join(lines)))
    expected = rankings(tmp_path, native(tmp_path / "native.jsonl", events))
    assert rankings(tmp_path, f"fasttext:{path}") == expected


def test_what_becomes_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(
        b"__label__a __label__b,c Wheat\tis up\n"
        b"\r\n"
        b"no label\r\n"
        b"labels __label__x may stand __label__x anywhere\n"
        b"__label__only\n"
        b"\xff\n"
        b"__label__ x"
    )
    raw = [line for line in open_source(f"fasttext:{path}") if line.strip()]
    assert [orjson.loads(line) for line in (*raw[:4], raw[5])] == [
        {"id": 1, "topics": ["a", "b,c"], "text": "Wheat is up"},
        {"id": 3, "text": "no label"},
        {"id": 4, "topics": ["x", "x"], "text": "labels may stand anywhere"},
        {"id": 5, "topics": ["only"], "text": ""},
        {"id": 7, "topics": [""], "text": "x"},
    ]
    (block,) = BlockReader(open_source(f"fasttext:{path}"), Tokenizer(), 10)
    letters = [(one.line, one.refusal.reason) for one in block.dead_letters]
    assert letters == [(6, "bad_row"), (7, "bad_topics")]


def test_a_line_of_blanks_of_other_scripts_is_a_document_without_words(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("\u3000\u00a0\n")
    (raw,) = open_source(f"fasttext:{path}")
    assert orjson.loads(raw) == {"id": 1, "text": ""}


def test_a_long_line_is_a_dead_letter(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"__label__a x\n" + b"x" * (10 << 20) + b"\n__label__a y\n")
    (block,) = BlockReader(open_source(f"fasttext:{path}"), Tokenizer(), 10)
    assert len(block.block.entries) == 2
    assert [(one.line, one.refusal.reason) for one in block.dead_letters] == [(2, "too_large")]


def test_another_prefix(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"#a __label__b x\n")
    (raw,) = open_source(f"fasttext:{path},prefix=#")
    assert orjson.loads(raw) == {"id": 1, "topics": ["a"], "text": "__label__b x"}
    for prefix in ("", "a b"):
        with pytest.raises(SourceError, match="prefix="):
            open_source(f"fasttext:{path},prefix={prefix}")
