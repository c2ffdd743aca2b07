"""Markup, well-formed or not: its words as a browser shows them, in linear time."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.markup import INLINE, loose_text_of, text_of, text_pieces


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("<p>one</p><p>two</p>", "one two"),
        ("one<br>two<br/>three<hr>four", "one two three four"),
        ("<ul><li>one<li>two</ul>", "one two"),
        ("<table><tr><td>1</td><td>2</td></tr></table>", "1 2"),
        ("<b>w</b>ord <a href='x'>w</a><span>ord</span> H<sub>2</sub>O", "word word H2O"),
        ("<ORT>here</ORT><SOURCE>there</SOURCE>", "here there"),
        (" a \n\t b ", "a b"),
        # What a reader does not see
        ("a<script>b < c && d</script>e", "a e"),
        ("a<SCRIPT type='x'>b</sCrIpT >c", "a c"),
        ("a<script>'</scripts>'</script>b", "a b"),
        ("a<script src='x'/>b", "a b"),
        ("a<script>b", "a"),
        ("a<style>p { x: y }</style>b", "a b"),
        ("<html><head><title>t</title></head><body>b</body></html>", "b"),
        ("a<noscript><img alt='x'></noscript>b<iframe>c</iframe>", "a b"),
        ("a<!-- b <p>c</p> -->d", "ad"),
        ("a<!-->b<!--->c", "abc"),
        ("a<!-- never closed <p>b</p>", "a"),
        ("<?xml version='1.0'?><!DOCTYPE html>a", "a"),
        ("<![CDATA[a < b]]>c", "a < bc"),
        ("<![CDATA[a <p>", "a <p>"),
        ("<![if IE]>a<![endif]>b", "ab"),
        ("<a title='x > y' alt=\"<p>\">b</a>", "b"),
        ('<img alt="it\'s">a', "a"),
        # Entities
        ("Caf&eacute; &#233; &#xE9; &#XE9;", "Café é é é"),
        ("a&nbsp;b&amp;c &lt;p&gt; &quot;&apos;", "a b&c <p> \"'"),
        ("AT&T R&D a & b &; &# &#x; &unknown;", "AT&T R&D a & b &; &# &#x; &unknown;"),
        ("&copy 2026 &ampx", "© 2026 &x"),
        ("&#0;&#xD800;&#x110000;", "\ufffd\ufffd\ufffd"),
        ("a&#99999999999999999999;b", "a\ufffdb"),
        # Tags that are not tags, or not closed
        ("1 < 2 <3 a<", "1 < 2 <3 a<"),
        ("a <b", "a"),
        ("a <p b='", "a"),
        ('<p class="x>a</p> b', "a b"),
        ("a</>b</ c>d", "abd"),
        ("<p>a<div>b</p>c</span></span>d", "a b cd"),
        ("a<p/b>c", "a c"),
    ],
)
def test_the_words_of_markup(markup: str, text: str) -> None:
    assert text_of(markup) == text


HUGE = 100_000


@pytest.mark.parametrize(
    "unit",
    [
        *("<", "<div>", "<p>a", "</p>", "<b><i>", "<a ", "<a", "<a b='", '<a b="', "<a/", "<a b="),
        *("<!--", "<!-- --", "<![CDATA[", "<![", "<!", "<?", "</", "</a", "<script>", "<script></"),
        *("<title></titl", '<a"="', "<a '\"", "&", "&#", "&#9", "&#x", "&amp", "&amp;", " ", "="),
        "<script></script>",
    ],
)
@pytest.mark.timeout(60)  # usually a hundredth of it; quadratic time would be many minutes
def test_hostile_markup_takes_linear_time(unit: str) -> None:
    for start in ("", "<p>", "<a b='", '<a b="', "<!--", "<script>", "&#"):
        markup = start + unit * (HUGE // len(unit))
        assert len(text_of(markup)) <= len(markup)


class Reference(HTMLParser):
    """The parser of the standard library, which is right about well-formed markup."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.pieces.append("" if tag in INLINE else " ")

    def handle_endtag(self, tag: str) -> None:
        self.pieces.append("" if tag in INLINE else " ")

    def handle_data(self, data: str) -> None:
        if not (self.cdata_elem or "").strip():
            self.pieces.append(data)


words = st.sampled_from(["a", "b c", " ", "&amp;", "&eacute;", "&#8364;", "1 &lt; 2", "x\ny", "é"])
quiet = st.sampled_from(
    ["<!-- c -->", "<br>", "<br/>", "<script>1 < 2</script>", "<style></style>"]
)
attributes = st.sampled_from(["", " class='a'", ' title="1 > 2"', " hidden", " a=b c = 'd'"])


def element(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    names = st.sampled_from(["p", "div", "b", "span", "li", "em", "H1"])
    parts = st.tuples(names, attributes, st.lists(inside, max_size=4).map("".join))
    return parts.map(lambda part: f"<{part[0]}{part[1]}>{part[2]}</{part[0]}>")


@given(st.recursive(words | quiet, element, max_leaves=30))
def test_well_formed_markup_reads_as_the_standard_library_reads_it(markup: str) -> None:
    reference = Reference()
    reference.feed(markup)
    reference.close()
    assert text_of(markup) == " ".join("".join(reference.pieces).split())


@given(st.text(alphabet="<>/!-='\"&#;[]? abpx1\n", max_size=300))
def test_any_markup_has_a_text(markup: str) -> None:
    text = text_of(markup)
    assert len(text) <= len(markup)
    text.encode()


TAGS = ("<p>", "</p>", "<br/>", "<br />", "<b>", "</b>", "<h1>", "<P>", "<a b='c'>", "<!-- ", "-->",
        "<", ">", "<p", "<script>", "</script>", "&am", "p;", "&amp;", "x", " ", "<x>", "<p />",
        "<![CDATA[", "]]>", '"', "<A HREF = 'x", "<acronym>", "<blockquote>", "<noscript>", "'",
        "<p\u00e9", "\u2003")  # fmt: skip


@given(st.lists(st.sampled_from(TAGS), max_size=12).map("".join))
def test_simple_tags_are_read_alike_in_both_ways(markup: str) -> None:
    assert loose_text_of(markup) == "".join(text_pieces(markup))


@given(st.text(alphabet="<>/!-='\"&#;? abpx1\n\x1c\x85\xa0\u2003\u3000\u00e9\ud800", max_size=80))
def test_all_characters_are_read_alike_in_both_ways(markup: str) -> None:
    assert loose_text_of(markup) == "".join(text_pieces(markup))
