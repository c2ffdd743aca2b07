"""Corpora as streams: every kind of source, opened by the text a person writes for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pipeline.corpora.catalogue import CORPORA
from pipeline.corpora.jsonl import JsonLines, StandardInput
from pipeline.corpora.letor import Letor, read_letor
from pipeline.corpora.many_classes import MOST_CLASSES, SyntheticClasses, room_of
from pipeline.corpora.movielens import MovieLens
from pipeline.corpora.newsgroups import Newsgroups
from pipeline.corpora.rcv1 import Rcv1
from pipeline.corpora.reuters21578 import Reuters21578
from pipeline.corpora.source import Room, Source, SourceError
from pipeline.corpora.synthetic import SyntheticNewswire
from pipeline.corpora.trec import Trec, read_judgements, trec_files
from pipeline.corpora.word_prediction import ROOM, TextWords
from pipeline.events.event import MAX_EVENT_BYTES

__all__ = [
    "Source",
    "SourceError",
    "open_source",
    "ranks_for",
    "remarks_for",
    "room_for",
    "source_path",
]

Options = dict[str, str]
OPTIONS = re.compile(r"(,[a-z_]+=[^,/]*)+$")  # at the end of a source; a path may have commas
N = TypeVar("N", int, float)


def _reuters21578(path: str, options: Options) -> Source:
    return Reuters21578(
        Path(path),
        split=options.pop("split", "all"),
        classes=_number(options.pop("classes", "0"), int),
        labels=options.pop("labels", "all"),
    )


def _movielens(path: str, options: Options) -> Source:
    user = options.pop("user", None)
    return MovieLens(
        Path(path),
        user=None if user is None else _number(user, int),
        nth=_number(options.pop("nth", "1"), int),
        least=_number(options.pop("least", "1"), int),
        others=options.pop("others", "all"),
    )


def _letor(path: str, options: Options) -> Source:
    return Letor(Path(path), normalise=options.pop("normalise", "none"))


def _trec(where: str, options: Options) -> Source:
    depth = _number(options.pop("depth", "1000"), int)
    return Trec(where, depth, normalise=options.pop("normalise", "minmax"))


def _newsgroups(path: str, options: Options) -> Source:
    seed = _number(options.pop("seed", "0"), int)
    return Newsgroups(Path(path), order=options.pop("order", "date"), seed=seed)


def _synthetic(documents: str, options: Options) -> Source:
    count = _number(documents, int)
    seed = _number(options.pop("seed", "0"), int)
    drift = _number(options.pop("drift", "0"), float)
    if "classes" in options:
        if "topics" in options:
            raise ValueError("a stream has topics= (newswire) or classes= (one of many), not both.")
        classes = _number(options.pop("classes"), int)
        return SyntheticClasses(documents=count, classes=classes, seed=seed, drift=drift)
    topics = _number(options.pop("topics", "103"), int)
    return SyntheticNewswire(documents=count, topics=topics, seed=seed, drift=drift)


def _number(text: str, kind: type[N]) -> N:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number.") from None


KINDS: dict[str, Callable[[str, Options], Source]] = {
    "letor": _letor,
    "movielens": _movielens,
    "newsgroups": _newsgroups,
    "rcv1": lambda path, options: Rcv1(Path(path), split=options.pop("split", "all")),
    "reuters21578": _reuters21578,
    "synthetic": _synthetic,
    "text": lambda path, options: TextWords(Path(path)),
    "trec": _trec,
}


def source_path(text: str) -> Path:
    """The path in what a person wrote for a source."""
    kind, colon, rest = text.partition(":")
    return Path(_taken_apart(rest)[0] if colon and kind in KINDS else text)


def room_for(text: str) -> Room | None:
    """How many topics and terms a source has, if it is one of many classes."""
    kind, _, rest = text.partition(":")
    if kind == "text":
        return ROOM
    classes = _taken_apart(rest)[1].get("classes") if kind == "synthetic" else None
    try:
        return room_of(min(int(classes), MOST_CLASSES)) if classes is not None else None
    except ValueError:
        return None  # and refused when it is opened


def ranks_for(text: str) -> int | None:
    """How many ranks the documents of a source have, if these are grades of relevance."""
    kind, _, rest = text.partition(":")
    where = _taken_apart(rest)[0]
    if kind == "letor":
        return max(1, int(read_letor(Path(where)).grades.max())) + 1
    if kind == "trec":
        judged = read_judgements(trec_files(where).judgements)
        return max(1, *(grade for mine in judged.values() for grade in mine.values())) + 1
    return None


def remarks_for(text: str) -> list[str]:
    """What is to be said of a source: what of it is not read."""
    kind, _, rest = text.partition(":")
    return trec_files(_taken_apart(rest)[0]).remarks() if kind == "trec" else []


def _taken_apart(text: str) -> tuple[str, Options]:
    """What stands in front of the options, and the options."""
    where = re.sub(OPTIONS, "", text)
    given = text[len(where) :].split(",")
    return where, dict(part.partition("=")[::2] for part in given if part)


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
    where, options = _taken_apart(rest)
    try:
        source = KINDS[kind](where, options)
    except ValueError as error:
        raise SourceError(f"{text!r} cannot be opened: {error}") from None
    if options:
        known = next(c.options for c in CORPORA if c.name == kind)
        raise SourceError(f"{kind} has no option {next(iter(options))!r}. Known: {known}.")
    return source
