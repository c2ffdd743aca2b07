"""The RCV1 source on small files of both editions, intact and damaged."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpora import open_source, rcv1_labels, rcv1_newsml, rcv1_tokens
from pipeline.corpora.rcv1 import Rcv1
from pipeline.corpora.source import Source, SourceError
from pipeline.events.event import parse_event
from pipeline.text.terms import words_of
from pipeline.text.tokenizer import Tokenizer
from tests.support.rcv1_standin import FULL_SIZE, write_standin

TRAIN = """\
.I 2286
.W
recov recov recov excit excit bring mexic\x20
mexic market   life emerg

.I 2287
.W
week week year
20 percent

"""
TEST_0 = ".I 26151\n.W\nvenez\n\n.I 26160\n.W\n\n.I 26152\n.W\nlate\n\n"
TEST_1 = ".I 26161\r\n.W\r\nrain rain\r\nsnow"  # as on Windows, and without an end
QRELS = """\
E11 2286 1
ECAT 2286 1
C24 2287 1
CCAT 2287 1
C24 2290 1
E11 26151 1
E11 26151 1
M11 26152 0
M11 26161 1
"""


def write_tokens(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    usual = {"train": TRAIN, "test_pt0": TEST_0, "test_pt1": TEST_1}
    for name, text in (files or usual).items():
        (folder / f"lyrl2004_tokens_{name}.dat").write_bytes(text.encode())
    (folder / "rcv1-v2.topics.qrels").write_text(QRELS)
    return folder


def pack(path: Path) -> None:
    Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))


def events(source: Source) -> list[dict[str, Any]]:
    documents = [json.loads(raw) for raw in source]
    assert source.total == len(documents)
    for raw in source:
        parse_event(raw)
    return documents


def ids(source: Source) -> list[str]:
    return [event["id"] for event in events(source)]


def refused(folder: Path) -> str:
    with pytest.raises(SourceError) as caught:
        events(open_source(f"rcv1:{folder}"))
    return str(caught.value)


def test_tokens_come_by_number_with_their_topics(tmp_path: Path) -> None:
    source = open_source(f"rcv1:{write_tokens(tmp_path)}")
    assert source.topics == ["C24", "CCAT", "E11", "ECAT", "M11"]
    assert events(source) == [
        {
            "id": "2286",
            "text": "recov recov recov excit excit bring mexic mexic market   life emerg",
            "topics": ["E11", "ECAT"],
        },
        {"id": "2287", "text": "week week year 20 percent", "topics": ["C24", "CCAT"]},
        {"id": "26151", "text": "venez", "topics": ["E11"]},
        {"id": "26152", "text": "late"},  # somebody said no topic: not labelled
        {"id": "26160", "text": ""},
        {"id": "26161", "text": "rain rain snow", "topics": ["M11"]},
    ]


def test_the_usual_profile_leaves_stems_as_they_are(tmp_path: Path) -> None:
    texts = [event["text"] for event in events(Rcv1(write_tokens(tmp_path)))]
    counted = words_of(Tokenizer("reuters2000").count(texts).table)
    assert set(counted) == {word for text in texts for word in text.split()}


def test_packed_files_are_the_same_stream(tmp_path: Path) -> None:
    plain, packed = write_tokens(tmp_path / "plain"), write_tokens(tmp_path / "packed" / "a" / "b")
    for path in list(packed.iterdir()):
        pack(path)
        path.unlink()
    assert events(Rcv1(tmp_path / "packed")) == events(Rcv1(plain))
    pack(plain / "lyrl2004_tokens_train.dat")  # both are there: it is one file
    pack(plain / "rcv1-v2.topics.qrels")
    assert len(events(Rcv1(plain))) == 6
    with tarfile.open(tmp_path / "sample.tar.gz", "w:gz") as tar:
        tar.add(packed, "rcv1")
    assert events(Rcv1(tmp_path / "sample.tar.gz")) == events(Rcv1(plain))


def test_files_may_overlap_and_one_alone_will_do(tmp_path: Path) -> None:
    parts = {
        name: "".join(f".I {i}\n.W\nw{i}\n\n" for i in range(first, 30, 3))
        for first, name in ((2, "train"), (0, "test_pt0"), (1, "test_pt3"))
    }
    assert ids(Rcv1(write_tokens(tmp_path / "three", **parts))) == [str(i) for i in range(30)]
    assert ids(Rcv1(write_tokens(tmp_path / "one", train=parts["train"]))) == [
        str(i) for i in range(2, 30, 3)
    ]


def test_split_is_the_papers_share(tmp_path: Path) -> None:
    text = "".join(f".I {i}\n.W\nw\n\n" for i in range(100))
    folder = write_tokens(tmp_path, train=text)
    train, test = (ids(open_source(f"rcv1:{folder},split={s}")) for s in ("train", "test"))
    assert train == [str(i) for i in range(64)]  # 521,439 of 809,383 are 64.4 %
    assert train + test == [str(i) for i in range(100)]
    with pytest.raises(SourceError, match=r"no split 'half'; choose all, train, test"):
        open_source(f"rcv1:{folder},split=half")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("words\n", r"train\.dat, line 1: found 'words', expected a line \.I NUMBER"),
        (".I 7\nwords\n", r"line 2: found 'words', expected a line \.W"),
        (
            ".I 7\n.W\na\n\n.I seven\n.W\n",
            r"line 5: found '\.I seven', expected \.I and a document number",
        ),
        (".I 7 8\n.W\n", r"line 1: found '\.I 7 8'"),
        (".I 7\n.I 8\n.W\na\n", r"line 2: document 7 ends without a line \.W"),
        (".I 7\n.W\na\n\n.I 8\n", r"line 5: document 8 ends without a line \.W: the file is cut"),
        (
            ".I 7\n.W\na\n\n.I 7\n.W\nb\n",
            r"document 7 occurs more than once \(in lyrl2004_tokens_train",
        ),
        ("\n\n", r"has no documents in lyrl2004_tokens_train\.dat"),
        (".I " + "9" * 16 + "\n.W\n", r"line 1: found '\.I 9999999999999999'"),
    ],
)
def test_broken_tokens_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        events(Rcv1(write_tokens(tmp_path, train=text)))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("E11 2286 1\nE11 2286\n", r"qrels, line 2: found 'E11 2286', expected a topic"),
        ("E11 x 1\n", r"line 1: found 'E11 x 1'"),
        ("E11 0 2286 1\n", r"line 1: found 'E11 0 2286 1'"),
        ("E11 2286 7\n", r"line 1: found 'E11 2286 7'"),
        ("é1 2286 1\n", r"line 1"),
        ("\n", r"has no topics; expected lines such as E11 2286 1"),
    ],
)
def test_broken_topics_are_refused_with_their_line(
    tmp_path: Path, lines: str, message: str
) -> None:
    folder = write_tokens(tmp_path)
    (folder / "rcv1-v2.topics.qrels").write_text(lines)
    with pytest.raises(SourceError, match=message):
        events(Rcv1(folder))


def test_files_that_are_not_there_or_cut_off(tmp_path: Path) -> None:
    folder = write_tokens(tmp_path)
    train = folder / "lyrl2004_tokens_train.dat"
    pack(train)
    train.unlink()
    packed = Path(f"{train}.gz")
    packed.write_bytes(packed.read_bytes()[:-9])
    assert "lyrl2004_tokens_train.dat.gz is damaged or cut off" in refused(folder)
    packed.write_bytes(packed.read_bytes()[:20] + b"nonsense" * 9)
    assert "is damaged or cut off" in refused(folder)
    packed.unlink()
    (folder / "rcv1-v2.topics.qrels").rename(folder / "qrels")
    assert "0 topic files" in refused(folder)
    assert "put rcv1-v2.topics.qrels" in refused(folder)
    (tmp_path / "empty").mkdir()
    assert "has no files of RCV1" in refused(tmp_path / "empty")
    assert "does not exist" in refused(tmp_path / "nowhere")


def test_ceilings_of_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_tokens(tmp_path)
    monkeypatch.setattr(rcv1_tokens, "MAX_SORTED_BYTES", 4)
    assert "test_pt0.dat is not sorted by document number" in refused(folder)
    monkeypatch.setattr(rcv1_tokens, "MAX_EVENT_BYTES", 60)
    assert "document 2286 has more than 60 bytes of words" in refused(folder)
    monkeypatch.setattr(rcv1_tokens, "MAX_EVENT_BYTES", 20)
    assert "has a line of more than 20 bytes" in refused(folder)
    monkeypatch.setattr(rcv1_tokens, "MOST_FILES", 2)
    assert "has 3 token files; expected at most 2" in refused(folder)


def test_ceilings_of_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_tokens(tmp_path)
    monkeypatch.setattr(rcv1_labels, "MOST_LINES", 8)
    assert "qrels has more than 8 lines" in refused(folder)
    monkeypatch.setattr(rcv1_labels, "MOST_TOPICS", 4)
    assert "qrels, line 9: there are more than 4 topics" in refused(folder)


STORY = """\
<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="{number}" id="root" date="{date}" xml:lang="en">
<title>MEXICO: Caf\xe9 exports rise.</title>
<headline>Caf\xe9 exports rise.</headline>
<byline>Somebody</byline>
<dateline>MEXICO CITY</dateline>
<text>
<p>&quot;Up 3 &amp; rising,&quot; said S\xe3o Paulo.</p>
<p>It&#39;s &lt;big&gt;.</p>
</text>
<copyright>(c) Reuters Limited 1996</copyright>
<metadata>
<codes class="bip:countries:1.0">
  <code code="MEX">
    <editdetail attribution="Reuters BIP Coding Group" action="confirmed" date="1996-08-20"/>
  </code>
