"""HTML and XML from outside, read as text."""

from __future__ import annotations

import html
import re

# Elements that leave the word they stand in whole; every other one parts words.
INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp
    small span strike strong sub sup time tt u var wbr
    """.split()  # noqa: SIM905 - words read better than quotes
)
LEFT_OUT = ("iframe", "noscript", "script", "style", "template", "title")

# One piece of markup, as a browser sees it: what is not closed reaches to the end of the text. No
# piece is ever tried twice, so that the time is linear in the text, whatever is in it.
_PIECE = re.compile(
    r"""
      <!--(?:-?>|.*?--!?>|.*)                           # a comment
    | <!\[CDATA\[(?P<literal>.*?)(?:\]\]>|\Z)
    | <(?:[!?]|/(?![a-zA-Z]))[^>]*+>?                   # a declaration or an instruction
    | <(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*+)         # a tag; a > in quotes does not end it
      [^>=]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?+[^>=]*+)*+>?
    """,
    re.DOTALL | re.VERBOSE,
)
_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in LEFT_OUT}
_ENTITY = re.compile(r"&(?:#[0-9]++|#[xX][0-9a-fA-F]++|[a-zA-Z][a-zA-Z0-9]{1,31}+);?")
LONGEST_ENTITY = 40  # a longer one is no character, and its number may be too long even for `int`


def text_of(markup: str) -> str:
    """The words of HTML or XML, of whatever quality, in time linear in its length.

    The parser of the standard library is not used: in releases before the fix of CVE-2025-6069 (as
    3.11.7) it takes quadratic time on unclosed tags and comments, and fails on some declarations.

    Examples
    --------
    >>> text_of("<h1>Caf&eacute;</h1><p>It's <b>b</b>ig.<script>if (a < b) {}</script>")
    "Café It's big."

    """
    pieces = []
    at = 0
    while (piece := _PIECE.search(markup, at)) is not None:
        pieces.append(_resolved(markup[at : piece.start()]))
        at = piece.end()
        if piece["literal"] is not None:
            pieces.append(piece["literal"])
        if piece["name"] is None:
            continue
        name = piece["name"].lower()
        if name not in INLINE:
            pieces.append(" ")
        if name in LEFT_OUT and not piece["close"] and not markup.endswith("/>", 0, at):
            end = _END[name].search(markup, at)
            at = len(markup) if end is None else end.start()
    pieces.append(_resolved(markup[at:]))
    return " ".join("".join(pieces).split())


def _resolved(text: str) -> str:
    """Text with its entities replaced by what they stand for."""
    return _ENTITY.sub(
        lambda entity: html.unescape(entity[0]) if len(entity[0]) <= LONGEST_ENTITY else "\ufffd",
        text,
    )
