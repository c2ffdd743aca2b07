"""Files of NewsML-G2: every item of every document is an event or a dead letter."""

from __future__ import annotations

import io
import os
import tarfile
import tracemalloc
from io import FileIO
from pathlib import Path

import pytest

from pipeline.corpora import SourceError, open_source
from pipeline.corpora.input_file import pipe_part
from pipeline.corpora.newsml_items import items_of
from pipeline.corpora.source import RefusedEvent
from pipeline.events.formats import FORMATS
from tests.support.format_documents import documents, native, rankings
from tests.support.newsml_g2 import NAR, WAYS, item, message
from tests.support.packing import PACKINGS, STREAMS, zipped

FORMAT = "newsml-g2"
EVENT = {"id": "1", "title": "t", "text": "x", "topics": []}


def prepared(count: int = 60) -> list[dict[str, object]]:
    """Documents whose texts have single blanks only, as those of XML have after reading."""
    return [
        {**event, "time": "2026-01-02T03:04:05+01:00"}
        | {key: " ".join(event[key].split()) for key in ("title", "text")}
        for event in documents(count)
    ]


def items(data: bytes, size: int = 1 << 16, longest: int = 1 << 20) -> list[bytes]:
    chunks = iter([data[at : at + size] for at in range(0, len(data), size)])
    return list(items_of(chunks, "test", longest))


def ids(raw: list[bytes]) -> list[object]:
    """The ids of items; None for a dead letter."""
    parse = FORMATS[FORMAT]
    return [None if isinstance(one, RefusedEvent) else parse(one, 1 << 20).id for one in raw]


def written(folder: Path, where: str, events: list[dict[str, object]]) -> Path:
    """The items of events in a file, folder or archive."""
    ways = ("xhtml", "prefixed", "nitf", "plain", "cdata")
    texts = [item(event, ways[n % len(ways)], where != "message") for n, event in enumerate(events)]
    if where == "message":
        path = folder / "message.xml"
        path.write_text(message(texts))
        return path
    if where in PACKINGS and where != "zip":
        path = folder / f"message.xml.{where}"
        path.write_bytes(PACKINGS[where](message(texts).encode()))
        return path
    files = {f"{n // 10}/{n:05}.xml": text.encode() for n, text in enumerate(texts)}
    if where == "zip":
        path = folder / "items.zip"
        path.write_bytes(zipped({**files, "README": b"no XML"}))
        return path
    if where == "tar.zst":
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as pack:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                pack.addfile(info, io.BytesIO(content))
        path = folder / "items"
        path.write_bytes(STREAMS["zst"](tar.getvalue()))
        return path
    for name, content in files.items():
        path = folder / "items" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "items" / "notes.txt").write_text("no XML")
    return folder / "items"


@pytest.mark.parametrize("where", ["message", "folder", "zip", "tar.zst", "gz"])
def test_rankings_are_those_of_native_events(tmp_path: Path, where: str) -> None:
    every = prepared()
    path = written(tmp_path, where, every)
    expected = rankings(tmp_path, native(tmp_path / "native.jsonl", every))
    assert rankings(tmp_path, str(path), format=FORMAT) == expected


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 16])
def test_documents_may_follow_each_other(size: int) -> None:
    texts = [item({**EVENT, "id": str(n)}, WAYS[n % len(WAYS)]) for n in range(6)]
    declared = '<?xml version="1.0"?>\n'
    data = (
        f"\n{declared}{texts[0]}\n{texts[1]}{declared}{texts[2]} <!-- x -->\n{message(texts[3:])}"
    )
    assert ids(items(data.encode(), size)) == list("012345")


def test_an_item_is_written_with_what_is_declared_around_it() -> None:
    data = (
        f'<n:newsMessage xmlns:n="{NAR}" xml:lang="en"><n:itemSet xmlns:h="urn:h">'
        '<n:newsItem guid="a&amp;&quot;b" h:x="1&#10;2"><h:p>&lt;&amp;]]&gt;<![CDATA[<c>]]></h:p>'
        "</n:newsItem></n:itemSet></n:newsMessage>"
    )
    (raw,) = items(data.encode())
    assert raw.decode() == (
        f'<n:newsItem xmlns:n="{NAR}" xml:lang="en" xmlns:h="urn:h" guid=\'a&amp;"b\' '
        'h:x="1&#10;2"><h:p>&lt;&amp;]]&gt;&lt;c&gt;</h:p></n:newsItem>'
    )


