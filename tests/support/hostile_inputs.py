"""Inputs that took quadratic time somewhere, or would with a careless parser, of any size.

Each entry names a surface, and gives a function from a size to an input of about that many bytes
and one that reads it. `tests/pipeline/test_linear_time.py` checks that time grows with the size,
and `python -m tests.bench.hostile` prints the seconds per megabyte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import orjson

from learners.specs import split_options
from pipeline.corpora.letor import LetorRows
from pipeline.corpora.newsgroups import event as post_event
from pipeline.corpora.rcv1_newsml import decoded, is_story
from pipeline.corpora.rcv1_newsml import event as newsml_event
from pipeline.corpora.rcv1_tokens import is_qrels, is_tokens
from pipeline.corpora.registry import source_path
from pipeline.corpora.reuters21578 import event as story_event
from pipeline.corpora.reuters21578 import parse_stories
from pipeline.corpora.word_prediction import TextWords
from pipeline.events.event import parse_event
from pipeline.events.fields import parse_fields
from pipeline.events.formats import new_decoder
from pipeline.events.ninjs import parse_ninjs
from pipeline.events.record import Record
from pipeline.text.features import Vocabulary
from pipeline.text.markup import text_of
from pipeline.text.tokenizer import Tokenizer
from tests.support.hostile_own_files import (
    ELEMENTS,
    ITEMS,
    LABELLED,
    ROWS,
    read_csv,
    read_elements,
    read_fasttext,
    read_newsml_g2,
)
from tests.support.hostile_text import LARGEST, each, refused_or, repeated
from tests.support.reuters_sgml import story

Read = Callable[[str], object]


class Hostile(NamedTuple):
    """One kind of hostile input for one surface."""

    surface: str
    name: str
    make: Callable[[int], str]
    read: Read


def distinct_words(size: int) -> str:
    return " ".join(f"w{number:x}" for number in range(size // 6))


def numbered_keys(size: int) -> str:
    return orjson.dumps({str(number): number for number in range(size // 14)}).decode()


def tokenize(text: str) -> None:
    for profile in (
        "reuters2000", "reuters21578", "reuters2000:fold=accents,unspaced=1-2,letters=3-5",
        "news:words=3",
    ):  # fmt: skip
        counts = Tokenizer(profile).count([text])
        for _ in Vocabulary().vectors(counts, counts.starts[1:] < 0):
            pass


def read_event(text: str) -> None:
    refused_or(lambda: parse_event(text.encode(), LARGEST))


MAPPED = new_decoder("wirerank", parse_fields({
    "text": ["text", "parts[].t", "lists[][]", {"path": "html", "html": True}],
    "topics": {"path": "tags", "separator": ";"},
    "time": {"path": "when", "format": "%d.%m.%Y", "zone": "UTC"},
}))  # fmt: skip


def read_mapped(text: str) -> None:
    refused_or(lambda: MAPPED(Record(text.encode()), LARGEST))


def read_ninjs(text: str) -> None:
    refused_or(lambda: parse_ninjs(text.encode(), LARGEST))


def read_ninjs_body(text: str) -> None:
    item = orjson.dumps({"uri": "urn:x:1", "body_xhtml": text, "body": text, "headline": text})
    refused_or(lambda: parse_ninjs(item, LARGEST))


def read_reuters(text: str) -> None:
    refused_or(lambda: [story_event(one) for one in parse_stories(text, "reut2-000.sgm")])


def read_newsml(text: str) -> None:
    refused_or(lambda: newsml_event(decoded(text.encode()), "2286newsML.xml"))


def read_post(text: str) -> None:
    post_event("sci.med/1", text.encode("latin-1", "replace"))


def read_letor(text: str) -> None:
    lines = list(enumerate(text.encode().split(b"\n"), start=1))

    def read() -> None:
        rows = LetorRows()
        rows.read("S1.txt", lines)
        rows.query_set()

    refused_or(read)


class WordsOf(TextWords):
    """The words of a text in memory."""

    def __init__(self, text: str) -> None:
        self._files = self
        self.names = ("novel.txt",)
        self._text = text

    def read(self, name: str) -> bytes:
        return self._text.encode()


def read_words(text: str) -> None:
    for _ in WordsOf(text):
        pass


def read_names(text: str) -> None:
    for is_wanted in (is_story, is_tokens, is_qrels):
        is_wanted(text)


def read_source_text(text: str) -> None:
    source_path(f"letor:{text}")


def documents_of_a_query(size: int) -> str:
    lines = [f"0 qid:1 1:1 #docid = d{number}" for number in range(size // 26)]
    return "\n".join([*lines, lines[-1]]) if lines else ""


TEXTS = {
    "marks": repeated("\u0315\u0300", "a"),
    "marks of one class": repeated("\u0300", "a"),
    "marks that decompose": repeated("\u0f73\u0344\u0316", "a"),
    "letters with 29 marks": repeated("\u00e9" + "\u0315" * 29),
    "letters with 31 marks": repeated("\u00e9" + "\u0315\u0300" * 16),
    "capital sigmas": repeated("\u03a3\u0301"),
    "one word": repeated("x"),
    "distinct words": distinct_words,
    "numbers": repeated("1 "),
    "Hangul": repeated("\u1100\u1161\u11a8"),
    "marks of half width": repeated("\u0315\uff9e\u0300", "\u30ab"),
    "ligatures of many letters": repeated("\ufdfa"),
    "a run without spaces": repeated("\u6587\u5b57"),
    "a cluster": repeated("\u1780\u17d2"),
    "letters that decompose when folded": repeated("\u0390\u0345"),
}
MARKUP = each(
    "",
    """
