"""Files in formats that people keep their own documents in: CSV, fastText, NewsML-G2."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from pipeline.corpora.packed import DECOMPRESSORS, ZIP
from pipeline.corpora.registry import open_source
from pipeline.corpora.source import RefusedEvent, SourceError
from pipeline.events.event import REASONS, MalformedEvent
from pipeline.events.formats import FORMATS
from tests.fuzz.target import Broken, kind_of
from tests.fuzz.targets.corpora import CorpusTarget
from tests.support.newsml_g2 import WAYS, item, message
from tests.support.packing import PACKINGS


class FileTarget(CorpusTarget):
    """One of your own files: what is in it becomes events and dead letters, and nothing else."""

    format = "wirerank"
    limit = 5000  # bytes of an event
    share = 0.2

    def __init__(self) -> None:
        super().__init__()
        place = self._folder / self.file
        self._write(self.file, b"")
        self._text = f"{self.kind}:{place}" if self.kind else str(place)
        self._decode = FORMATS[self.format]

    def run(self, data: bytes) -> str:
        self._write(self.file, data)
        reasons: set[str] = set()
        events = 0
        try:
            for raw in open_source(self._text, self.limit, self.format):
                if not raw.strip():
                    continue
                if len(raw) > 65536 + self.limit:
                    raise Broken(f"an event of {len(raw)} bytes")
                events += 1
                try:
                    if isinstance(raw, RefusedEvent):
                        raise MalformedEvent(raw.refusal.reason, raw.refusal.detail)
                    self._decode(raw, self.limit)
                except MalformedEvent as problem:
                    if problem.reason not in REASONS:
                        raise Broken(f"refused with reason {problem.reason!r}") from None
                    problem.detail.encode()
                    reasons.add(problem.reason)
        except SourceError as error:
            return kind_of(error)
        expected = self._expected(data)
        if expected is not None and events != expected:
            raise Broken(f"the file has {expected} documents, and {events} came")
        return f"{events.bit_length()} events, refused {sorted(reasons)}"


class CsvFiles(FileTarget):
    """CSV: `pipeline/corpora/csv_rows.py`."""

    name = "csv"
    kind = "csv"
    file = "rows.csv"
    words = (
        b'"', b'""', b",", b";", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"id", b"topics", b"\xff\xfe",
        b"\xef\xbb\xbf", b'"\n"', b"id,text\n",
    )  # fmt: skip

    def seeds(self) -> Sequence[bytes]:
        rows = b'id,title,text,topics,rank\r\n1,a,"b ""c"",\r\nd",x;y,3\r\n2,"",e,,\r\n3,f\r\n'
        return [rows, rows.replace(b",", b"\t"), rows.decode().encode("utf-16"), *packed(rows)]


class FasttextFiles(FileTarget):
    """Lines of fastText: `pipeline/corpora/fasttext.py`."""

    name = "fasttext"
    kind = "fasttext"
    file = "train.txt"
    words = (b"__label__", b"__label__a ", b" ", b"\n", b"\r\n", b"\0", b"\xff", b"\xc2\xa0")

    def seeds(self) -> Sequence[bytes]:
        lines = b"__label__a __label__b Wheat is up\n\nno label\r\n__label__ \xff\n__label__c"
        return [lines, *packed(lines)]

    def _expected(self, data: bytes) -> int | None:
        other = (*DECOMPRESSORS, *ZIP, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        if data.startswith(other):
            return None
        return sum(1 for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n") if line.strip())


class NewsmlG2Files(FileTarget):
    """NewsML-G2: `pipeline/corpora/newsml_items.py` and `pipeline/events/newsml_g2.py`."""

    name = "newsml-g2"
    format = "newsml-g2"
    file = "items.xml"
    words = (
        b"<", b">", b"/>", b"</", b"&amp;", b"&#10;", b"&x;", b"<![CDATA[", b"]]>", b"<!--", b"-->",
        b"<?xml version='1.0'?>", b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"<newsItem guid='x'>",
        b"</newsItem>", b"<itemSet>", b"</itemSet>", b"<contentMeta>", b"<headline>", b"<subject ",
        b"<inlineXML>", b"<body.content>", b"<body>", b"<title>", b" xmlns=''", b" xmlns:a='b'",
        b" qcode='a:b'", b" encoding='utf-16'", b"'", b'"', b"=",
    )  # fmt: skip

    def seeds(self) -> Sequence[bytes]:
        event = {"id": "1", "title": "t & u", "text": "x <y>", "topics": ["medtop:1"], "rank": 4}
        texts = [item(event, way, declared=False) for way in WAYS]
        alone = f"<?xml version='1.0' encoding='utf-16'?>{item(event)}".encode("utf-16")
        whole = message(texts).encode()
        return [whole, alone, *(item(event, way).encode() for way in WAYS), *packed(whole)]


def packed(data: bytes) -> list[bytes]:
    """Return the data packed in every way."""
    return [pack(data) for pack in PACKINGS.values()]
