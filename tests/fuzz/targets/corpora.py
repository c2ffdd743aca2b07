"""Files of corpora, each in a folder as its reader expects it, and archives of them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

import orjson

from pipeline.corpora.registry import open_source, ranks_for
from pipeline.corpora.source import SourceError
from pipeline.events.event import MalformedEvent, parse_event
from tests.fuzz.mutation import blown_up, mutate_bytes
from tests.fuzz.target import Broken, Target, kind_of, scratch_folder
from tests.fuzz.values import BYTES
from tests.support.movielens_files import RATINGS
from tests.support.reuters_sgml import story

NEWSML = """<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="{number}" id="root" date="1996-08-20" xml:lang="en">
<title>MEXICO: Wheat up.</title><headline>Wheat &amp; corn up.</headline>
<text><p>Prices rose.</p><p>Traders smiled.</p></text>
<metadata><codes class="bip:topics:1.0"><code code="E51"/><code code='M14'/></codes>
<codes class="bip:countries:1.0"><code code="MEX"/></codes></metadata></newsitem>
"""
POST = """From: a@b.c (A B)
Subject: Re: engines
 and more
Date: Tue, 6 Apr 1993 14:03:46 GMT

Body of the post.
"""


class CorpusTarget(Target):
    """One file of a corpus is mutated; the others are as they should be."""

    kind = ""
    where = ""  # what follows the kind on the command line; "": the folder
    file = ""  # the file that is mutated
    others: ClassVar[Mapping[str, bytes]] = {}
    words: Sequence[bytes] = ()
    share = 0.1
    largest = 1 << 18

    def __init__(self) -> None:
        self._scratch = scratch_folder()
        self._folder = Path(self._scratch.name) / "corpus"
        for name, content in self.others.items():
            self._write(name, content)
        self._text = f"{self.kind}:{self._folder}{self.where.format(folder=self._folder)}"

    def _write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return mutate_bytes(rng, data, other, (*self.words, *self.words, *BYTES))

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        if self.words and rng.random() < 0.5:
            at = int(rng.random() * len(data))
            word = rng.choice(self.words) + (rng.choice(self.words) if rng.random() < 0.4 else b"")
            return data[:at] + word * (self.largest // len(word)) + data[at:]
        return blown_up(rng, data, self.largest)

    def run(self, data: bytes) -> str:
        self._write(self.file, data)
        return self._read(self._expected(data))

    def _expected(self, data: bytes) -> int | None:
        """Return how many events there must be, counted in another way; None: not known."""
        return None

    def _read(self, expected: int | None) -> str:
        try:
            ranks_for(self._text)
            source = open_source(self._text)
            topics, total = source.topics, source.total
            raw = list(source)
        except SourceError as error:
            return kind_of(error)
        for name in topics:
            name.encode()
        if total is not None and total != len(raw):
            raise Broken(f"{total} events were announced, and {len(raw)} came")
        if expected is not None and expected != len(raw):
            raise Broken(f"the file has {expected} documents, and {len(raw)} events came")
        refused = sum(1 for _ in refusals(raw))
        keys = sorted(orjson.loads(raw[0])) if raw else []
        return f"{len(raw).bit_length()} events, {refused.bit_length()} refused {keys}"

    def close(self) -> None:
        self._scratch.cleanup()


def refusals(raw: Sequence[bytes]) -> Iterator[str]:
    """Yield the reasons of the events that become dead letters."""
    for event in raw:
        try:
            parse_event(event)
        except MalformedEvent as problem:
            yield problem.reason


class Reuters(CorpusTarget):
    """Reuters-21578: `pipeline/corpora/reuters21578.py`."""

    name = "reuters21578"
    kind = "reuters21578"
    file = "reut2-000.sgm"
    others: ClassVar[Mapping[str, bytes]] = {"all-topics-strings.lc.txt": b"grain\nship\nwheat\n"}
    words = (
        b"<REUTERS ", b"</REUTERS>", b"<D>", b"</D>", b"<TOPICS>", b"</TOPICS>", b"<TEXT",
        b"</TEXT>", b"<TITLE>", b"</TITLE>", b"<BODY>", b"</BODY>", b"<DATE>", b"NEWID=",
        b'NEWID="9"', b"&#55555;", b"&#9999999;", b"&lt;", b'"', b"=", b">", b"<", b"\xb2",
        b" 5-MAR-1987 605:12:18.70", b"31-FEB-1987", b"<AUTHOR>", b"<DATELINE>",
    )  # fmt: skip

    def seeds(self) -> Sequence[bytes]:
        labelled = story(1, labels=("grain", "ship")) + story(2, topics="NO", split="NOT-USED")
        brief = story(
            7, text="<TEXT TYPE='BRIEF'>\n******<TITLE>BRIEF</TITLE>Blah blah blah.</TEXT>"
        )
        return [labelled.encode("latin-1"), (brief + story(9, date="x")).encode("latin-1")]

    def _expected(self, data: bytes) -> int | None:
        return data.count(b"<REUTERS ")


class Newsgroups(CorpusTarget):
    """Posts of newsgroups: `pipeline/corpora/newsgroups.py`."""

    name = "newsgroups"
    kind = "newsgroups"
    file = "sci.med/101"
    others: ClassVar[Mapping[str, bytes]] = {
        "sci.space/5": POST.encode(),
        "sci.med/102": b"no header",
    }
    words = (
        b"Date: ", b"Subject: ", b"From ", b"\n ", b"\n\n",
        b"Date: 99999999999999999999 Apr 1993 14:03:46", b"Date: Tue, 6 Apr 99999999 14:03:46 GMT",
        b"Date: 1 Jan 1 00:00 +9999", b":", b"\t", b"=?utf-8?q?=ff?=",
    )  # fmt: skip

    def seeds(self) -> Sequence[bytes]:
        return [POST.encode(), b"From nobody\nXref: a b\n\nbody", b"\n\n just a body\xff"]

    def _expected(self, data: bytes) -> int | None:
        return 3


class Rcv1Tokens(CorpusTarget):
    """RCV1's token files: `pipeline/corpora/rcv1_tokens.py`."""

    name = "rcv1-tokens"
    kind = "rcv1"
    file = "lyrl2004_tokens_train.dat"
    others: ClassVar[Mapping[str, bytes]] = {
        "rcv1-v2.topics.qrels": b"E11 2286 1\nM14 2287 1\nE11 2290 1\n"
    }
    words = (
        b".I ",
        b".W\n",
        b"\n.I 2286\n.W\n",
        b"\n.I 5\n.W\nword\n",
        b"\n\n",
        b".I 999999999999999999",
    )

    def seeds(self) -> Sequence[bytes]:
        text = b".I 2286\n.W\nwheat corn\nrose\n\n.I 2287\n.W\noil\n\n"
        return [text, b".I 2290\n.W\n\n.I 2280\n.W\nx y z\n", gzip.compress(text)]

    def _expected(self, data: bytes) -> int | None:
        return (
            None if data[:2] == b"\x1f\x8b" else sum(x.startswith(b".I") for x in data.split(b"\n"))
        )