<
<a_
<a_b='
<a_b="c
<a_="='
<a_b=c_
<!--
<!--_-
<![CDATA[
<?
</
</a
<p>
<_
<script>
<script></script
<style></style_x
<title>
&
&#1
&#x1
&amp
]]>
-->
""",
    "",
    "",
)
EVENTS = {
    "nested lists": repeated("["),
    "nested objects": repeated('{"a":'),
    "a long number": repeated("1", '{"id":'),
    "a long fraction": repeated("1", '{"id":1,"features":{"a":0.', "}}"),
    "a long exponent": repeated("9", '{"id":1,"features":{"a":1e', "}}"),
    "many keys": numbered_keys,
    "many features": lambda size: f'{{"id":1,"features":{numbered_keys(size)}}}',
    "escapes": repeated("\\u0315\\u0300", '{"id":1,"text":"', '"}'),
    "backslashes": repeated("\\", '{"id":1,"text":"', '"}'),
    "many topics": repeated('"a",', '{"id":1,"topics":[', '"a"]}'),
    "a long time": repeated("1", '{"id":1,"text":"a","time":"1987-02-26T15:01:01.', '"}'),
}
NINJS = {
    "subjects": repeated(
        '{"code":"a"},', '{"uri":"u","headline":"h","subject":[', '{"code":"a"}]}'
    ),
    "a subject's URI": repeated("/#", '{"uri":"u","headline":"h","subject":[{"uri":"', '"}]}'),
    "a role": repeated("_-", '{"uri":"u","bodies":[{"value":"a","role":"', '"}]}'),
    "bodies": repeated('{"value":" "},', '{"uri":"u","bodies":[', '{"value":"a"}]}'),
    "a short zone": repeated("1", '{"uri":"u","versioncreated":"1987-02-26T15:01:01.', '+01"}'),
}
IN_TOPICS = """
<D>
<D></D>
<TEXT
<TEXT>
<TITLE>
<DATE>
<BODY>
<REUTERS
&#1
&
1-MAR-
"""
IN_TEXT = """
<TITLE>
<AUTHOR><DATELINE>
<AUTHOR></AUTHOR>
<BODY>
_
*_
Blah_blah_blah.
&lt
"""
ATTRIBUTES = """
a
a_
a=
a_=_
a="
a='
a="b"_
a='b'_
1
=
:
_
"""
REUTERS = {
    **each("topics", IN_TOPICS, '<REUTERS NEWID="1"><TOPICS><D>', "</TOPICS></REUTERS>"),
    **each("text", IN_TEXT, '<REUTERS NEWID="1"><TEXT>*', "x</TEXT></REUTERS>"),
    **each("attributes", ATTRIBUTES, "<REUTERS ", ' NEWID="1"></REUTERS>'),
    "stories that do not end": repeated('<REUTERS NEWID="1">'),
    "tags that do not end": repeated("<REUTERS "),
    "many stories": lambda size: "".join(story(n) for n in range(size // len(story(0)))),
    "digits": repeated("1", '<REUTERS NEWID="', '"></REUTERS>'),
}
IN_CODES = """
<code_
<code_code='a'>
<code_a='
<codes_
<codes_>
</codes>
</codes><codes_>
<text
<text_
<headline>
<title_
<newsitem_
a
"""
ITEM = '<newsitem itemid="1" date="1996-08-20" '
NEWSML = {
    **each("codes", IN_CODES, f'{ITEM}><codes class="bip:topics:1.0">', "</codes></newsitem>"),
    **each("attributes", ATTRIBUTES, ITEM, "></newsitem>"),
    **{
        f"declared {encoding}": repeated("a-", f'<?xml encoding="{encoding}"?>{ITEM}')
        for encoding in ("punycode", "idna", "unicode_escape", "utf-7", "zlib")
    },
    "tags that do not end": repeated("<newsitem "),
}
POSTS = {
    "lines of a header": repeated(" a\n"),
    "blanks": repeated(" "),
    "a field without a name": repeated("a"),
    "fields": repeated("a:b\n"),
    "folded lines": repeated("\n a", "Subject: a"),
    "line ends": repeated("\r\n"),
    "a date": repeated("1 ", "Date: "),
    "a date of digits": repeated("1", "Date: Tue, "),
    "a date of signs": repeated(":-+", "Date: Tue, 6 Apr "),
    "a date of comments": repeated("(", "Date: "),
}
LETOR = {
    "features": lambda size: (
        "0 qid:1 " + " ".join(f"{n}:1" for n in range(1, min(size // 8, 10000)))
    ),
    "blanks before a name": repeated(" ", "0 qid:1 1:1 #docid", "x"),
    "names": repeated("docid ", "0 qid:1 1:1 #"),
    "a long value": repeated("1", "0 qid:1 1:"),
    "a document twice": documents_of_a_query,
}
WORDS = {
    "ends of sentences": repeated("."),
    "ends and blanks": repeated(". "),
    "line ends": repeated("\n "),
    "blank lines": repeated("\n \n a"),
    "apostrophes": repeated("a'"),
    "hyphens": repeated("-"),
    "a word": repeated("a"),
    "short words": repeated("a "),
}
NAMES = {name: repeated(name, "", "x") for name in ("newsml", "tokens", "topics", ".dat", "1.xml")}
COMMAS = {text: repeated(text, "", "/") for text in (",a=b", ",", ",a=", "a")}
BRACKETS = {text: repeated(text) for text in (",", ",[", "[,", "],", "a=[b,c],")}

SHAPED = {
    "delimited topics": repeated("a;", '{"id":1,"text":"x","tags":"', '"}'),
    "blank topics": repeated(" ;", '{"id":1,"text":"x","tags":"', '"}'),
    "lists of lists": repeated("[1],", '{"id":1,"lists":[', "[1]]}"),
    "objects": repeated('{"t":"x"},', '{"id":1,"parts":[', '{"t":"y"}]}'),
    "markup": repeated("<p>a</p>&amp;<i>", '{"id":1,"html":"', '"}'),
    "a time": repeated("1", '{"id":1,"text":"x","when":"', '"}'),
    "labels and unknown keys": lambda size: orjson.dumps(
        {"id": 1, "tags": "a", **{str(number): number for number in range(size // 14)}}
    ).decode(),
    "numbered keys": numbered_keys,
}

SURFACES: dict[str, tuple[dict[str, Callable[[int], str]], Read]] = {
    "tokenizer": (TEXTS, tokenize),
    "markup": (MARKUP, text_of),
    "events": (EVENTS, read_event),
    "mapped events": (EVENTS | SHAPED, read_mapped),
    "ninjs": (EVENTS | NINJS, read_ninjs),
    "bodies of ninjs": (MARKUP, read_ninjs_body),
    "reuters21578": (REUTERS, read_reuters),
    "rcv1 NewsML": (NEWSML, read_newsml),
    "newsgroups": (POSTS, read_post),
    "csv": (ROWS, read_csv),
    "JSON arrays": (ELEMENTS, read_elements),
    "fasttext": (LABELLED, read_fasttext),
    "newsml-g2": (ITEMS, read_newsml_g2),
    "letor": (LETOR, read_letor),
    "text": (WORDS, read_words),
    "names in archives": (NAMES, read_names),
    "names of sources": (COMMAS, read_source_text),
    "specs of lanes": (BRACKETS, split_options),
}
HOSTILE = [
    Hostile(surface, name, make, read)
    for surface, (inputs, read) in SURFACES.items()
    for name, make in inputs.items()
]
