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

# What frequent tags become. Markup that has no others is read without a look at each of them.
_BLOCKS = ("p", "br", "div", "li", "ul", "ol", "h1", "h2", "h3", "h4", "td", "tr", "table")
_SIMPLE = {
    tag: separator
    for names, separator in ((INLINE, ""), (_BLOCKS, " "))
    for name in names
    for tag in (f"<{name}>", f"</{name}>", f"<{name}/>", f"<{name} />")
}

_SIMPLE_TAG = re.compile(r"(</?[a-z1-6]{1,10} ?/?>)")


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
    resolve = _resolved if "&" in markup else str
    texts = _SIMPLE_TAG.split(markup)  # text and tags take turns
    if 2 * markup.count("<") == len(texts) - 1 and _SIMPLE.keys() >= set(texts[1::2]):
        texts[::2] = map(resolve, texts[::2])
        texts[1::2] = map(_SIMPLE.__getitem__, texts[1::2])
        return " ".join("".join(texts).split())
    return " ".join("".join(text_pieces(markup)).split())


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
