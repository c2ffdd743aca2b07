"""The text of a part of an XML document: of a headline, or of a body in XHTML or NITF."""

from __future__ import annotations

from pipeline.text.markup import INLINE, SKIPPED

HIDDEN = frozenset((*SKIPPED, "head"))


class TextCollector:
    """Collects the text of an element and of the elements in it.

    If there is a `body` in it, only that counts, and of a body in NITF only its `body.content`:
    the rest of it repeats headline, author and place. Elements separate words, except inline ones.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._depth = 0  # of elements in the element
        self._hidden_from = 0  # the depth of an element whose text does not count; 0: none
        self._content_from = 0  # the depth of the `body.content`
        self._content_ended = False

    def start(self, name: str) -> None:
        """Take the start of an element."""
        self._depth += 1
        if self._hidden_from or self._content_ended:
            return
        if name in HIDDEN:
            self._hidden_from = self._depth
        elif name == "body" and not self._content_from:
            self._pieces.clear()
        elif name == "body.content" and not self._content_from:
            self._pieces.clear()
            self._content_from = self._depth
        if name not in INLINE:
            self._pieces.append(" ")

    def add(self, text: str) -> None:
        """Take some text."""
        if not self._hidden_from and not self._content_ended:
            self._pieces.append(text)

    def end(self, name: str) -> bool:
        """Take the end of an element; return whether it is the end of the whole."""
        if not self._depth:
            return True
        if self._hidden_from == self._depth:
            self._hidden_from = 0
        if self._content_from == self._depth:
            self._content_ended = True
        if name not in INLINE:
            self.add(" ")
        self._depth -= 1
        return False

    def words(self) -> str:
        """Return the text, with single blanks between words."""
        return " ".join(self.verbatim().split())

    def verbatim(self) -> str:
        """Return the text as it is."""
        return "".join(self._pieces)