</codes>
<codes class="bip:topics:1.0">{codes}</codes>
<dc element="dc.date.created" value="1996-08-20"/>
</metadata>
</newsitem>
"""


def story(number: int, date: str = "1996-08-20", topics: tuple[str, ...] = ("E11",)) -> bytes:
    edited = '<editdetail attribution="x" action="confirmed" date="1996-08-20"/>'
    codes = "".join(f'\n  <code code="{t}">\n    {edited}\n  </code>\n' for t in topics)
    return STORY.format(number=number, date=date, codes=codes).encode("latin-1")


def write_story(folder: Path, raw: bytes, number: int = 2286) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number}newsML.xml").write_bytes(raw)
    return folder


def write_zip(path: Path, *stories: tuple[int, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
        for number, raw in stories:
            pack.writestr(f"{number}newsML.xml", raw)


def test_a_newsml_story_is_an_event(tmp_path: Path) -> None:
    source = Rcv1(write_story(tmp_path, story(2286, topics=("E11", "ECAT", "E11"))))
    assert not source.topics
    assert events(source) == [
        {
            "id": "2286",
            "title": "Café exports rise.",
            "text": '"Up 3 & rising," said São Paulo. It\'s <big>.',
            "topics": ["E11", "ECAT"],
            "time": "1996-08-20T00:00:00Z",
        }
    ]


def test_stories_come_by_date_and_number_wherever_they_are(tmp_path: Path) -> None:
    """Days out of order, two days in one zip file, a folder, and a zip file of other files."""
    write_zip(
        tmp_path / "cd1" / "19960821.zip",
        (30, story(30, "1996-08-21")),
        (9, story(9, "1996-08-21")),
        (40, story(40, "1996-08-19")),
    )
    write_zip(tmp_path / "cd1" / "19960820.zip", (100, story(100, "1996-08-20")))
    write_story(tmp_path / "cd2" / "19960820", story(7, "1996-08-20"), 7)
    write_zip(tmp_path / "codes.zip")
    with zipfile.ZipFile(tmp_path / "codes.zip", "a") as pack:
        pack.writestr("topic_codes.txt", "CCAT")
    assert ids(Rcv1(tmp_path)) == ["40", "7", "100", "9", "30"]
    assert ids(Rcv1(tmp_path / "cd1" / "19960821.zip")) == ["40", "9", "30"]
    with tarfile.open(tmp_path / "sample.tar", "w") as tar:
        tar.add(tmp_path / "cd1", "cd1")
    assert ids(Rcv1(tmp_path / "sample.tar")) == ["40", "100", "9", "30"]


def test_a_story_without_topics_is_not_labelled(tmp_path: Path) -> None:
    (none,) = events(Rcv1(write_story(tmp_path / "none", story(1, topics=()))))
    assert "topics" not in none
    bare = b"<?xml version='1.0'?><newsitem itemid='5' date='1996-08-20'><title>Caf\xc3\xa9</title>"
    (utf8,) = events(Rcv1(write_story(tmp_path / "bare", bare + b"</newsitem>")))
    assert utf8 == {"id": "5", "title": "Café", "text": "", "time": "1996-08-20T00:00:00Z"}


def test_entities_are_never_expanded(tmp_path: Path) -> None:
    laughs = (
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">'
        b'<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    )
    item = b'<newsitem itemid="5" date="1996-08-20"><text><p>&b; &f; &amp;</p></text></newsitem>'
    (actual,) = events(Rcv1(write_story(tmp_path, laughs + item)))
    assert actual["text"] == "&b; &f; &"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"<html></html>", r"2286newsML\.xml: found no <newsitem \.\.\.>, expected <newsitem"),
        (story(7, "20.8.1996"), r"found itemid='7' and date='20\.8\.1996'"),
        (story(7).replace(b'"7"', b'"seven"'), r"found itemid='seven'"),
        (story(7)[:400], r"expected </newsitem> at the end, found none: the story is cut off"),
        (b" " * rcv1_newsml.MAX_STORY_BYTES + story(7), r"has more than 1,048,576 bytes"),
    ],
)
def test_broken_stories_are_refused_by_name(tmp_path: Path, raw: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        events(Rcv1(write_story(tmp_path, raw)))


def test_broken_zips_and_twins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_zip(tmp_path / "19960820.zip", (7, story(7)), (8, story(7)))
    assert "story 7 occurs several times, in 19960820.zip" in refused(tmp_path)
    write_zip(tmp_path / "19960820.zip", (7, story(7)), (8, story(8)))
    monkeypatch.setattr(rcv1_newsml, "MAX_MEMBERS", 1)
    assert "19960820.zip has 2 members; expected the stories of one day, at most 1" in refused(
        tmp_path
    )
    whole = (tmp_path / "19960820.zip").read_bytes()
    (tmp_path / "19960820.zip").write_bytes(whole[:-40])
    assert "19960820.zip cannot be read as a zip file (BadZipFile" in refused(tmp_path)


def test_a_damaged_member_is_said(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as pack:
        pack.writestr("7newsML.xml", story(7))
    damaged = buffer.getvalue().replace(b"Caf\xe9", b"Cofe")
    (tmp_path / "19960820.zip").write_bytes(damaged)
    assert "19960820.zip cannot be read as a zip file (BadZipFile: Bad CRC" in refused(tmp_path)


def test_no_document_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only numbers are kept in memory: one per document, and one per topic of a document."""
    monkeypatch.setattr(rcv1_tokens, "CHUNK", 128)
    monkeypatch.setattr(rcv1_labels, "CHUNK", 128)
    peaks = []
    for documents in (1000, 4000):
        source = Rcv1(write_standin(tmp_path / str(documents), documents))
        tracemalloc.start()
        size = sum(map(len, source))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert size > 500 * documents
    assert (peaks[1] - peaks[0]) / 3000 < 80


def test_the_standin_is_like_the_corpus(tmp_path: Path) -> None:
    """Measurements at full size must not rest on documents that are too short or too easy."""
    folder = write_standin(tmp_path, 2000, packed=True)
    assert len(list(folder.glob("lyrl2004_tokens_*.dat.gz"))) == 5
    source = Rcv1(folder)
    assert len(source.topics) == 103
    documents = events(source)
    assert [int(event["id"]) for event in documents] == sorted(
        int(event["id"]) for event in documents
    )
    words = [event["text"].split() for event in documents]
    assert 60 < sum(len(set(of_document)) for of_document in words) / len(words) < 90
    assert 2.8 < sum(len(event["topics"]) for event in documents) / len(documents) < 3.6
    late = [i for i, event in enumerate(documents) if "GMIL" in event["topics"]]
    assert len(late) == 5
    assert min(late) > 0.9 * len(documents)
    assert FULL_SIZE == 804_414
