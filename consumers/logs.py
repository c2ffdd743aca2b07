"""Logs of the Kafka workers: where they go, how a line looks, and which settings are logged.

Every line says when (RFC 3339, UTC), how serious, and which worker speaks:

    2026-03-01T09:30:00.125Z INFO [tokenizer 0 of stream newswire] consumers.commands.worker: ...

With `--log-format json` a line is one JSON object with the keys time, level, worker, logger,
message and, if there was one, exception. What the worker works on has keys of its own: role,
stream, lane, shard, instance. A line about an event has the key event, with the origin of the event
(`about_event`). With `--log-format journal` a line has no time, which the journal of systemd has
itself, but begins with its priority, as in `<6>[learner of stream newswire] ...`, so that
`journalctl --priority` works. Passwords never appear: settings hold them as
`SecretStr`, and the client library, which might log what it sends, is kept silent.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from consumers.settings import Config, PageSettings
from pipeline.events.suggestions import toml_of
from pipeline.printable import printable, printable_json, printable_lines

if TYPE_CHECKING:
    from consumers.kafka.client_types import Message

log = logging.getLogger(__name__)

EVENT, TRACE = "event", "traceparent"
MAX_SHOWN_BYTES = 200  # of a key or header


class LogLevel(StrEnum):
    """The least serious level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a log line is written."""

    TEXT = "text"
    JSON = "json"
    JOURNAL = "journal"


# The priorities of syslog, which the journal reads at the beginning of a line.
PRIORITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}
OTHER_PRIORITY = 5


class LineFormatter(logging.Formatter):
    """Formats the records of one worker, in text, in JSON or for the journal."""

    def __init__(
        self, worker: str, log_format: LogFormat, fields: Mapping[str, str] | None = None
    ) -> None:
        super().__init__("%(message)s")
        self._worker = worker
        self._log_format = log_format
        self._fields = dict(fields or {})

    def format(self, record: logging.LogRecord) -> str:
        """The log line of a record; exceptions follow in text, and are a key in JSON."""
        time = timestamp(record.created)
        if self._log_format is not LogFormat.JSON:
            message = printable(record.getMessage())  # one line, whatever a name in it holds
            if record.exc_info:
                message += f"\n{printable_lines(self.formatException(record.exc_info))}"
            spoken = f"[{self._worker}] {record.name}: {message}"
            if self._log_format is LogFormat.TEXT:
                return f"{time} {record.levelname} {spoken}"
            priority = PRIORITIES.get(record.levelname, OTHER_PRIORITY)
            return "\n".join(f"<{priority}>{line}" for line in spoken.split("\n"))
        line: dict[str, Any] = {
            "time": time,
            "level": record.levelname,
            "worker": self._worker,
            **self._fields,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (event := getattr(record, EVENT, None)) is not None:
            line[EVENT] = event
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return printable_json(json.dumps(line, ensure_ascii=False))


class StandardErrorHandler(logging.Handler):
    """Writes each line to whatever standard error is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:  # a log that cannot be written must not stop the work
            self.handleError(record)


def timestamp(seconds: float) -> str:
    """A moment as RFC 3339 writes it, in UTC, with milliseconds.

    >>> timestamp(1772357400.125)
    '2026-03-01T09:30:00.125Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def about_event(message: Message) -> dict[str, Any]:
    """For `extra` of a log line about an event: where the event comes from.

    The key is often the id of the document. `traceparent` (W3C Trace Context) is the trace in which
    the sender wrote the event, if the record has such a header.
    """
    event: dict[str, Any] = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
    }
    if message.key is not None:
        event["key"] = message.key[:MAX_SHOWN_BYTES].decode(errors="replace")
    for name, value in message.headers or ():
        if name.lower() == TRACE and value is not None:
            event[TRACE] = value[:MAX_SHOWN_BYTES].decode(errors="replace")
    return {EVENT: event}


def set_up_logging(
    worker: str,
    level: LogLevel,
    log_format: LogFormat,
    fields: Mapping[str, str] | None = None,
) -> None:
    """Write the log of this process to standard error, each line with the name of the worker.

    In JSON each line also has these fields.
    """
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if type(handler) is StandardErrorHandler]:
        root.removeHandler(handler)
    handler = StandardErrorHandler()
    handler.setFormatter(LineFormatter(worker, log_format, fields))
    root.addHandler(handler)
    root.setLevel(level.upper())
    # kafka-python repeats itself while a broker is away; the workers log what matters.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def log_settings(config: Config) -> None:
    """Log the settings in force: one line per section, stream and lane."""
    for line in describe_settings(config):
        log.info("settings: %s", line)
    for path in config.loose_secret_files():
        log.warning("every user of this machine can read the secret in %s: chmod o-r it", path)


def describe_settings(config: Config) -> Iterator[str]:
    """The settings in force, without secrets, as lines that a person can read."""
    yield f"kafka: {listed(config.kafka)}"
    if config.registry.url:
        yield f"registry: {listed(config.registry)}"
    folder = config.snapshots.folder.absolute()
    yield f"snapshots: {listed(config.snapshots.model_copy(update={'folder': folder}))}"
    yield f"metrics: {listed(config.metrics)}"
    if config.audit.file is not None:
        yield f"audit: {listed(config.audit)}"
    if config.page != PageSettings():
        yield f"page: {listed(config.page)}"
    for stream in config.streams:
        yield f"stream {stream.name}: {listed(stream)}"
        for lane in stream.lanes:
            yield f"stream {stream.name}, lane {lane.parsed.name}: {listed(lane)}"


def listed(section: BaseModel) -> str:
    """The single values of a section, as `name = value`; values that are not set are left out."""
    values = {
        name: value
        for name, value in section
        if value is not None and name not in {"name", "lanes"}
    }
    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def shown(value: Any) -> str:  # noqa: ANN401 - whatever a setting can be
    """A value as TOML would write it; a secret as stars.

    >>> from pydantic import SecretStr
    >>> print(shown(SecretStr("swordfish")), shown(True), shown(("grain", "ship")))
    "**********" true ["grain", "ship"]
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, dict):
        return toml_of(value)
    plain = list(value) if isinstance(value, tuple) else value
    return json.dumps(plain if isinstance(plain, bool | int | float | list) else str(plain))
