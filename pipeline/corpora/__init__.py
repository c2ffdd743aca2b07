"""Corpora as streams of document events; `open_source` opens any of them."""

from pipeline.corpora.registry import (
    open_source,
    ranks_for,
    remarks_for,
    size_for,
    source_path,
)
from pipeline.corpora.source import Source, SourceError

__all__ = [
    "Source",
    "SourceError",
    "open_source",
    "ranks_for",
    "remarks_for",
    "size_for",
    "source_path",
]
