"""Checks an HTML page strictly: all elements are closed, and nothing is loaded from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"br", "img", "meta", "wbr"}


class Page(HTMLParser):
    """A parsed page; `problems` lists what is wrong with it."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page.decode())
        self.close()
        if self._open:
            self.problems.append(f"never closed: {self._open}")
        self._check()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if len(dict(attrs)) != len(attrs):
            self.problems.append(f"{tag} has an attribute twice")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.text += data

    def _check(self) -> None:
        ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]
        if len(ids) != len(set(ids)):
            self.problems.append("an id is there twice")
        for tag, attributes in self.tags:
            if tag in ("script", "iframe", "object", "embed", "link", "base", "form", "svg"):
                self.problems.append(f"there is a {tag}")
            if tag == "img" and not attributes.get("alt"):
                self.problems.append("a picture without words")
            if tag == "th" and "scope" not in attributes:
                self.problems.append("a heading of nothing")
            for name, value in attributes.items():
                self._check_attribute(name, value or "", ids)

    def _check_attribute(self, name: str, value: str, ids: list[str | None]) -> None:
        if name.startswith("on") or name in ("style", "srcset", "action"):
            self.problems.append(f"an attribute {name}")
        if name == "src" and not value.startswith(("data:image/svg+xml;", "data:image/png;")):
            self.problems.append(f"asks for {value[:80]}")
        if name == "href" and not value.startswith("data:text/csv;") and value[1:] not in ids:
            self.problems.append(f"leads to {value[:80]}")
        if name == "aria-labelledby" and value not in ids:
            self.problems.append(f"is labelled by {value}, which is not there")

    def values(self, tag: str, attribute: str) -> list[str]:
        actual = (attributes.get(attribute) for name, attributes in self.tags if name == tag)
        return [value for value in actual if value is not None]
