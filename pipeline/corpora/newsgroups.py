"""Posts in one folder per group, such as 20 Newsgroups; the folder is the topic.

The header of a post names its group (`Newsgroups:`, `Path:`, `Xref:`), so only the subject is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from pipeline.corpora.class_folders import check_order, class_of, shuffled
from pipeline.corpora.corpus_files import open_files
from pipeline.corpora.source import SourceError, valid_text

ORDERS = ("date", "shuffled")

# Some editions removed the first line of a header of several lines; the other lines are left.
_HEADER = re.compile(r"(?:[ \t].*\n)*(?:From |[!-9;-~]+:)")
_FOLD = re.compile(r"\n[ \t]+")


class Newsgroups:
    """Source of all posts, by date or in a seeded shuffle that is the same on every machine.

    The by-date edition of 20 Newsgroups has no dates in its headers. Posts without a date come
    last, with all groups mixed evenly: the position of a post in its group by article number,
    which a news server counts up, stands in for its time. One group after another, as their paths
    are sorted, would be unlike any real stream.
    """

    def __init__(self, path: Path, order: str = "date", seed: int = 0) -> None:
        check_order("newsgroups", order, ORDERS)
        self._order = order
        self._seed = seed
        self._files = open_files(path, lambda name: "/" in name)
        self._names = _posts(path, self._files.names)

    @cached_property
    def topics(self) -> Sequence[str]:
        """The names of the groups, sorted."""
        return sorted({class_of(name) for name in self._names})

    @property
    def total(self) -> int:
        """The number of posts."""
        return len(self._names)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the document events, reading each file on demand."""
        for name in self._ordered:
            yield event(_identity(name), self._files.read(name))

    @cached_property
    def _ordered(self) -> list[str]:
        if self._order == "shuffled":
            by_identity = {_identity(name): name for name in self._names}
            return [by_identity[one] for one in shuffled(list(by_identity), self._seed)]
        dates = {name: parse_date(split_post(self._files.read(name))[0]) for name in self._names}
        dated = [(date, name) for name, date in dates.items() if date is not None]
        undated = [name for name, date in dates.items() if date is None]
        return [name for _, name in sorted(dated)] + _side_by_side(undated)


def event(identity: str, raw: bytes) -> bytes:
    """The document event of one post; `identity` is group/filename."""
    header, body = split_post(raw)
    fields: dict[str, Any] = {"id": identity}
    subject = " ".join(header.get("subject", "").split())
    if subject:
        fields["title"] = subject
    # Present even if empty, because an event without content would be a late label.
    fields["text"] = body
    fields["topics"] = [class_of(identity)]
    date = parse_date(header)
    if date is not None:
        fields["time"] = f"{date.year:04}{date:-%m-%dT%H:%M:%S}Z"
    return orjson.dumps(fields)


def split_post(raw: bytes) -> tuple[dict[str, str], str]:
    """Split a post into header and body; of repeated fields the first is kept, in lower case."""
    text = raw.decode("latin-1").replace("\r\n", "\n").lstrip("\n")
    if not _HEADER.match(text):  # a body only
        return {}, text.strip()
    header, _, body = text.partition("\n\n")
    fields: dict[str, str] = {}
    for line in _FOLD.sub(" ", header).split("\n"):
        name, _, value = line.partition(":")
        fields.setdefault(name.lower(), value.strip())
    return fields, body.strip()


def parse_date(header: dict[str, str]) -> datetime | None:
    """The Date header in UTC; a date without a time zone counts as UTC."""
    try:
        date = parsedate_to_datetime(header["date"])
        return date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC)
    # Old software wrote dates in many forms, on which the parser fails in many ways.
    except (KeyError, ValueError, TypeError, IndexError, OverflowError):
        return None


def _identity(name: str) -> str:
    return valid_text("/".join(PurePosixPath(name).parts[-2:]))


def _article(name: str) -> tuple[bool, int, str, str]:
    """The sort key of a post in its group: by number; posts without a number last, by name.

    Numbers stay text, because a name in an archive may have more digits than `int` takes.
    """
    base = PurePosixPath(name).name
    number = base.isascii() and base.isdecimal()
    digits = base.lstrip("0") if number else ""
    return not number, len(digits), digits, name


def _side_by_side(names: Sequence[str]) -> list[str]:
    """Merge the groups so that at any point the same share of each group has been listed."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names, key=_article):
        groups.setdefault(class_of(name), []).append(name)
    placed = [
        ((place + 0.5) / len(posts), group, name)
        for group, posts in groups.items()
        for place, name in enumerate(posts)
    ]
    return [name for _, _, name in sorted(placed)]


def _posts(path: Path, names: Sequence[str]) -> list[str]:
    """The files that are posts: those at the depth where most files are.

    Some editions have folders such as 20news-bydate-train above the groups, and other files such as
    a README may be at any level.
    """
    depths = Counter(name.count("/") for name in names)
    if not depths:
        raise SourceError(
            f"{path} has no posts; expected one folder per group with one file per post (links "
            "are not followed): name the folder that holds the groups"
        )
    depth, _ = depths.most_common(1)[0]
    posts = [name for name in names if name.count("/") == depth]
    identity, count = Counter(map(_identity, posts)).most_common(1)[0]
    if count > 1:
        raise SourceError(
            f"{path} has {count} posts named {identity}; expected one. The folder seems to hold "
            "several editions of the collection; name the folder of one of them"
        )
    return posts
