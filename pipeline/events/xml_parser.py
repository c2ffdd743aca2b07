"""An XML parser for documents that nobody vouches for: no declarations, no entities, bounded depth.

expat reads each byte once and calls handlers; no tree is built. A document that is given in one
piece takes linear time with every version of expat. (Before 2.6, pieces of a long tag or comment
are read again with each further piece.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from xml.parsers import expat

from pipeline.events.event import MalformedEvent

NOT_XML = "not_xml"
MAX_DEPTH = 200  # of elements; articles of web pages have some dozens
MAX_NAMESPACE_CHARACTERS = 500
SEPARATOR = " "  # between the namespace and the name of an element; no URI has a blank


def new_parser(namespaces: bool) -> expat.XMLParserType:
    """Return a parser; names of elements have their namespace before them if `namespaces`."""
    parser = expat.ParserCreate(namespace_separator=SEPARATOR if namespaces else None)
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartDoctypeDeclHandler = _refuse_doctype
    if namespaces:
        parser.StartNamespaceDeclHandler = _check_namespace
    return parser


def _refuse_doctype(*_: object) -> None:
    raise MalformedEvent(
        NOT_XML,
        "the XML has a document type declaration (<!DOCTYPE ..>); expected none, since it may "
        "declare entities that expand without end or read files",
    )


def _check_namespace(_: str | None, uri: str | None) -> None:
    """Refuse a long URI: it is put before the name of each element, so time would be quadratic."""
    if uri is not None and len(uri) > MAX_NAMESPACE_CHARACTERS:
        detail = f"a namespace has more than {MAX_NAMESPACE_CHARACTERS} characters"
        raise MalformedEvent(NOT_XML, detail)


def check_depth(depth: int) -> None:
    """Refuse XML that is nested too deep."""
    if depth > MAX_DEPTH:
        raise MalformedEvent(NOT_XML, f"elements are nested more than {MAX_DEPTH} deep")


@contextmanager
def xml_errors(first: Callable[[expat.ExpatError], None] | None = None) -> Iterator[None]:
    """Turn the errors of the parser into refusals, unless `first` raises something else."""
    try:
        yield
    except expat.ExpatError as error:
        if first is not None:
            first(error)
        raise MalformedEvent(NOT_XML, f"the event is not well-formed XML: {error}") from None
    # Encodings that Python does not know, or knows as something that expat cannot use.
    except (ValueError, LookupError) as error:
        raise MalformedEvent(NOT_XML, f"the encoding of the XML cannot be read: {error}") from None
