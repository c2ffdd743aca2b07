"""Field mapping: which parts of an incoming event are its id, title, text, topics and so on.

The settings are those of `[streams.fields]` in a configuration, and of `--fields` of a replay. A
field that they do not name is read from the key of the same name.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.errors import UsageError
from pipeline.events.json_types import json_type
from pipeline.events.paths import Path, parse_path
from pipeline.events.times import time_parser

FIELDS = ("id", "title", "text", "features", "topics", "rank", "time", "language")
CONTENT = ("title", "text", "features")
# What a table such as {path = "body", html = true} may have beside `path`.
OPTIONS: dict[str, tuple[str, ...]] = {
    "id": (),
    "title": ("html",),
    "text": ("html",),
    "features": (),
    "topics": ("separator",),
    "rank": (),
    "time": ("format", "zone"),
    "language": (),
}
SETTINGS = (*FIELDS, "unwrap", "ignore")
ALL_KEYS = "*"  # of `ignore`
MAX_PATHS = 32  # of one field
RECORD_ONLY = ("key", "header", "timestamp", "topic")  # what a file does not have


@dataclass(frozen=True, slots=True)
class FieldSource:
    """One place that a field is read from, and how."""

    path: Path
    html: bool = False
    separator: str = ""
    format: str = ""
    zone: str = ""


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """Where each field of an event is read from."""

    sources: Mapping[str, tuple[FieldSource, ...]]
    unwrap: Path | None = None
    # Keys that an event without content may have although they are not mapped.
    ignore: frozenset[str] = frozenset()
    settings: Mapping[str, object] = field(default_factory=dict, compare=False)  # as given

    @property
    def known_keys(self) -> frozenset[str]:
        """The keys of an event that the mapping accounts for."""
        paths = (source.path for sources in self.sources.values() for source in sources)
        return self.ignore.union(key for path in paths if (key := path.first_key) is not None)


def parse_fields(given: object) -> FieldMapping:
    """Check settings of fields, or raise `UsageError` with what to write instead.

    Examples
    --------
    >>> mapping = parse_fields({"id": "articleId", "topics": "tags[].slug"})
    >>> mapping.sources["topics"][0].path.text, mapping.sources["title"][0].path.text
    ('tags[].slug', 'title')
    >>> parse_fields({"titel": "headline"})
    Traceback (most recent call last):
    ...
    pipeline.errors.UsageError: fields.titel: there is no such field; did you mean 'title'?

    """
    if not isinstance(given, Mapping):
        raise UsageError(
            f'fields: expected a table such as {{id = "articleId"}}, found {json_type(given)}'
        )
    for name in given:
        if name not in SETTINGS:
            near = difflib.get_close_matches(str(name), SETTINGS, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(SETTINGS)}"
            raise UsageError(f"fields.{str(name)[:80]}: there is no such field; {meant}")
    sources = {name: _parse_sources(name, given.get(name, name)) for name in FIELDS}
    if "features" not in given and ("text" in given or "title" in given):
        sources["features"] = ()  # such a key of an event with other text is something else
    if not sources["id"]:
        raise UsageError(
            'fields.id: an event needs an id; write the path of one, or "@origin" if the events '
            "have none"
        )
    return FieldMapping(
        sources, _parse_unwrap(given.get("unwrap")), _parse_ignore(given.get("ignore")), dict(given)
    )


def check_for_files(mapping: FieldMapping) -> None:
    """Refuse a mapping that can find no id in a file, whose lines have no keys or headers."""
    sources = mapping.sources["id"]
    if all(source.path.source in RECORD_ONLY for source in sources):
        paths = " and ".join(source.path.text for source in sources)
        raise UsageError(
            f"fields.id: {paths} exists in Kafka records only, not in a file; write the path of a "
            'key of the events, or "@origin" for the number of the line'
        )


def _parse_sources(name: str, given: object) -> tuple[FieldSource, ...]:
    """Parse a path, a table with a path, or a list of these."""
    entries = given if isinstance(given, list | tuple) else [given]
    sources = [source for entry in entries for source in _parse_source(name, entry)]
    if len(sources) > MAX_PATHS:
        raise UsageError(f"fields.{name}: at most {MAX_PATHS} paths, found {len(sources)}")
    for source in sources:
        if source.path.is_list and name in ("id", "rank", "time", "features", "language"):
            raise UsageError(
                f"fields.{name}: {source.path.text!r} names a list, but {name} is one value; write "
                f"{source.path.text.replace('[]', '[0]')!r} for the first element"
            )
    return tuple(sources)


def _parse_source(name: str, entry: object) -> list[FieldSource]:
    if isinstance(entry, str):
        return [FieldSource(_parse_path(name, entry))]
    if not isinstance(entry, Mapping):
        raise UsageError(
            f"fields.{name}: expected a path (a string), a table such as "
            f'{{path = "{name}"}}, or a list of these; found {json_type(entry)}'
        )
    for option in entry:
        if option != "path" and option not in OPTIONS[name]:
            known = ", ".join(("path", *OPTIONS[name]))
            raise UsageError(f"fields.{name}: there is no option {option!r}; known: {known}")
    paths = entry.get("path")
    paths = paths if isinstance(paths, list | tuple) else [paths]
    if not paths or not all(isinstance(path, str) for path in paths):
        raise UsageError(
            f'fields.{name}: the table must have a path (a string), such as {{path = "{name}"}}'
        )
    html = entry.get("html", False)
    if not isinstance(html, bool):
        raise UsageError(f"fields.{name}: html must be true or false, found {json_type(html)}")
    texts = {
        option: _text_option(name, entry, option) for option in OPTIONS[name] if option != "html"
    }
    sources = [FieldSource(_parse_path(name, path), html=html, **texts) for path in paths]
    for source in sources:
        _check_time(name, source)
    return sources


def _text_option(name: str, entry: Mapping[str, object], option: str) -> str:
    value = entry.get(option, "")
    if not isinstance(value, str) or (option in entry and not 0 < len(value) <= 200):
        raise UsageError(f"fields.{name}: {option} must be a text of 1 to 200 characters")
    return value


def _check_time(name: str, source: FieldSource) -> None:
    if source.format or source.zone:
        try:
            time_parser(source.format or "iso8601", source.zone)
        except UsageError as error:
            raise UsageError(f"fields.{name}: {error}") from None


def _parse_path(name: str, text: str) -> Path:
    try:
        path = parse_path(text)
    except UsageError as error:
        raise UsageError(f"fields.{name}: {error}") from None
    return path


def _parse_unwrap(given: object) -> Path | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise UsageError(
            f'fields.unwrap: expected a path such as "payload.after", found {json_type(given)}'
        )
    path = _parse_path("unwrap", given)
    if path.source or not all(isinstance(step, str) for step in path.steps):
        raise UsageError(
            f'fields.unwrap: {given!r} must be keys with dots between them, such as "payload.after"'
        )
    return path


def _parse_ignore(given: object) -> frozenset[str]:
    if given is None:
        return frozenset()
    keys = [given] if isinstance(given, str) else given
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
        raise UsageError(
            f"fields.ignore: expected a list of keys, or {ALL_KEYS!r} for all, found "
            f"{json_type(given)}"
        )
    return frozenset(keys)
