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
Problem = Callable[[str], Exception]  # makes an error from what is wrong with an event
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

    def getter(self, problem: Problem = PathProblem) -> Getter:
        """Return the function that finds the value; it raises a `problem` with what to say."""
        if self.source == "":
            return finder(self.steps, problem)
        if self.source in ("envelope", "key") and self.steps:
            find = finder(self.steps, problem)
            if self.source == "envelope":
                return lambda event, record, envelope: find(envelope, record, envelope)
            return lambda event, record, envelope: find(
                json_key(record, problem) or {}, record, envelope
            )
        if self.source == "header":
            header = self.header
            return lambda event, record, envelope: header_text(record, header, problem)
        if self.source == "key":
            return lambda event, record, envelope: key_text(record, problem)
        if self.source == "value":
            return lambda event, record, envelope: value_text(record, problem)
        return _RECORD_GETTERS[self.source]


# All finders take and ignore the record and the envelope, so that they are getters themselves.


def finder(steps: tuple[Step, ...], problem: Problem, begin: int = 0) -> Getter:
    """Return the function that follows steps, from `begin` on, into a value of JSON."""
    if begin == len(steps):
        return lambda value, record, envelope: value
    step = steps[begin]
    if isinstance(step, str):
        return key_finder(steps, problem, begin)
    rest = finder(steps, problem, begin + 1)

    def misfit(value: object) -> Exception:
        return problem(f"{shown(steps[:begin])} is {json_type(value)}, not a list")

    if isinstance(step, int):

        def find(value: Any, record: Record, envelope: Any) -> Any:  # noqa: ANN401 - JSON
            if type(value) is not list:
                if value is None:
                    return None
                raise misfit(value)
            return rest(value[step], record, envelope) if step < len(value) else None

        return find
    has_lists, last = EACH in steps[begin + 1 :], steps[-1]

    def find_each(value: Any, record: Record, envelope: Any) -> Any:  # noqa: ANN401 - JSON
        if type(value) is not list:
            if value is None:
                return None
            raise misfit(value)
        found = [rest(element, record, envelope) for element in value]
        if has_lists:
            return [one for part in found for one in (part if part is not None else [None])]
        return found

    def find_each_key(value: Any, record: Record, envelope: Any) -> Any:  # noqa: ANN401 - JSON
        if type(value) is not list:
            return find_each(value, record, envelope)
        try:
            return [element.get(last) for element in value]
        except AttributeError:  # an element is no object
            return find_each(value, record, envelope)

    return find_each_key if begin == len(steps) - 2 and isinstance(last, str) else find_each


def key_finder(steps: tuple[Step, ...], problem: Problem, begin: int) -> Getter:
    """Return the function that follows the keys from `begin` on, and the steps behind them."""
    end = begin
    while end < len(steps) and isinstance(steps[end], str):
        end += 1
    keys = steps[begin:end]
    if end < len(steps):
        front, rest = key_finder(steps[:end], problem, begin), finder(steps, problem, end)
        if len(keys) > 1 or begin:
            return lambda value, record, envelope: rest(
                front(value, record, envelope), record, envelope
            )
        (key,) = keys
        return lambda event, record, envelope: rest(event.get(key), record, envelope)
    if len(keys) == 1 and not begin:
        (key,) = keys
        return lambda event, record, envelope: event.get(key)

    def find(value: Any, record: Record, envelope: Any) -> Any:  # noqa: ANN401 - JSON
        whole = value
        for key in keys:
            if type(value) is not dict:
                if value is None:
                    return None
                raise misfit(whole)
            value = value.get(key)
        return value

    def misfit(value: Any) -> Exception:  # noqa: ANN401 - JSON
        at = begin
        while type(value) is dict:
            value = value.get(steps[at])
            at += 1
        return problem(f"{shown(steps[:at])} is {json_type(value)}, not an object")

    return find


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


def decoded(data: bytes, what: str, problem: Problem) -> str:
    """Return the text of bytes that came with a record."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise problem(f"{what} is not UTF-8 text") from None


def key_text(record: Record, problem: Problem) -> str | None:
    """Return the key of a record."""
    key = record.key
    if key is None:
        return None
    if key.startswith(b"\0"):  # no text begins so, but what a serializer with schemas writes does
        raise problem(
            "the key of the record begins with a zero, as one with the id of a schema does, which "
            "is not decoded; read a field of the value"
        )
    return decoded(key, "the key of the record", problem)


def json_key(record: Record, problem: Problem) -> dict[str, Any] | None:
    """Return the key of a record that is a JSON object."""
    if record.key is None:
        return None
    try:
        key = orjson.loads(record.key)
    except orjson.JSONDecodeError:
        raise problem("the key of the record is not JSON; write `@key` to read it whole") from None
    if type(key) is not dict:
        raise problem(f"the key of the record is {json_type(key)}; write `@key` to read it whole")
    return key


def header_text(record: Record, name: str, problem: Problem) -> str | None:
    """Return a header of a record; of several with the same name, the last one counts."""
    for header, value in reversed(record.headers):
        if header == name:
            return None if value is None else decoded(value, f"the header {name!r}", problem)
    return None


def value_text(record: Record, problem: Problem) -> str | None:
    """Return the value of a record as it came."""
    return None if record.value is None else decoded(record.value, "the value", problem)


_RECORD_GETTERS: dict[str, Getter] = {
    "timestamp": lambda event, record, envelope: record.timestamp,
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
