"""Every line of a source is an event, blank or a dead letter, and none is lost."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path

import orjson
import pytest

from pipeline.corpora import Source, SourceError, open_source
from pipeline.corpora.jsonl import JsonLines, StandardInput
from pipeline.events.dead_letters import DeadLetterFile
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.log.block_reader import BlockReader
from pipeline.log.prefetcher import Prefetcher
from pipeline.text.tokenizer import Tokenizer

GOOD = b'{"id":%d,"text":"x"}'


class Lines:
    """A source with these lines."""

    topics: Sequence[str] = ()
    total: int | None = None

    def __init__(self, *lines: bytes) -> None:
        self.lines = lines

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.lines)


def read(tmp_path: Path, source: Source, block: int = 10, limit: int = 0) -> tuple[list[int], Path]:
    letters = DeadLetterFile(tmp_path / "dead.jsonl", "test")
    sizes = []
    for reading in BlockReader(source, Tokenizer(), block, limit):
        letters.write(reading.dead_letters)
        if reading.block.entries:
            sizes.append(len(reading.block.entries))
    letters.close()
    return sizes, letters.path


def test_blocks_of_the_size_asked_for(tmp_path: Path) -> None:
    lines = [GOOD % n for n in range(25)]
    assert read(tmp_path, Lines(*lines))[0] == [10, 10, 5]
    assert read(tmp_path, Lines(*lines), 1)[0] == [1] * 25
    assert read(tmp_path, Lines(*lines), 10, limit=12)[0] == [10, 2]
    assert read(tmp_path, Lines(*lines), 10, limit=10)[0] == [10]
    assert read(tmp_path, Lines())[0] == []


def test_dead_letters_say_what_where_and_why(tmp_path: Path) -> None:
    lines = [GOOD % 1, b"\n", b'{"id":2}\n', b"\xff\xfe\n", GOOD % 3]
    sizes, path = read(tmp_path, Lines(*lines))
    assert sizes == [2]
    letters = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert [(letter["reason"], letter["line"]) for letter in letters] == [
        ("no_content", 3),
        ("not_json", 4),
    ]
    assert letters[0]["event"] == '{"id":2}\n'
    assert letters[1]["event_base64"] == "//4K"
    assert letters[0]["source"] == "test"
    assert letters[0]["detail"]


def test_no_dead_letters_no_file(tmp_path: Path) -> None:
    _, path = read(tmp_path, Lines(GOOD % 1))
    assert not path.exists()


def test_an_empty_read_is_not_a_line(tmp_path: Path) -> None:
    """Empty reads have no line number, and the byte order mark is that of the first line."""
    lines = (b"", b"\xef\xbb\xbf" + GOOD % 1, b"", b"", b"rubbish\n")
    sizes, path = read(tmp_path, Lines(*lines))
    assert sizes == [1]
    assert orjson.loads(path.read_bytes())["line"] == 2


def test_an_empty_read_ends_a_block(tmp_path: Path) -> None:
    assert read(tmp_path, Lines(GOOD % 1, b"", b"", GOOD % 2, GOOD % 3, b""))[0] == [1, 2]


def test_a_huge_line_is_cut_and_the_next_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    path.write_bytes(
        GOOD % 1 + b"\n" + b"x" * (3 * MAX_EVENT_BYTES + 17) + b"\n" + GOOD % 2 + b"\n"
    )
    lines = list(JsonLines(path))
    assert [len(line) for line in lines] == [
        len(GOOD % 1) + 1,
        MAX_EVENT_BYTES + 3,
        len(GOOD % 2) + 1,
    ]
    sizes, dead = read(tmp_path, JsonLines(path))
    assert sizes == [2]
    letter = orjson.loads(dead.read_bytes())
    assert letter["reason"] == "too_large"
    assert letter["cut"] is True
    assert len(letter["event"]) == MAX_EVENT_BYTES


@pytest.mark.parametrize("extra", [-2, -1, 0, 1, 2, 3])
def test_lines_near_the_limit(tmp_path: Path, extra: int) -> None:
    path = tmp_path / "edge.jsonl"
    event = b'{"id":1,"text":"%s"}' % (b"x" * (MAX_EVENT_BYTES + extra - 20))
    path.write_bytes(event + b"\n" + GOOD % 2)
    sizes, dead = read(tmp_path, JsonLines(path))
    fits = len(event) <= MAX_EVENT_BYTES
    assert sizes == [2 if fits else 1]
    assert dead.exists() != fits


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(GOOD % n for n in range(100))))
    assert read(tmp_path, open_source(str(path)), 64)[0] == [64, 36]


def test_a_cut_gzip_file_yields_its_events_and_then_an_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    lines = b"".join(b'{"id":%d,"text":"%d"}\n' % (n, n * 7919) for n in range(20_000))
    path.write_bytes(gzip.compress(lines)[:-2000])
    read_lines = []
    with pytest.raises(SourceError, match="damaged or cut off"):
        for line in JsonLines(path):
            read_lines.append(line)  # noqa: PERF402 - what came before the error counts
    assert len(read_lines) > 10_000


def test_the_content_says_whether_a_file_is_packed(tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl.gz"
    path.write_bytes(GOOD % 1)
    assert list(JsonLines(path)) == [GOOD % 1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("absent.jsonl", "does not exist; expected a file of JSON lines"),
        (".", "is a folder; expected a file"),
        ("rcv9:somewhere", "no corpus kind 'rcv9'"),
        ("synthetic:many", "cannot be opened"),
        ("synthetic:10,colour=red", "no option 'colour'"),
        ("synthetic:0", "cannot be opened"),
        ("reuters21578:absent", "absent"),
        ("newsgroups:absent", "absent"),
        ("newsgroups:a,b/c,order=date", "a,b/c"),
    ],
)
def test_sources_that_cannot_be_opened(source: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        list(open_source(source))


def test_standard_input_is_read_as_it_comes() -> None:
    into, out = os.pipe()
    source = iter(StandardInput(FileIO(into)))
    try:
        assert next(source) == b""  # nothing yet: what came so far is to be ranked
        os.write(out, GOOD % 1 + b"\n" + GOOD % 2)
        assert next(source) == GOOD % 1 + b"\n"
        assert next(source) == b""
        os.set_blocking(into, False)
        os.write(out, b"\n" + b"y" * 10)
        assert next(source) == GOOD % 2 + b"\n"
        assert next(source) == b""
    finally:
        os.close(out)
    assert list(source) == [b"y" * 10]


def test_a_line_may_come_in_any_pieces() -> None:
    """The pieces of a line are joined once. Of a line that is too long the beginning comes."""
    lines = [GOOD % 1 + b"\n", b"\n", b"x" * 400 + b"\n", b"z" * 150 + b"\n", b"y" * 90]
    expected = [lines[0], lines[1], b"x" * 103, b"z" * 103, lines[4]]
    for piece in (1, 2, 7, 50):
        into, out = os.pipe()
        source = iter(StandardInput(FileIO(into), max_event_bytes=100))
        written = b"".join(lines)
        came = []
        for at in range(0, len(written), piece):
            os.write(out, written[at : at + piece])
            while line := next(source):
                came.append(line)
        os.close(out)
        assert [*came, *source] == expected, piece


def test_prefetched_blocks_come_in_order_and_errors_are_raised() -> None:
    def blocks() -> Iterator[int]:
        yield from range(5)
        raise SourceError("the disk is gone")

    seen = []
    with pytest.raises(SourceError, match="the disk is gone"):
        for block in Prefetcher(blocks()):
            if block is not None:
                seen.append(block)  # noqa: PERF401 - what came before the error counts
    assert seen == [0, 1, 2, 3, 4]


def test_a_prefetcher_stops_when_it_is_closed() -> None:
    made = []

    def blocks() -> Iterator[int]:
        for n in range(1_000_000):
            made.append(n)
            yield n

    prefetched = Prefetcher(blocks(), ahead=2)
    assert next(item for item in prefetched if item is not None) == 0
    prefetched.close()
    assert len(made) < 10
