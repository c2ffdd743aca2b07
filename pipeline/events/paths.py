"""Paths: where in an incoming event a value stands. A deliberately small language.

`a.b` is the value of `b` in the object `a`, `a[0]` the first element of the list `a`, and `a[]`
each element of it. A key that has one of the characters `.[]"@` is quoted: `"dc:title"."en.us"`. A
path that begins with `@` reads something that came with the event (`SOURCES`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from pipeline.errors import UsageError
from pipeline.events.json_types import json_type
from pipeline.events.record import Record

MAX_PATH_CHARACTERS = 500
MAX_STEPS = 32
MAX_INDEX = 1_000_000

# What a path can begin with, other than a key of the event.
SOURCES = {
    "@key": "the key of the Kafka record, as text; @key.NAME reads a key that is JSON",
    "@timestamp": "the time of the Kafka record, in milliseconds since 1970",
    "@header.NAME": "a header of the Kafka record, as text; of several, the last",
    "@envelope.NAME": "a key of the event around what `unwrap` names",
    "@value": "the whole value, as text",
    "@topic": "the Kafka topic",
    "@partition": "the partition, a number",
    "@offset": "the offset in the partition, or the number of the line in a file",
    "@origin": "topic, partition and offset in one text (news-0-17), or the number of the line",
}
_NAMED = ("key", "timestamp", "header", "envelope", "value", "topic", "partition", "offset",
          "origin")  # fmt: skip
_STEP = re.compile(r'\.?"((?:[^"\\]|\\.)*)"|\.?([^.\[\]"@][^.\[\]"]*)|\[(\d*)\]')

_PLAIN = re.compile(r'[^.\[\]"@$/][^.\[\]"]*')  # a key that needs no quotes


class _Each:
    """The step `[]`: each element of a list."""


EACH: Final = _Each()
Step = str | int | _Each
# Takes the event (unwrapped), its record, and the event as it came. Returns None if there is no
# such value, or if it is null. A path with `[]` returns a list.
Getter = Callable[[Any, Record, Any], Any]


class PathProblem(Exception):  # noqa: N818 - it never leaves this package
    """An event has something on the way of a path that does not fit it, which is no object."""


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path: what it begins with, and the steps from there."""

    text: str
    source: str  # "" is the event itself; otherwise one of `_NAMED`
    steps: tuple[Step, ...]
    header: str = ""

    @property
    def is_list(self) -> bool:
        """Whether it names any number of values."""
        return EACH in self.steps

    @property
    def first_key(self) -> str | None:
        """The key of the event that it begins with, if any."""
        return self.steps[0] if not self.source and isinstance(self.steps[0], str) else None

    def getter(self) -> Getter:
        """Return the function that finds the value."""
        steps = self.steps
        if self.source == "":
            if len(steps) == 1:
                (key,) = steps
                return lambda event, record, envelope: event.get(key)
            return lambda event, record, envelope: walk(event, steps)
        if self.source == "envelope":
            return lambda event, record, envelope: walk(envelope, steps)
        if self.source == "key" and steps:
            return lambda event, record, envelope: walk(json_key(record), steps)
        if self.source == "header":
            header = self.header
            return lambda event, record, envelope: header_text(record, header)
        return _RECORD_GETTERS[self.source]


