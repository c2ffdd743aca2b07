"""Hostile inputs for the readers of people's own files; see `hostile_inputs`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pipeline.corpora.csv_rows import CsvRows
from pipeline.corpora.fasttext import FasttextLines
from pipeline.corpora.input_file import STANDARD_INPUT
from pipeline.corpora.json_elements import json_elements
from pipeline.corpora.newsml_items import items_of
from pipeline.corpora.packed import CHUNK_BYTES, Chunks
from pipeline.corpora.source import RefusedEvent
from pipeline.events.newsml_g2 import NAR, NewsmlG2Parser
from tests.support.hostile_text import LARGEST, each, refused_or, repeated


def in_chunks(text: str) -> Chunks:
    data = text.encode()
    return iter([data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)])


class RowsOf(CsvRows):
    """The rows of a text in memory."""

    def __init__(self, text: str) -> None:
        super().__init__(STANDARD_INPUT)
        self._text = text

    def _parts(self) -> Iterator[Chunks]:
        yield in_chunks(self._text)


def read_csv(text: str) -> None:
    refused_or(lambda: list(RowsOf(text)))


def read_elements(text: str) -> None:
    refused_or(lambda: list(json_elements(in_chunks(text), LARGEST, "text")))


class LabelledLines(FasttextLines):
    """The lines of a text in memory."""

    def __init__(self, text: str) -> None:
        super().__init__(STANDARD_INPUT)
        self._text = text

    def _parts(self) -> Iterator[Chunks]:
        yield in_chunks(self._text)


def read_fasttext(text: str) -> None:
    refused_or(lambda: list(LabelledLines(text)))


def read_newsml_g2(text: str) -> None:
    refused_or(lambda: NewsmlG2Parser()(text.encode(), LARGEST))
    for raw in items_of(in_chunks(text), "text", 1 << 20):
        if not isinstance(raw, RefusedEvent):
            refused_or(partial(NewsmlG2Parser(), raw, LARGEST))


IN_CSV = """
"
""
,"
"a
a"
",
a,"\\n
"\\n
,
\\r
\\n
a,b\\n
"a","b"\\n
"a"b\\n
"""
ROWS = {
    name: repeated(unit.replace("\\n", "\n").replace("\\r", "\r"), "a,b\n", "\n1,2\n")
    for name, unit in ((f"rows {part!r}", part) for part in IN_CSV.strip("\n").split("\n"))
}
# In a cell that began before, such a line ends it and begins another; alone, it begins one, too.
ROWS["rows that never end"] = repeated('x","\n', 'a,b\n"\n')
ELEMENTS = each(
    "elements",
    """
[
{
"
\\
\\"
"a
{"a":
{},
,
1
1_
]
}
[]
""",
    "[",
    "",
)
LABELLED = {
    repr(unit): repeated(unit, "__label__a ")
    for unit in ("__label__", "__label__a ", "\u00a0", "a ", "\n", "__label__a\n")
}
IN_ITEM = """
<a>
<a/>
<a_b='c'/>
<a></a>
&amp;
&lt
<!---->
<!--
<![CDATA[a]]>
<![CDATA[
<?a?>
<subject_qcode='a:b'/>
<headline>a</headline>
<language_tag='a'/>
<subject_
a
<x:y/>
"""
ITEM_G2 = f'<newsItem xmlns="{NAR}" guid="x"><contentMeta>'
ITEMS = {
    **each("items", IN_ITEM, ITEM_G2, "</contentMeta></newsItem>"),
    "long names": lambda size: ITEM_G2 + "<a" + "a" * (size // 2) + ">" + "<b/>" * (size // 8),
    "deep long names": lambda size: (
        ITEM_G2 + "".join(f"<{'a' * (size // 200)}>" for _ in range(100)) + "<b/>" * (size // 8)
    ),
    "attributes": lambda size: ITEM_G2 + "<a " + " ".join(f"b{n}=''" for n in range(size // 8)),
    "namespaces": lambda size: ITEM_G2 + "".join(f"<a xmlns:b{n}='c'/>" for n in range(size // 20)),
    "long namespaces": lambda size: (
        f"{ITEM_G2}<x xmlns:p='{'u' * (size // 2)}'>" + "<p:b/>" * (size // 12)
    ),
    "languages": lambda size: (
        ITEM_G2
        + "".join(f"<language tag='{n}'/>" for n in range(size // 48))
        + "<headline xml:lang='z'>a</headline>" * (size // 70)
        + "</contentMeta></newsItem>"
    ),
    "documents": repeated("<a/>"),
    "declarations": repeated("<?xml version='1.0'?>"),
    "items of a message": repeated("<a/>", "<newsMessage><itemSet>", "</itemSet></newsMessage>"),
}
