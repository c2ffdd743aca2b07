"""No file of a corpus ends in a traceback: it is read, or an error names it and says what to do."""

from __future__ import annotations

import gzip
import io
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from pipeline.corpora import tar_archive
from pipeline.corpora.registry import open_source, ranks_for, remarks_for
from pipeline.corpora.source import SourceError
from pipeline.events.event import parse_event
from tests.fuzz.targets.archives import Archives, tarred, zipped
from tests.fuzz.targets.corpora import (
    NEWSML,
    POST,
    CorpusTarget,
    Letor,
    Movielens,
    Newsgroups,
    Rcv1Labels,
    Rcv1Newsml,
    Rcv1Tokens,
    Reuters,
    TextFiles,
    TrecJudgements,
    TrecRuns,
)
from tests.fuzz.targets.own_files import CsvFiles, FasttextFiles, NewsmlG2Files
from tests.support.reuters_sgml import story, write_stories

TARGETS = (
    Archives, CsvFiles, FasttextFiles, Letor, Movielens, NewsmlG2Files, Newsgroups,
    Rcv1Labels, Rcv1Newsml, Rcv1Tokens, Reuters, TextFiles,
    TrecJudgements, TrecRuns,
)  # fmt: skip
MUTATIONS = 200
STORY = NEWSML.format(number=2286).encode()
DIGITS = "9" * 5000  # more than `int` takes


@pytest.mark.parametrize("target", TARGETS)
def test_mutated_files_are_read_or_refused(target: Callable[[], CorpusTarget]) -> None:
    """Any exception that is not a `SourceError`, and any document lost without one, fails."""
    mutated = target()
    rng = random.Random(2002)
    seeds = list(mutated.seeds())
    for _ in range(MUTATIONS):
        data = mutated.mutate(rng, rng.choice(seeds), rng.choice(seeds))
        mutated.run(data)
        if rng.random() < 0.2:
            seeds.append(data)
    mutated.close()


def events(source: str) -> list[dict[str, object]]:
    """All events of a source, each one usable."""
    raw = list(open_source(source))
    for event in raw:
        parse_event(event)
    return [orjson.loads(event) for event in raw]


def test_a_newid_of_many_digits_is_refused(tmp_path: Path) -> None:
    folder = write_stories(tmp_path, story(1).replace('NEWID="1"', f'NEWID="{DIGITS}"'))
    with pytest.raises(SourceError, match=r"reut2-000.sgm: .*of at most 15 digits"):
        events(f"reuters21578:{folder}")


def test_a_year_of_few_digits_is_a_valid_time(tmp_path: Path) -> None:
    folder = write_stories(tmp_path, story(1, date="5-MAR-0087 09:29:34.23"))
    assert events(f"reuters21578:{folder}")[0]["time"] == "0087-03-05T09:29:34.23Z"


def newsml_folder(path: Path, raw: bytes) -> str:
    (path / "2286newsML.xml").write_bytes(raw)
    return f"rcv1:{path}"


@pytest.mark.parametrize(
    "encoding", ["idna", "punycode", "unicode_escape", "utf-7", "utf-16", "undefined", "rot13", "x"]
)
def test_odd_encodings_are_read_as_latin_1(tmp_path: Path, encoding: str) -> None:
    declared = STORY.replace(b"iso-8859-1", encoding.encode())
    declared = declared.replace(b"Prices rose.", b"Prices\\ud800 +2AA- rose \xff.")
    (event,) = events(newsml_folder(tmp_path, declared))
    assert event["title"] == "Wheat & corn up."
    assert "rose \u00ff." in str(event["text"])


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "ISO-8859-15", "windows-1252", "us-ascii"])
def test_the_encodings_of_news_are_honoured(tmp_path: Path, encoding: str) -> None:
    declared = STORY.replace(b"iso-8859-1", encoding.encode())
    euro = "\u20ac" if encoding not in ("us-ascii",) else "$"
    declared = declared.replace(b"Prices rose.", f"Prices {euro} rose.".encode(encoding))
    (event,) = events(newsml_folder(tmp_path, declared))
    assert event["text"] == f"Prices {euro} rose. Traders smiled."


