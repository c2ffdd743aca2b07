"""The plain text of HTML and XML that comes from outside."""

from __future__ import annotations

import html
import re

import numpy as np

from pipeline.text.tag_stripping import packed_names, strip_tags

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

_INLINE_NAMES, _HIDDEN_NAMES = packed_names(INLINE), packed_names(SKIPPED)


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
    return " ".join(loose_text_of(markup).split())


def loose_text_of(markup: str) -> str:
    """Return what `text_of` returns, but with the white space of the markup; it is faster.

    >>> loose_text_of("<p>one</p> <p>two</p>")
    ' one   two '
    """
    try:
        data = bytearray(markup.encode())
    except UnicodeEncodeError:  # half of a pair of surrogates
        return "".join(text_pieces(markup))
    length = strip_tags(np.frombuffer(data, np.uint8), _INLINE_NAMES, _HIDDEN_NAMES)
    if length < 0:
        return "".join(text_pieces(markup))
    text = data[:length].decode()
    return _resolved(text) if "&" in text else text


def text_pieces(markup: str) -> list[str]:
    """Return the pieces of text of any markup, with blanks where elements separate words."""
    resolve = _resolved if "&" in markup else str
    texts: list[str] = []
    at = 0
    while (tag := _MARKUP.search(markup, at)) is not None:
        start, end = tag.span()
        texts.append(resolve(markup[at:start]))
        at = end
        literal, close, name = tag.group("literal", "close", "name")
        if literal is not None:
            texts.append(literal)
        if name is None:
            continue
        name = name.lower()
        if name not in INLINE:
            texts.append(" ")
        if name in SKIPPED and not close and not markup.endswith("/>", 0, at):
            closing = _END[name].search(markup, at)
            at = len(markup) if closing is None else closing.start()
    texts.append(resolve(markup[at:]))
    return texts


def _resolved(text: str) -> str:
    """Return a text with its entities replaced by the characters that they stand for."""
    return _ENTITY.sub(
        lambda entity: html.unescape(entity[0]) if len(entity[0]) <= LONGEST_ENTITY else "\ufffd",
        text,
    )
