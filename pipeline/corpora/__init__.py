"""Corpora as streams: every kind of source, opened by the text a person writes for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pipeline.corpora.catalogue import CORPORA
from pipeline.corpora.jsonl import JsonLines, StandardInput
from pipeline.corpora.movielens import MovieLens
from pipeline.corpora.newsgroups import Newsgroups
from pipeline.corpora.reuters21578 import Reuters21578
from pipeline.corpora.source import Source, SourceError
from pipeline.corpora.synthetic import SyntheticNewswire
from pipeline.corpora.text import TextWords
from pipeline.events import MAX_EVENT_BYTES

__all__ = ["Source", "SourceError", "open_source", "source_path"]

Options = dict[str, str]
OPTIONS = re.compile(r"(,[a-z_]+=[^,/]*)+$")  # at the end of a source; a path may have commas
N = TypeVar("N", int, float)


def _reuters21578(path: str, options: Options) -> Source:
    return Reuters21578(Path(path), split=options.pop("split", "all"))


def _movielens(path: str, options: Options) -> Source:
    user = options.pop("user", None)
    return MovieLens(
        Path(path),
        user=None if user is None else _number(user, int),
        nth=_number(options.pop("nth", "1"), int),
        least=_number(options.pop("least", "1"), int),
        others=options.pop("others", "all"),
    )


def _newsgroups(path: str, options: Options) -> Source:
    seed = _number(options.pop("seed", "0"), int)
    return Newsgroups(Path(path), order=options.pop("order", "date"), seed=seed)


def _synthetic(documents: str, options: Options) -> Source:
    return SyntheticNewswire(
        documents=_number(documents, int),
        topics=_number(options.pop("topics", "103"), int),
        seed=_number(options.pop("seed", "0"), int),
        drift=_number(options.pop("drift", "0"), float),
    )


def _number(text: str, kind: type[N]) -> N:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number.") from None


KINDS: dict[str, Callable[[str, Options], Source]] = {
    "movielens": _movielens,
    "newsgroups": _newsgroups,
    "reuters21578": _reuters21578,
    "synthetic": _synthetic,
    "text": lambda path, options: TextWords(Path(path)),
}


def source_path(text: str) -> Path:
    """The path in what a person wrote for a source."""
    kind, colon, rest = text.partition(":")
    return Path(re.sub(OPTIONS, "", rest) if colon and kind in KINDS else text)


def open_source(text: str, max_event_bytes: int = MAX_EVENT_BYTES) -> Source:
    """Open what a person wrote: a file of JSON lines, `-`, or `kind:PATH[,option=value]`."""
    if text == "-":
        return StandardInput(max_event_bytes=max_event_bytes)
    if not text:
        raise SourceError("The source is empty; write a file, -, or kind:PATH.")
    kind, colon, rest = text.partition(":")
    if not colon or kind not in KINDS:
        if colon and not Path(text).exists():
            kinds = ", ".join(KINDS)
            raise SourceError(f"There is no corpus kind {kind!r} (in {text!r}). Known: {kinds}.")
        return JsonLines(Path(text), max_event_bytes)
    where = re.sub(OPTIONS, "", rest)
    options = dict(part.partition("=")[::2] for part in rest[len(where) :].split(",") if part)
    try:
        source = KINDS[kind](where, options)
    except ValueError as error:
        raise SourceError(f"{text!r} cannot be opened: {error}") from None
    if options:
        known = next(c.options for c in CORPORA if c.name == kind)
        raise SourceError(f"{kind} has no option {next(iter(options))!r}. Known: {known}.")
    return source
