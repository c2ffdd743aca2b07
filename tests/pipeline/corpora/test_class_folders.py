"""One folder per class: the folder is the topic, and the order is the same everywhere."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pytest

from pipeline.corpora import SourceError, open_source
from pipeline.log.block_reader import BlockReader
from pipeline.text.tokenizer import Tokenizer
from tests.fuzz.targets.archives import tarred
from tests.support.format_documents import documents, native, rankings
from tests.support.packing import STREAMS, zipped

FILES = {
    "train/pos/1.txt": b"Good.",
    "train/neg/1.txt": b"Bad.",
    "test/pos/1.txt": "Z\u00fcrich \u20ac".encode("utf-16"),
    "pos/page.HTML": b"<p>a<b>b</b></p><p>c</p>",
    "pos/page": b"\n<!DOCTYPE html><title>t</title><p>d",
    "pos/packed.html.gz": gzip.compress(b"<i>e</i> &amp; f"),
    "README": b"in no folder",
    "pos/.hidden": b"x",
}
TEXTS = {
    "pos/packed.html.gz": "e & f", "pos/page": "d", "pos/page.HTML": "ab c",
    "test/pos/1.txt": "Z\u00fcrich \u20ac", "train/neg/1.txt": "Bad.", "train/pos/1.txt": "Good.",
}  # fmt: skip


def unpack(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.mark.parametrize("where", ["folder", "zip", "tar", "tar.zst"])
def test_files_are_documents_of_their_folder(tmp_path: Path, where: str) -> None:
    path = tmp_path / "corpus"
    if where == "folder":
        unpack(path, FILES)
    elif where == "zip":
        path.write_bytes(zipped(FILES))
    else:
        tar = tarred(FILES, "w")
        path.write_bytes(STREAMS["zst"](tar) if where == "tar.zst" else tar)
    source = open_source(f"folders:{path},order=name")
    assert list(source.topics) == ["neg", "pos"]
    assert source.total == len(TEXTS)
    assert [orjson.loads(raw) for raw in source] == [
        {"id": name, "text": text, "topics": [name.split("/")[-2]]} for name, text in TEXTS.items()
    ]


def test_the_order_depends_on_the_seed_only(tmp_path: Path) -> None:
    files = {f"{n % 3}/{n}.txt": b"x" for n in range(30)}
    path = unpack(tmp_path / "a", files)
    packed = tmp_path / "a.zip"
    packed.write_bytes(zipped(files))

    def ids(source: str) -> list[str]:
        return [orjson.loads(raw)["id"] for raw in open_source(source)]

    assert ids(f"folders:{path}") == ids(f"folders:{packed}") == ids(f"folders:{path},seed=0")
    assert ids(f"folders:{path},seed=1") != ids(f"folders:{path}") != sorted(files)
    assert ids(f"folders:{path},order=name") == sorted(files)


def test_rankings_are_those_of_native_events(tmp_path: Path) -> None:
    events = [
        {"id": f"{event['topics'][0]}/{event['id']}", "text": event["text"],
         "topics": event["topics"][:1]}
        for event in documents() if event["topics"]
    ]  # fmt: skip
    events.sort(key=lambda event: str(event["id"]))
    folder = unpack(tmp_path / "f", {event["id"]: event["text"].encode() for event in events})
    topics = tmp_path / "topics.txt"
    topics.write_text("\n".join(sorted({event["topics"][0] for event in events})))
    expected = rankings(tmp_path, native(tmp_path / "n.jsonl", events), topics=topics)
    assert rankings(tmp_path, f"folders:{folder},order=name") == expected


def test_files_that_cannot_be_read_are_dead_letters(tmp_path: Path) -> None:
    files = {"a/1": b"\xff", "a/2": b"x" * (2 << 20), "a/3": gzip.compress(bytes(5 << 20)),
             "a/4": b"good", "a/5": b""}  # fmt: skip
    folder = unpack(tmp_path / "f", files)
    (block,) = BlockReader(open_source(f"folders:{folder},order=name"), Tokenizer(), 10)
    letters = [(one.line, one.refusal.reason, len(one.raw)) for one in block.dead_letters]
    most = (1 << 20) + 3
    assert letters == [(1, "bad_content", 1), (2, "too_large", most), (3, "too_large", most)]
    assert len(block.block.entries) == 2
    (tmp_path / "f" / "a" / "3").write_bytes(files["a/3"][:-5])
    with pytest.raises(SourceError, match="a/3 is damaged or cut off"):
        list(open_source(f"folders:{folder}", 1 << 23))


@pytest.mark.parametrize(
    ("options", "message"),
    [(",order=date", "folders has no order 'date'; choose random or name"),
     (",seed=x", "not a number"), (",colour=red", "folders has no option 'colour'")],
)  # fmt: skip
def test_bad_options_are_errors(tmp_path: Path, options: str, message: str) -> None:
    unpack(tmp_path, {"a/1": b"x"})
    with pytest.raises(SourceError, match=message):
        open_source(f"folders:{tmp_path}{options}")


def test_a_folder_without_folders_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError, match="no files in folders; expected one folder per class"):
        open_source(f"folders:{tmp_path}")
    with pytest.raises(SourceError, match="does not exist"):
        open_source(f"folders:{tmp_path / 'absent'}")
