"""News items in NewsML-G2 from files: each item is an event for the decoder of that format.

A document is one item, or a newsMessage whose itemSet has any number of them. Documents may also
follow each other in one file or on standard input. An item is written again as UTF-8, with the
namespaces that were declared around it, so that it can be read on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from pipeline.corpora.corpus_files import ArchiveFiles, FolderFiles
from pipeline.corpora.input_file import check_input, named_part, parts_of
from pipeline.corpora.lines import BEYOND
from pipeline.corpora.packed import CHUNK_BYTES, Chunks, unpacked_name
from pipeline.corpora.source import RefusedEvent, SourceError
from pipeline.corpora.tar_archive import is_tar
from pipeline.events.event import MAX_EVENT_BYTES, MalformedEvent, Refusal
from pipeline.events.xml_parser import NOT_XML, check_depth, new_parser, xml_errors

EXPECTED = "an XML file, or a folder or archive of .xml files"
MAX_INHERITED = 4096  # characters of declarations around an item, which are repeated in each
# What items inherit may take this many characters, and this many per byte of the document: a file
# of a megabyte with empty items would become a gigabyte of dead letters.
MAX_REPEATED, MAX_GROWTH = 1 << 18, 4
MAX_SHOWN = 1 << 16  # bytes of a damaged document that become a dead letter
PIECE_BYTES = 1 << 14
DECLARATION = b"<?xml"
AFTER_THE_END = (9, 17)  # errors of expat: another document follows, without or with a declaration


class NewsmlItems:
    """Source of the items of a file, of all `.xml` files of a folder or archive, or of a pipe."""

    topics: Sequence[str] = ()  # topics are discovered
    total: int | None = None  # not known before the files are read

    def __init__(self, path: Path, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._path = path
        self._longest = max_event_bytes + BEYOND
        self._files: FolderFiles | ArchiveFiles | None = None
        if path.is_dir():
            self._files = FolderFiles(path, is_xml)
        else:
            check_input(path, EXPECTED)
            if path.is_file() and is_tar(path):
                self._files = ArchiveFiles(path, is_xml)
        if self._files is not None and not self._files.names:
            raise SourceError(f"{path} has no .xml files; expected {EXPECTED}")

    def __iter__(self) -> Iterator[bytes]:
        for name, chunks in self._documents():
            yield from items_of(chunks, name, self._longest)

    def _documents(self) -> Iterator[tuple[str, Chunks]]:
        """The parts of all files, with names for messages."""
        if isinstance(self._files, ArchiveFiles):
            for name in self._files.names:
                content = self._files.read(name)
                starts = range(0, len(content), CHUNK_BYTES)
                chunks = (content[start : start + CHUNK_BYTES] for start in starts)
                yield name, named_part(chunks, f"{self._path}: {name}", as_text=False)
            return
        paths = [self._path]
        if self._files is not None:
            paths = [self._path / name for name in self._files.names]
        for path in paths:
            for part in parts_of(path, as_text=False, wanted=is_xml):
                yield path.name, part


def is_xml(name: str) -> bool:
    """Whether a file is XML, judging by its name."""
    return unpacked_name(name).lower().endswith(".xml")


def items_of(chunks: Chunks, name: str, longest: int) -> Iterator[bytes]:
    """The items of the documents in some chunks, and dead letters for what cannot be read."""
    document = ItemSplitter(longest)
    ended = 0  # documents that have ended
    lost: bytes | None = None  # after damage: the end of what was searched for the next document
    for chunk in chunks:
        if not chunk:
            yield b""
        for start in range(0, len(chunk), PIECE_BYTES):
            data = chunk[start : start + PIECE_BYTES]
            while data:
                if lost is not None:
                    data = lost + data
                    found = data.find(DECLARATION)
                    if found < 0:
                        lost = data[-len(DECLARATION) :]
                        break
                    data, lost = data[found:], None
                yield from document.feed(data)
                data = document.rest
                if document.problem is not None:
                    yield refused(document, name, document.problem)
                    lost = b""
                if document.ended:
                    document = ItemSplitter(longest)
                    ended += 1
    if lost is None and not (ended and document.is_blank):
        yield from document.finish()
        if document.problem is not None:
            yield refused(document, name, document.problem)


def refused(document: ItemSplitter, name: str, problem: MalformedEvent) -> RefusedEvent:
    """The dead letter for a document that is damaged: its item so far, or where it stopped."""
    refusal = Refusal(problem.reason, f"{name[:200]}: {problem.detail}")
    return RefusedEvent(document.item_so_far() or document.stopped_at or b"-", refusal)


class ItemSplitter:
    """Reads one document piece by piece, and writes its items again, one by one."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parser = new_parser(namespaces=False)
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add
        self._unparsed = b""  # what the parser has not used yet
        self._unparsed_at = 0  # where in the document that begins
        self._names: list[str] = []  # the local names of the elements around an item
        self._scopes: list[dict[str, str]] = [{}]  # what they declare
        self._bytes = 0  # of the document so far
        self._repeated = 0  # characters of declarations that were repeated in items
        self._depth = 0
        self._item_depth = 0  # where the current item begins; 0: there is none
        self._written: list[str] = []
        self._size = 0
        self._items: list[bytes] = []
        self.problem: MalformedEvent | None = None
        self.ended = False
        self.rest = b""  # what follows the document
        self.stopped_at = b""

    @property
    def is_blank(self) -> bool:
        """Whether nothing of a document was read."""
        return not self._unparsed.strip() and not self._names and not self._written

    def item_so_far(self) -> bytes:
        """What was read of the current item."""
        return "".join(self._written).encode()[: self._longest]

    def feed(self, data: bytes) -> list[bytes]:
        """Read the next piece; return the items that end in it."""
        return self._parse(data, final=False)

    def finish(self) -> list[bytes]:
        """Read the end of the input."""
        return self._parse(b"", final=True)

    def _parse(self, data: bytes, final: bool) -> list[bytes]:
        known = self._unparsed + data
        self._bytes += len(data)
        self.rest = b""
        try:
            with xml_errors(self._another_document):
                self._parser.Parse(data, final)
            used = self._parser.CurrentByteIndex - self._unparsed_at
            if len(known) - used > self._longest:
                raise MalformedEvent(NOT_XML, f"a tag has more than {self._longest:,} bytes")
            self._unparsed, self._unparsed_at = known[used:], self._unparsed_at + used
        except AnotherDocument:
            self.ended = True
            self.rest = known[self._parser.ErrorByteIndex - self._unparsed_at :]
        except MalformedEvent as problem:
            self.ended, self.problem = True, problem
            at = max(0, self._parser.CurrentByteIndex - self._unparsed_at)
            self.stopped_at = known[at : at + MAX_SHOWN]
            self.rest = known[at + 1 :]
        items, self._items = self._items, []
        return items

    def _another_document(self, error: expat.ExpatError) -> None:
        if error.code in AFTER_THE_END and not self._depth and self._parser.ErrorByteIndex:
            raise AnotherDocument from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        check_depth(self._depth)
        if not self._item_depth:
            # A document that is no newsMessage is one item, whatever it is: the decoder judges it.
            if self._names and self._names[-1] != "itemSet":
                self._enter(name, attributes)
                return
            if not self._names and name.rpartition(":")[2] == "newsMessage":
                self._enter(name, attributes)
                return
            self._item_depth = self._depth
            self._repeat(self._scopes[-1])
            attributes = {**self._scopes[-1], **attributes}
        written = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
        self._write(f"<{name}{written}>")

    def _repeat(self, inherited: dict[str, str]) -> None:
        """Count declarations that are repeated; refuse a document that consists of little else."""
        self._repeated += sum(len(key) + len(value) for key, value in inherited.items())
        if self._repeated > MAX_REPEATED + MAX_GROWTH * self._bytes:
            raise MalformedEvent(
                NOT_XML, "the namespaces around the items are far longer than the items"
            )

    def _enter(self, name: str, attributes: dict[str, str]) -> None:
        """Take an element that is around items."""
        declared = {
            key: value
            for key, value in attributes.items()
            if key == "xmlns" or key.startswith("xmlns:") or key == "xml:lang"
        }
        inherited = {**self._scopes[-1], **declared} if declared else self._scopes[-1]
        if sum(len(key) + len(value) for key, value in inherited.items()) > MAX_INHERITED:
            detail = f"more than {MAX_INHERITED:,} characters of namespaces are declared"
            raise MalformedEvent(NOT_XML, detail)
        self._names.append(name.rpartition(":")[2])
        self._scopes.append(inherited)

    def _add(self, text: str) -> None:
        if self._item_depth:
            self._write(escape(text))

    def _end(self, name: str) -> None:
        self._depth -= 1
        if not self._item_depth:
            self._names.pop()
            self._scopes.pop()
            return
        self._write(f"</{name}>")
        if self._depth < self._item_depth:
            self._items.append(self.item_so_far())
            self._written, self._size, self._item_depth = [], 0, 0

    def _write(self, text: str) -> None:
        """Write a part of the item, unless it is too long already."""
        if self._size < self._longest:
            self._written.append(text)
            self._size += len(text)


class AnotherDocument(Exception):  # noqa: N818 - it is no error
    """The document has ended, and something follows it."""