def changed(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


def damaged_zips() -> dict[str, bytes]:
    """A zip file with a story, damaged in various ways. Sizes and flags are stated twice in it."""
    pack = zipped({"2286newsML.xml": STORY})
    central = pack.index(b"PK\x01\x02")
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as zip_file:
        zip_file.writestr("2286newsML.xml", STORY)
    return {
        "cut off": pack[: len(pack) // 2],
        "checksum": stored.getvalue().replace(b"Prices", b"prices"),
        "encrypted": changed(changed(pack, 6, b"\1"), central + 8, b"\1"),
        "unknown compression": changed(changed(pack, 8, b"\x63"), central + 10, b"\x63"),
        "lzma": changed(changed(pack, 8, b"\x0e"), central + 10, b"\x0e"),
        "bzip2": changed(changed(pack, 8, b"\x0c"), central + 10, b"\x0c"),
        "deflate": changed(pack, 60, b"\xff\xff\xff\xff"),
        "offset": changed(pack, central + 42, struct.pack("<I", 2**32 - 2)),
        "name": changed(pack, 30, b"\xff\xfe"),
        "version": changed(pack, central + 6, b"\xff"),
    }


@pytest.mark.parametrize("damage", damaged_zips())
@pytest.mark.parametrize("packed", [False, True], ids=["in a folder", "in a tar file"])
def test_a_damaged_zip_file_of_a_day_is_named(tmp_path: Path, damage: str, packed: bool) -> None:
    content = damaged_zips()[damage]
    (tmp_path / "day").mkdir()
    path = tmp_path / ("corpus.tar" if packed else "day/19960820.zip")
    path.write_bytes(tarred({"19960820.zip": content}, "w") if packed else content)
    with pytest.raises(SourceError, match=r"19960820\.zip"):
        events(f"rcv1:{path if packed else path.parent}")


def header_with_size(name: str, size: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar header that states this size, with a correct checksum."""
    info = tarfile.TarInfo(name)
    info.type = kind
    header = changed(info.tobuf(tarfile.USTAR_FORMAT), 124, size)
    total = sum(header[:148]) + sum(header[156:512]) + 8 * 32
    return changed(header, 148, b"%06o\0 " % total)


NEGATIVE = b"\xff" * 10 + b"\xfe\x00"  # -512 in base 256
HUGE = b"\x80" + (1 << 40).to_bytes(11, "big")


@pytest.mark.parametrize("size", [NEGATIVE, HUGE], ids=["negative", "huge"])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
@pytest.mark.parametrize("name", ["reut2-000.sgm", "other"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_tar_file_with_an_impossible_size_is_refused(
    tmp_path: Path, size: bytes, kind: bytes, name: str, compressed: bool
) -> None:
    """A negative size led back to the same header for ever; a huge one was read into memory."""
    good = tarred({"reut2-001.sgm": story(1).encode()}, "w")
    data = header_with_size(name, size, kind) + good
    path = tmp_path / "corpus.tar.gz"
    path.write_bytes(gzip.compress(data) if compressed else data)
    with pytest.raises(SourceError, match=r"corpus\.tar\.gz"):
        events(f"reuters21578:{path}")


def test_a_long_way_through_an_archive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members that nobody wants must be unpacked to be skipped; a few bytes can hold many."""
    monkeypatch.setattr(tar_archive, "MAX_SKIPPED_BYTES", 1 << 20)
    path = tmp_path / "corpus.tar.gz"
    path.write_bytes(tarred({"zeros": bytes(2 << 20), "reut2-000.sgm": b""}, "w:gz"))
    with pytest.raises(SourceError, match="more than 1,048,576 bytes"):
        events(f"reuters21578:{path}")


def test_names_in_archives_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "posts.tar"
    names = [f"sci.med/{DIGITS}", f"sci.med/1{DIGITS}", "sci\udcff/5", "sci.med/007", "sci.med/7"]
    path.write_bytes(tarred(dict.fromkeys(names, b"a body"), "w"))
    source = open_source(f"newsgroups:{path}")
    assert list(source.topics) == ["sci.med", "sci\\udcff"]
    ids = [str(orjson.loads(raw)["id"]) for raw in source]
    numbers = [id_ for id_ in ids if id_.startswith("sci.med")]
    assert numbers == ["sci.med/007", "sci.med/7", f"sci.med/{DIGITS}", f"sci.med/1{DIGITS}"]
    assert len(list(open_source(f"newsgroups:{path},order=shuffled"))) == len(names)


def test_names_of_files_may_be_anything(tmp_path: Path) -> None:
    bad = "a\udcff"  # a byte that is not UTF-8
    (tmp_path / f"{bad}.txt").write_text("It is a truth.")
    assert events(f"text:{tmp_path}")[0]["id"] == "a\\udcff-1"
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / bad).write_text("1 Q0 d1 1 0.5 tag\n1 Q0 d2 2 0.25 tag\n")
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    (first, _) = events(f"trec:{runs},{tmp_path / 'qrels'}")
    assert first["features"] == {"a\\udcff": 1.0} or first["features"] == {}


@pytest.mark.parametrize(
    ("read", "place"),
    [
        *(
            (open_source, place)
            for place in ("{}", "letor:{}", "rcv1:{}", "text:{}", "trec:{0},{0}")
        ),
        *((ranks_for, place) for place in ("letor:{}", "trec:{0},{0}")),
        (remarks_for, "trec:{0},{0}"),
    ],
)
def test_a_path_that_the_system_refuses_is_an_error(
    read: Callable[[str], object], place: str
) -> None:
    with pytest.raises(SourceError, match="File name too long"):
        read(place.format("x" * 5000))


@pytest.mark.parametrize(
    "options", ["least={n}", "user={n}", "nth={n}", "least=-{n}", "user={d}", "nth={d}"]
)
def test_options_out_of_range_are_errors(tmp_path: Path, options: str) -> None:
    (tmp_path / "u.data").write_bytes(b"1\t1\t5\t0\n")
    text = options.format(n=10**30, d=DIGITS)
    with pytest.raises(SourceError, match=r"too large|not a number"):
        open_source(f"movielens:{tmp_path},{text}")


def test_a_post_with_a_header_of_any_kind_is_read(tmp_path: Path) -> None:
    (tmp_path / "sci.med").mkdir()
    for number, date in enumerate((DIGITS, f"Tue, {DIGITS} Apr 1993", "6 Apr 500", "(" * 5000)):
        post = POST.replace("Tue, 6 Apr 1993 14:03:46 GMT", date)
        (tmp_path / "sci.med" / str(number)).write_text(post)
    assert len(events(f"newsgroups:{tmp_path}")) == 4
