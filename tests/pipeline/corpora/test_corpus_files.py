"""Folders and archives of a corpus, read as Reuters-21578."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from pipeline.corpora import corpus_files
from pipeline.corpora.reuters21578 import Reuters21578
from pipeline.corpora.source import SourceError
from tests.support.reuters_sgml import story, write_stories


@pytest.mark.parametrize("kind", ["gz", "xz", ""])
@pytest.mark.parametrize("inside", ["", "reuters/", "./"])
def test_archive_is_read_in_place(tmp_path: Path, kind: str, inside: str) -> None:
    folder = write_stories(tmp_path / "unpacked", story(1), story(2))
    (folder / "all-topics-strings.lc.txt").write_text("tin\n")
    archive = tmp_path / f"corpus.tar.{kind}".rstrip(".")
    with tarfile.open(archive, f"w:{kind}") as tar:  # type: ignore[call-overload]
        for path in folder.iterdir():
            tar.add(path, f"{inside}{path.name}")
    before = sorted(tmp_path.rglob("*"))
    source = Reuters21578(archive)
    assert list(source) == list(Reuters21578(folder))
    assert source.topics == ["tin"]
    assert sorted(tmp_path.rglob("*")) == before


def archive_with(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_links_are_ignored(tmp_path: Path) -> None:
    real = write_stories(tmp_path / "real", story(1))
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "reut2-000.sgm").symlink_to(real / "reut2-000.sgm")
    with pytest.raises(SourceError, match="links are not followed"):
        Reuters21578(linked)
    link = tarfile.TarInfo("reut2-001.sgm")
    link.type, link.linkname = tarfile.SYMTYPE, str(real / "reut2-000.sgm")
    archive = archive_with(
        tmp_path / "links.tar",
        (link, b""),
        (tarfile.TarInfo("reut2-000.sgm"), story(5).encode()),
    )
    assert [json.loads(raw)["id"] for raw in Reuters21578(archive)] == ["5"]


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_stories(tmp_path / "unpacked", story(1))
    members = [(tarfile.TarInfo(f"reut2-00{i}.sgm"), story(i).encode()) for i in range(3)]
    archive = archive_with(tmp_path / "corpus.tar", *members)
    monkeypatch.setattr(corpus_files, "MAX_ARCHIVE_BYTES", 600)
    with pytest.raises(SourceError, match="unpack it and name the folder instead"):
        Reuters21578(archive)
    monkeypatch.setattr(corpus_files, "MAX_FILE_BYTES", 100)
    for path in (archive, folder):
        with pytest.raises(SourceError, match=r"reut2-000\.sgm is larger than 100 bytes"):
            list(Reuters21578(path))


@pytest.mark.parametrize("kind", ["gz", "xz", ""])
def test_damaged_archive(tmp_path: Path, kind: str) -> None:
    folder = write_stories(tmp_path / "unpacked", *map(story, range(200)))
    archive = tmp_path / "corpus.tar"
    with tarfile.open(archive, f"w:{kind}") as tar:  # type: ignore[call-overload]
        tar.add(folder, "reuters")
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    with pytest.raises(SourceError, match=r"cannot be read as an archive.*fetch it again"):
        Reuters21578(archive)
    archive.write_bytes(b"neither tar nor anything")
    with pytest.raises(SourceError, match="expected a folder or a complete"):
        Reuters21578(archive)
