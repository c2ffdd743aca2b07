"""A JSON array of any size is read element by element, each byte once."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora import SourceError, open_source
from pipeline.corpora.json_elements import json_elements
from pipeline.corpora.jsonl import JsonLines

EVENTS = [
    {"id": 1, "text": 'a "quoted" \\ word', "topics": ["a", "b]", "c}"]},
    {"id": 2, "text": "[{", "nested": {"x": [[1], {"y": "\\"}]}},
    {"id": "3", "title": "Z\u00fcrich\n\u2028", "text": ""},
]


def elements(data: bytes, size: int = 1 << 16, longest: int = 1 << 20) -> list[bytes]:
    chunks = iter([data[at : at + size] for at in range(0, len(data), size)])
    return list(json_elements(chunks, longest, "test"))


WRITTEN = {
    "compact": orjson.dumps(EVENTS),
    "indented": json.dumps(EVENTS, indent=2).encode(),
    "one per line": b"[\n" + b",\n".join(map(orjson.dumps, EVENTS)) + b"\n]\n",
    "indented objects": b"\n".join(json.dumps(event, indent=4).encode() for event in EVENTS),
    "arrays in a row": b"\n".join(orjson.dumps([event]) for event in EVENTS),
}


@pytest.mark.parametrize("way", WRITTEN)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 16])
def test_every_element_comes_once(way: str, size: int) -> None:
    assert [orjson.loads(one) for one in elements(WRITTEN[way], size)] == EVENTS


@pytest.mark.parametrize("way", WRITTEN)
@pytest.mark.parametrize("before", [b"", b"\n \t\r\n", b"\xef\xbb\xbf"])
def test_files_are_recognised_by_their_beginning(tmp_path: Path, way: str, before: bytes) -> None:
    path = tmp_path / "events.json"
    path.write_bytes(before + WRITTEN[way])
    assert [orjson.loads(one) for one in open_source(str(path))] == EVENTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", []),
        ("[ ]\n[]", []),
        ('[1,null, "x,[" ,{}]', ["1", "null", '"x,["', "{}"]),
        ("[{} rubbish {}]", ["{}", "rubbish", "{}"]),
        ("[[1,2],[3]]", ["[1,2]", "[3]"]),
        ("[{}]}{}", ["{}", "}", "{}"]),
        ("[{}] x", ["{}", "x"]),
    ],
)
def test_what_is_not_an_object_is_left_to_the_decoder(text: str, expected: list[str]) -> None:
    for size in (1, 100):
        assert [one.decode() for one in elements(text.encode(), size)] == expected


@pytest.mark.parametrize("text", ["[", "[{}", '[{}, {"a": 1', '[{}, {"a": "1]', "[1", '[{}, "x'])
def test_an_array_that_does_not_end_is_an_error(text: str) -> None:
    came = []
    with pytest.raises(SourceError, match="ends within element"):
        for one in json_elements(iter([text.encode()]), 100, "test"):
            came.append(one)  # noqa: PERF402 - what came before the error counts
    assert came in ([], [b"{}"])


def test_a_long_element_is_cut_and_the_next_one_is_read() -> None:
    data = b'[{"a":"' + b"x" * 100_000 + b'"},{"b":1}]'
    for size in (10, 1000, 1 << 20):
        assert elements(data, size, 50) == [data[1:51], b'{"b":1}']


def test_memory_does_not_follow_the_size_of_the_array() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"["
        for _ in range(500):
            yield b'{"id":1,"text":"x"},' * 1000
        yield b'{"text":"'
        for _ in range(500):
            yield b"x" * 20_000
        yield b'"}]'

    tracemalloc.start()
    try:
        count = sum(1 for _ in json_elements(chunks(), 1000, "test"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 500_001
    assert peak < 1 << 20


def test_json_lines_stay_json_lines(tmp_path: Path) -> None:
    """A bracket that is missing in a line concerns that line only."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"id":1,"text":"x"}\n{"id":2,"text":"\n{"id":3,"text":"x"}\n')
    assert [line[:7] for line in JsonLines(path)] == [b'{"id":1', b'{"id":2', b'{"id":3']


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(JSON, max_size=5), st.integers(1, 50), st.sampled_from([None, 1]))
def test_any_array_is_cut_into_its_elements(
    values: list[object], size: int, indent: int | None
) -> None:
    data = json.dumps(values, indent=indent).encode()
    assert [json.loads(one) for one in elements(data, size)] == values


@given(st.text(alphabet='[]{}",:\\ x1\n', max_size=60), st.integers(1, 9))
def test_any_text_loses_nothing_and_does_not_depend_on_the_chunks(text: str, size: int) -> None:
    data = text.encode()
    try:
        whole = elements(data)
    except SourceError:
        with pytest.raises(SourceError):
            elements(data, size)
        return
    assert elements(data, size) == whole
    left = b"".join(whole).translate(None, b" \n,[]")
    assert left == data.translate(None, b" \n,[]")