def walk(value: Any, steps: Sequence[Step], at: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Follow steps into a value; None if it ends on the way."""
    while at < len(steps):
        step = steps[at]
        if value is None:
            return None
        if type(step) is str:
            if type(value) is not dict:
                raise PathProblem(f"{shown(steps[:at])} is {json_type(value)}, not an object")
            value = value.get(step)
        elif type(value) is not list:
            raise PathProblem(f"{shown(steps[:at])} is {json_type(value)}, not a list")
        elif type(step) is int:
            value = value[step] if step < len(value) else None
        elif EACH in steps[at + 1 :]:
            inner = (walk(element, steps, at + 1) for element in value)
            return [one for part in inner for one in (part if part is not None else [None])]
        else:
            return [walk(element, steps, at + 1) for element in value]
        at += 1
    return value


def shown(steps: Sequence[Step]) -> str:
    """Return steps as the text of a path, for messages."""
    return f"`{join_path(steps)}`" if steps else "the event"


def join_path(steps: Sequence[Step]) -> str:
    """Return the text of a path, with keys in quotes where they need them.

    >>> join_path(["a", "b.c", 0, EACH, "d"])
    'a."b.c"[0][].d'
    """
    text = ""
    for step in steps:
        if isinstance(step, str):
            plain = _PLAIN.fullmatch(step) and step == step.strip()
            text += ("." if text else "") + (step if plain else orjson.dumps(step).decode())
        else:
            text += "[]" if isinstance(step, _Each) else f"[{step}]"
    return text


def decoded(data: bytes, what: str) -> str:
    """Return the text of bytes that came with a record."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise PathProblem(f"{what} is not UTF-8 text") from None


def key_text(record: Record) -> str | None:
    """Return the key of a record."""
    return None if record.key is None else decoded(record.key, "the key of the record")


def json_key(record: Record) -> Any:  # noqa: ANN401 - JSON
    """Return the key of a record that is JSON."""
    if record.key is None:
        return None
    try:
        return orjson.loads(record.key)
    except orjson.JSONDecodeError:
        raise PathProblem(
            "the key of the record is not JSON; write `@key` to read it whole"
        ) from None


def header_text(record: Record, name: str) -> str | None:
    """Return a header of a record; of several with the same name, the last one counts."""
    for header, value in reversed(record.headers):
        if header == name:
            return None if value is None else decoded(value, f"the header {name!r}")
    return None


def value_text(record: Record) -> str | None:
    """Return the value of a record as it came."""
    return None if record.value is None else decoded(record.value, "the value")


_RECORD_GETTERS: dict[str, Getter] = {
    "key": lambda event, record, envelope: key_text(record),
    "timestamp": lambda event, record, envelope: record.timestamp,
    "value": lambda event, record, envelope: value_text(record),
    "topic": lambda event, record, envelope: record.topic or None,
    "partition": lambda event, record, envelope: record.partition,
    "offset": lambda event, record, envelope: record.offset,
    "origin": lambda event, record, envelope: record.origin,
}


def parse_path(text: str) -> Path:
    """Parse a path, or raise `UsageError` with what to write instead.

    Examples
    --------
    >>> parse_path("tags[].slug").steps == ("tags", EACH, "slug")
    True
    >>> parse_path("$.tags[*].slug")
    Traceback (most recent call last):
    ...
    pipeline.errors.UsageError: '$.tags[*].slug' is JSONPath; write 'tags[].slug'

    """
    if not text or len(text) > MAX_PATH_CHARACTERS:
        raise UsageError(
            f"a path has 1 to {MAX_PATH_CHARACTERS} characters, found {len(text)}; write the name "
            "of a key, such as headline"
        )
    _refuse_other_languages(text)
    if text.startswith("@"):
        return _parse_source(text)
    return Path(text, "", _parse_steps(text, text))


def _refuse_other_languages(text: str) -> None:
    if text.startswith("$"):
        meant = re.sub(r"\['([^']*)'\]", r".\1", text).removeprefix("$").lstrip(".")
        if text[1:2] in (".", "[", ""):
            meant = meant.replace("[*]", "[]") or "@value"
            raise UsageError(f"{text!r} is JSONPath; write {meant!r}")
    if text.startswith("/"):
        raise UsageError(f"{text!r} is a JSON Pointer; write {text[1:].replace('/', '.')!r}")


def _parse_source(text: str) -> Path:
    name, rest = re.fullmatch(r"@([^.\[]*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    if name not in _NAMED:
        known = ", ".join(SOURCES)
        raise UsageError(
            f"{text!r} begins with @ but is none of {known}; a key of the event that begins with @ "
            f"is quoted: {orjson.dumps(text).decode()}"
        )
    if name == "header":
        header = rest.removeprefix(".")
        if len(header) > 1 and header[0] == header[-1] == '"':
            header = header[1:-1]
        if not header or not rest.startswith("."):
            raise UsageError(f"{text!r} names no header; write @header.NAME")
        return Path(text, name, (), header)
    if name == "envelope":
        if not rest.startswith("."):
            raise UsageError(f"{text!r} names no key of the envelope; write @envelope.NAME")
        return Path(text, name, _parse_steps(rest[1:], text))
    if rest and name != "key":
        raise UsageError(f"{text!r}: @{name} is a single value; write '@{name}'")
    return Path(text, name, _parse_steps(rest.removeprefix("."), text) if rest else ())


def _parse_steps(text: str, whole: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or (step[3] is None and (text[at] == ".") != bool(at)):
            raise UsageError(_advice(text, at, whole))
        quoted, name, index = step.groups()
        if quoted is not None:
            steps.append(_unquoted(quoted, whole))
        elif name is not None:
            if name != name.strip():
                raise UsageError(
                    f"{whole!r} has a space at the start or end of a key; leave it out, or quote "
                    "the key"
                )
            steps.append(name)
        elif index == "":
            steps.append(EACH)
        elif int(index[:10]) > MAX_INDEX or not at:
            raise UsageError(f"{whole!r}: [{index[:10]}] cannot be used here; write a key first")
        else:
            steps.append(int(index))
        at = step.end()
    if not steps or not isinstance(steps[0], str):
        raise UsageError(f"{whole!r} must begin with a key; an event is an object, not a list")
    if len(steps) > MAX_STEPS:
        raise UsageError(f"{whole!r} has {len(steps)} steps; at most {MAX_STEPS} are allowed")
    return tuple(steps)


def _unquoted(quoted: str, whole: str) -> str:
    try:
        text: str = orjson.loads(f'"{quoted}"')
    except orjson.JSONDecodeError:
        raise UsageError(
            f"{whole!r} has a quoted key that is not valid; quote it as in JSON"
        ) from None
    return text


def _advice(text: str, at: int, whole: str) -> str:
    if text.startswith("[*]", at):
        return f"{whole!r} has [*]; write {whole.replace('[*]', '[]')!r}"
    if text[at] == "[":
        return (
            f"{whole!r}: expected [] (each element) or a number from 0 such as [0], found "
            f"{text[at:][:20]!r}"
        )
    where = f"{whole!r} cannot be read at {text[at:][:20]!r}"
    return f'{where}; write keys with dots between them, a.b, and quote other keys: "a.b"'