class Rcv1Labels(CorpusTarget):
    """RCV1's topics: `pipeline/corpora/rcv1_labels.py`."""

    name = "rcv1-labels"
    kind = "rcv1"
    file = "rcv1-v2.topics.qrels"
    others: ClassVar[Mapping[str, bytes]] = {
        "lyrl2004_tokens_train.dat": b".I 2286\n.W\nwheat\n\n.I 2287\n.W\noil\n"
    }
    words = (b"E11 2286 1\n", b" 0\n", b" 1\n", b"2287", b"999999999999999", b"\t")

    def seeds(self) -> Sequence[bytes]:
        text = b"E11 2286 1\nM14 2287 1\nE11 2287 1\nC15 9 0\n"
        return [text, gzip.compress(text)]

    def _expected(self, data: bytes) -> int | None:
        return 2


class Rcv1Newsml(CorpusTarget):
    """RCV1's NewsML: `pipeline/corpora/rcv1_newsml.py`."""

    name = "rcv1-newsml"
    kind = "rcv1"
    file = "19960820/2286newsML.xml"
    others: ClassVar[Mapping[str, bytes]] = {
        "19960820/2287newsML.xml": NEWSML.format(number=2287).encode()
    }
    words = (
        b"<newsitem ", b"</newsitem>", b"<text>", b"</text>", b"<codes ", b"</codes>", b"<code ",
        b'code="', b"itemid=", b'encoding="utf-16"', b'encoding="idna"', b'encoding="rot13"',
        b'encoding="unicode_escape"', b"<headline>", b'encoding="punycode"', b'encoding="utf-7"',
        b'encoding="zlib"', b"&#", b"'", b'"', b"date=", b"<p>", b"<!--",
    )  # fmt: skip

    def seeds(self) -> Sequence[bytes]:
        text = NEWSML.format(number=2286)
        return [
            text.encode(),
            text.replace("iso-8859-1", "utf-8").encode(),
            text.replace("code ", "x ").encode(),
        ]

    def _expected(self, data: bytes) -> int | None:
        return 2