@pytest.mark.parametrize(
    "damage", ["<a><b></a>", "&undefined;", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<a" * 9]
)
@pytest.mark.parametrize("size", [1, 100, 1 << 16])
def test_damage_is_a_dead_letter_and_the_next_document_is_read(damage: str, size: int) -> None:
    good = [f'<?xml version="1.0"?>{item({**EVENT, "id": str(n)})}' for n in range(3)]
    data = f'{good[0]}<?xml version="1.0"?>{damage}{good[1]}{good[2]}'.encode()
    raw = items(data, size)
    assert ids(raw) == ["0", None, "1", "2"]
    letter = next(one for one in raw if isinstance(one, RefusedEvent))
    assert letter.refusal.reason == "not_xml"
    assert letter.refusal.detail.startswith("test: ")


@pytest.mark.parametrize("cut", [10, 100, 700, -5])
def test_a_document_that_is_cut_off_is_a_dead_letter(cut: int) -> None:
    data = message([item({**EVENT, "id": str(n)}) for n in range(3)]).encode()[:cut]
    *before, last = items(data)
    assert ids(before) == [str(n) for n in range(len(before))]
    assert isinstance(last, RefusedEvent)


@pytest.mark.parametrize("data", [b"", b"\n", b"rubbish", b"\0", b"<", b"[1]"])
def test_a_file_that_is_not_xml_is_a_dead_letter(data: bytes) -> None:
    (letter,) = items(data)
    assert isinstance(letter, RefusedEvent)
    assert letter.refusal.reason == "not_xml"


def test_a_long_item_is_cut_and_refused_and_the_next_one_is_read() -> None:
    texts = [item({**EVENT, "id": str(n), "text": "x" * (n % 2) * 5000}) for n in range(3)]
    raw = items(message(texts).encode(), longest=2000)
    assert [len(one) == 2000 for one in raw] == [False, True, False]


@pytest.mark.parametrize("inside", ["<!--{}-->", "<a b='{}'/>", "<?a {}?>"])
def test_a_long_tag_ends_the_document(inside: str) -> None:
    data = f"<newsMessage>{inside.format('x' * (3 << 20))}</newsMessage>".encode()
    (letter,) = items(data)
    assert isinstance(letter, RefusedEvent)
    assert "a tag has more than" in letter.refusal.detail


def test_many_declarations_are_refused() -> None:
    declared = " ".join(f"xmlns:n{n}='urn:{n}'" for n in range(1000))
    (letter,) = items(f"<newsMessage {declared}><itemSet><a/><a/></itemSet></newsMessage>".encode())
    assert isinstance(letter, RefusedEvent)


def test_memory_does_not_follow_the_size_of_a_message() -> None:
    one = item(EVENT, declared=False)
    chunks = iter([message([]).split("</itemSet>")[0].encode(), *[one.encode() * 50] * 100])
    tracemalloc.start()
    try:
        count = sum(1 for _ in items_of(chunks, "test", 1 << 20))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 5001  # with the dead letter for the end that is missing
    assert peak < 2 << 20


def test_items_come_as_they_are_written() -> None:
    into, out = os.pipe()
    source = items_of(pipe_part(FileIO(into), as_text=False), "pipe", 1 << 20)
    start, end = message([]).split("</itemSet>")
    os.write(out, start.encode() + item(EVENT, declared=False).encode())
    assert ids([next(source)]) == ["1"]
    assert next(source) == b""
    os.write(out, end.join(["</itemSet>", ""]).encode())
    os.close(out)
    assert [one for one in source if one] == []


def test_a_folder_without_xml_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no \.xml files"):
        open_source(str(tmp_path), format_=FORMAT)
    with pytest.raises(SourceError, match="does not exist; expected an XML file"):
        open_source(str(tmp_path / "absent"), format_=FORMAT)


def test_declarations_are_not_repeated_without_end() -> None:
    """A megabyte of empty items became a gigabyte of dead letters."""
    declared = " ".join(f'xmlns:p{number}="{"u" * 80}"' for number in range(40))
    for count, refused in ((50, False), (20_000, True)):
        text = f"<newsMessage {declared}><itemSet>{'<a/>' * count}</itemSet></newsMessage>"
        found = list(items_of(iter([text.encode()]), "evil.xml", 1 << 20))
        problems = [one for one in found if isinstance(one, RefusedEvent)]
        assert [one.refusal.reason for one in problems] == ["not_xml"] * refused
        assert sum(map(len, found)) < (1 << 20) + 8 * len(text)
        if not refused:
            assert len(found) == count
