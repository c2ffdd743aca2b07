"""HTML built from elements, so that every text in it is escaped."""

from __future__ import annotations

import html

VOID = frozenset({"br", "img", "meta", "wbr"})


class Html(str):
    """Text that is HTML already; any other text is escaped when it is inserted."""

    __slots__ = ()


def element(tag: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """An HTML element; `class_` becomes `class`, and attributes of None or False are left out.

    >>> element("p", "1 < 2 ", element("b", "&"), class_='"x"')
    '<p class="&quot;x&quot;">1 &lt; 2 <b>&amp;</b></p>'
    """
    given = "".join(
        f" {attribute_name(name)}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in VOID:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{joined(*children)}</{tag}>")


def joined(*pieces: str | None) -> Html:
    """The pieces one after the other; None is left out."""
    return Html("".join(escaped(piece) for piece in pieces if piece is not None))


def escaped(text: str) -> Html:
    """Text as HTML."""
    return text if isinstance(text, Html) else Html(html.escape(text))


def attribute_name(name: str) -> str:
    """The HTML name of an attribute: `class_` is `class`, `aria_label` is `aria-label`."""
    return name.rstrip("_").replace("_", "-")