class Letor(CorpusTarget):
    """LETOR files: `pipeline/corpora/letor.py`."""

    name = "letor"
    kind = "letor"
    file = "S1.txt"
    words = (
        b"qid:",
        b"1:",
        b"NULL",
        b"#docid = ",
        b"\n",
        b" ",
        b"10000:1",
        b"10001:1",
        b"1:1e308",
        b"1:-1e308",
        b"nan",
        b"inf",
    )

    def seeds(self) -> Sequence[bytes]:
        lines = b"2 qid:1 1:0.5 2:NULL #docid = d1\n0 qid:1 1:0.25 #docid = d2\n1 qid:2 2:1e3\n"
        return [lines, b"0 qid:a\n\n30 qid:b 9999:1\n"]

    def _expected(self, data: bytes) -> int | None:
        return sum(1 for line in data.splitlines() if line.strip())


class TrecRuns(CorpusTarget):
    """Runs of TREC: `pipeline/corpora/trec.py`."""

    name = "trec-runs"
    kind = "trec"
    where = "/run,{folder}/qrels"
    file = "run"
    others: ClassVar[Mapping[str, bytes]] = {"qrels": b"1 0 d1 1\n1 0 d2 0\n2 0 d1 -3\n"}
    words: Sequence[bytes] = (
        b"Q0",
        b"1 Q0 d1 1 0.5 tag\n",
        b"nan",
        b"1e400",
        b"-1e308",
        b"1e308",
        b"\t",
        b"\n",
    )

    def seeds(self) -> Sequence[bytes]:
        lines = b"1 Q0 d1 1 0.5 tag\n1 Q0 d2 2 0.25 tag\n2 Q0 d1 1 -7 tag\n"
        return [lines, gzip.compress(lines)]


class TrecJudgements(TrecRuns):
    """Judgements of TREC: `pipeline/corpora/trec.py`."""

    name = "trec-judgements"
    file = "qrels"
    others: ClassVar[Mapping[str, bytes]] = {
        "run": b"1 Q0 d1 1 0.5 tag\n1 Q0 d2 2 0.25 tag\n2 Q0 d1 1 -7 tag\n"
    }
    words = (b"1 0 d1 1\n", b"-10", b"30", b"31", b"999", b"\t", b"\n")

    def seeds(self) -> Sequence[bytes]:
        return [b"1 0 d1 1\n1 0 d2 0\n2 0 d1 -3\n"]


class Movielens(CorpusTarget):
    """Ratings of MovieLens: `pipeline/corpora/movielens.py`."""

    name = "movielens"
    kind = "movielens"
    file = "u.data"
    words = (
        b"\t",
        b"\n",
        b"5\t",
        b"99999999999",
        b"253402300800",
        b"00000000000",
        b"\x0b",
        b"\x1c",
        b"\x85",
    )

    def seeds(self) -> Sequence[bytes]:
        return [
            b"\n".join(b"\t".join(b"%d" % n for n in rating) for rating in RATINGS),
            b"1\t1\t5\t0\n",
        ]


class TextFiles(CorpusTarget):
    """Plain text as words to predict: `pipeline/corpora/word_prediction.py`."""

    name = "text-files"
    kind = "text"
    file = "novel.txt"
    words = (
        b". ",
        b"! ",
        b"?",
        b"\n\n",
        b"\r",
        b"'",
        b"-",
        b"_",
        b"\xe2\x80\x99",
        b" \n \n",
        b"\xcc\x80",
    )
    largest = 1 << 16  # every word is an event

    def seeds(self) -> Sequence[bytes]:
        return [
            b"It is a truth universally acknowledged. It's well-known!\n\nYes.",
            b"\xc3\xa9t\xc3\xa9 \xe2\x80\x99 a-b",
        ]
