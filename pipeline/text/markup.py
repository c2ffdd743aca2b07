"""The plain text of HTML and XML that comes from outside."""

from __future__ import annotations

import html
import re

# Elements that may stand inside a word. All other elements separate words.
INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp
    small span strike strong sub sup time tt u var wbr
    """.split()  # noqa: SIM905 - words read better than quotes
)
SKIPPED = ("iframe", "noscript", "script", "style", "template", "title")

# One piece of markup, as a browser reads it: a piece that is not closed extends to the end of the
# text. The expression never backtracks into a piece, so the time is linear in any text.
_MARKUP = re.compile(
    r"""
      <!--(?:-?>|.*?--!?>|.*)                           # a comment
    | <!\[CDATA\[(?P<literal>.*?)(?:\]\]>|\Z)
    | <(?:[!?]|/(?![a-zA-Z]))[^>]*+>?                   # a declaration or an instruction
    | <(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*+)         # a tag; a > in quotes does not end it
      [^>=]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?+[^>=]*+)*+>?
    """,
    re.DOTALL | re.VERBOSE,
)
_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in SKIPPED}
_ENTITY = re.compile(r"&(?:#[0-9]++|#[xX][0-9a-fA-F]++|[a-zA-Z][a-zA-Z0-9]{1,31}+);?")
_TAGGED = re.compile(r"</[a-z][a-z0-9]*+\s*+>|<(?:br|p)\s*+/?>", re.IGNORECASE)
LONGEST_ENTITY = 40  # a longer one is not a character; its number may be too long for `int`


def looks_like_markup(text: str) -> bool:
    """Return whether a text has tags that plain text hardly has."""
    return _TAGGED.search(text) is not None


def text_of(markup: str) -> str:
    """Return the words of HTML or XML, well-formed or not, in time linear in its length.

    The parser of the standard library is not used. In releases before the fix of CVE-2025-6069
    (for example 3.11.7) it takes quadratic time on unclosed tags and comments, and it fails on some
    declarations.

    Examples
    --------
    >>> text_of("<h1>Caf&eacute;</h1><p>It's <b>b</b>ig.<script>if (a < b) {}</script>")
    "Café It's big."

    """
    texts = []
    at = 0
    while (tag := _MARKUP.search(markup, at)) is not None:
        texts.append(_resolved(markup[at : tag.start()]))
        at = tag.end()
        if tag["literal"] is not None:
            texts.append(tag["literal"])
        if tag["name"] is None:
            continue
        name = tag["name"].lower()
        if name not in INLINE:
            texts.append(" ")
        if name in SKIPPED and not tag["close"] and not markup.endswith("/>", 0, at):
            end = _END[name].search(markup, at)
            at = len(markup) if end is None else end.start()
    texts.append(_resolved(markup[at:]))
    return " ".join("".join(texts).split())


def _resolved(text: str) -> str:
    """Return a text with its entities replaced by the characters that they stand for."""
    return _ENTITY.sub(
        lambda entity: html.unescape(entity[0]) if len(entity[0]) <= LONGEST_ENTITY else "\ufffd",
        text,
    )
