"""The kinds of sources, and how the text `kind:PATH[,option=value]` opens one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from pipeline.corpora.avro_file import AvroFile, is_avro_file
from pipeline.corpora.catalogue import CORPORA
from pipeline.corpora.class_folders import ClassFolders
from pipeline.corpora.csv_rows import CsvRows
from pipeline.corpora.fasttext import PREFIX, FasttextLines
from pipeline.corpora.jsonl import JsonLines, StandardInput
from pipeline.corpora.letor import Letor, read_letor
from pipeline.corpora.movielens import MovieLens
from pipeline.corpora.newsgroups import Newsgroups
from pipeline.corpora.newsml_items import NewsmlItems
from pipeline.corpora.packed import unpacked_name
from pipeline.corpora.rcv1 import Rcv1
from pipeline.corpora.reuters21578 import Reuters21578
from pipeline.corpora.source import Source, SourceError, SourceSize
from pipeline.corpora.synthetic_classes import MOST_CLASSES, SyntheticClasses, size_of
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.corpora.trec import Trec, read_judgements, trec_files
from pipeline.corpora.word_prediction import SIZE, TextWords
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.events.formats import NATIVE, NEWSML_G2, TEXT

Options = dict[str, str]
# Options stand at the end of a source. A path may contain commas, too.
OPTION = re.compile(r"[a-z_]+=[^/]*")
MOST_SHOWN = 200  # characters of a source in a message
LARGEST = 1 << 62  # numbers of options; kernels take them as 64 bits
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
            raise ValueError(
                "the options topics= (newswire) and classes= (many classes) exclude each other; "
                "leave out one of them."
            )
        classes = _number(options.pop("classes"), int)
        return SyntheticClasses(documents=count, classes=classes, seed=seed, drift=drift)
    topics = _number(options.pop("topics", "103"), int)
    return SyntheticNewswire(documents=count, topics=topics, seed=seed, drift=drift)


def _number(text: str, kind: type[N]) -> N:
    try:
        number = kind(text)
    except ValueError:
        raise ValueError(f"{text[:80]!r} is not a number.") from None
    if not abs(number) < LARGEST:
        raise ValueError(f"{text[:80]!r} is too large; expected a number below {LARGEST}.")
    return number


def _avro(path: str, options: Options, max_event_bytes: int) -> Source:
    return AvroFile(Path(path), max_event_bytes)


def _csv(path: str, options: Options, max_event_bytes: int) -> Source:
    return CsvRows(
        Path(path),
        delimiter=options.pop("delimiter", "auto"),
        quote=options.pop("quote", "double"),
        split=options.pop("split", "semicolon"),
        max_event_bytes=max_event_bytes,
    )


def _fasttext(path: str, options: Options, max_event_bytes: int) -> Source:
    return FasttextLines(Path(path), options.pop("prefix", PREFIX), max_event_bytes)


def _folders(path: str, options: Options, max_event_bytes: int) -> Source:
    seed = _number(options.pop("seed", "0"), int)
    return ClassFolders(Path(path), options.pop("order", "random"), seed, max_event_bytes)


# The kinds of your own files, whose events may have any size.
FILE_KINDS: dict[str, Callable[[str, Options, int], Source]] = {
    "avro": _avro,
    "csv": _csv,
    "fasttext": _fasttext,
    "folders": _folders,
}
CORPUS_KINDS: dict[str, Callable[[str, Options], Source]] = {
    "letor": _letor,
    "movielens": _movielens,
    "newsgroups": _newsgroups,
    "rcv1": lambda path, options: Rcv1(Path(path), split=options.pop("split", "all")),
    "reuters21578": _reuters21578,
    "synthetic": _synthetic,
    "text": lambda path, options: TextWords(Path(path)),
    "trec": _trec,
}
KINDS = sorted((*CORPUS_KINDS, *FILE_KINDS))


@contextmanager
def _errors_named(text: str) -> Iterator[None]:
    """Turn a bad value, or a path that the system refuses, into an error that names the source."""
    try:
        yield
    except ValueError as error:
        raise SourceError(f"{text[:MOST_SHOWN]!r} cannot be opened: {error}") from None
    except OSError as error:
        reason = error.strerror or error
        raise SourceError(f"{text[:MOST_SHOWN]!r} cannot be opened: {reason}.") from None


def open_source(
    text: str, max_event_bytes: int = MAX_EVENT_BYTES, format_: str = "wirerank"
) -> Source:
    """Open a source: a file of events in this format, `-`, or `kind:PATH[,option=value]`."""
    in_xml, is_text = format_.partition(":")[0] == NEWSML_G2, format_ == TEXT
    if text == "-" and in_xml:
        return NewsmlItems(Path(text), max_event_bytes)
    if text == "-":
        return StandardInput(max_event_bytes=max_event_bytes, lines_only=is_text)
    if not text:
        raise SourceError("The source is empty; write a file, -, or kind:PATH.")
    kind, colon, rest = text.partition(":")
    where, options = _split_options(rest)
    with _errors_named(text):
        if not colon or kind not in KINDS:
            if colon and not Path(text).exists():
                kinds = ", ".join(KINDS)
                raise SourceError(
                    f"There is no corpus kind {kind!r} (in {text!r}). Known: {kinds}."
                )
            if in_xml:
                return NewsmlItems(Path(text), max_event_bytes)
            if unpacked_name(text).lower().endswith((".csv", ".tsv")) and not is_text:
                return CsvRows(Path(text), max_event_bytes=max_event_bytes)
            if format_ == NATIVE and is_avro_file(Path(text)):
                return AvroFile(Path(text), max_event_bytes)
            return JsonLines(Path(text), max_event_bytes, lines_only=is_text)
        if kind in FILE_KINDS:
            source = FILE_KINDS[kind](where, options, max_event_bytes)
        else:
            source = CORPUS_KINDS[kind](where, options)
    if options:
        known = next(c.options for c in CORPORA if c.name == kind)
        raise SourceError(f"{kind} has no option {next(iter(options))!r}. Known: {known}.")
    return source


def source_path(text: str) -> Path:
    """The path in the text of a source, without its kind and options."""
    kind, colon, rest = text.partition(":")
    return Path(_split_options(rest)[0] if colon and kind in KINDS else text)


def size_for(text: str) -> SourceSize | None:
    """The number of topics and terms of a source with many classes; None for other sources."""
    kind, _, rest = text.partition(":")
    if kind == "text":
        return SIZE
    classes = _split_options(rest)[1].get("classes") if kind == "synthetic" else None
    try:
        return size_of(min(int(classes), MOST_CLASSES)) if classes is not None else None
    except ValueError:
        return None  # `open_source` refuses it


def ranks_for(text: str) -> int | None:
    """The number of ranks of a source whose ranks are relevance grades; None for other sources."""
    kind, _, rest = text.partition(":")
    where = _split_options(rest)[0]
    with _errors_named(text):
        if kind == "letor":
            return max(1, int(read_letor(Path(where)).grades.max())) + 1
        if kind == "trec":
            judgements = read_judgements(trec_files(where).judgements)
            return max(1, *(grade for of in judgements.values() for grade in of.values())) + 1
    return None


def remarks_for(text: str) -> list[str]:
    """Remarks for the user: which files of a source are not read."""
    kind, _, rest = text.partition(":")
    with _errors_named(text):
        return trec_files(_split_options(rest)[0]).remarks() if kind == "trec" else []


def _split_options(text: str) -> tuple[str, Options]:
    """Split `PATH,option=value` into the path and the options."""
    parts = text.split(",")
    options = list(takewhile(OPTION.fullmatch, reversed(parts[1:])))[::-1]
    where = ",".join(parts[: len(parts) - len(options)])
    return where, dict(option.partition("=")[::2] for option in options)
