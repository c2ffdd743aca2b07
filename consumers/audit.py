"""The audit trail: who changed what with an administrative command, when, and how it ended.

A command that deletes, restores or sends something does its work inside of `audit`:

    with audit("trim", config.audit, stream=stream.name, before=offset) as entry:
        entry.found(deleted=trim(...))

One line is written before the work and one after it, so that a command that was killed leaves a
trace as well. Every line goes to standard error, and to `audit.file` if the configuration names
one. If that file cannot be written, the command is refused before it has changed anything.
"""

from __future__ import annotations

import json
import logging
import os
import pwd
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import SecretStr

from consumers.logs import LineFormatter, LogFormat, StandardErrorHandler, timestamp
from consumers.settings import AuditSettings
from pipeline.errors import UsageError
from pipeline.printable import printable_json
from pipeline.storage.output_files import GROUP

log = logging.getLogger("wirerank.audit")

HIDDEN = "**********"
SECRET_NAMES = re.compile(r"password|secret|token|credential|private|api_?key", re.IGNORECASE)
USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@\s]+@")


class AuditEntry:
    """One administrative command: who runs it, and what it has done so far."""

    def __init__(self, command: str, what: Mapping[str, object]) -> None:
        self.command = command
        self.what = dict(what)
        self.result: dict[str, object] = {}

    def found(self, **result: object) -> None:
        """Add to the line at the end, e.g. how many records were deleted."""
        self.result.update(result)

    def line(self, outcome: str) -> str:
        """The entry as one line of JSON, without secrets and control characters."""
        entry = {
            "time": timestamp(time.time()),
            "command": self.command,
            "outcome": outcome,
            **who(),
            "what": without_secrets(self.what),
            "result": without_secrets(self.result),
        }
        return printable_json(json.dumps(entry, ensure_ascii=False))


@contextmanager
def audit(command: str, settings: AuditSettings, **what: object) -> Iterator[AuditEntry]:
    """Write an audit line before and after an administrative command.

    The outcome at the end is `done`, or `failed: ` and the error. An error goes on to the caller.
    Raises `UsageError` before anything is done if the audit file cannot be written.
    """
    entry = AuditEntry(command, what)
    try:
        write(entry.line("begun"), settings)
    except OSError as error:
        raise UsageError(
            f"audit.file {settings.file} cannot be written ({error.strerror}), so nothing was "
            "done. Correct the setting, or the rights of the file."
        ) from None
    outcome = "done"
    try:
        yield entry
    except BaseException as error:
        code = getattr(error, "exit_code", None)  # how a command ends on purpose
        said = f"exit code {code}" if code is not None else f"{type(error).__name__}: {error}"
        outcome = outcome if code == 0 else f"failed: {without_secrets(said)}"
        raise
    finally:
        try:
            write(entry.line(outcome), settings)
        except OSError as error:  # what was done is done
            log.error("audit.file %s cannot be written: %s", settings.file, error.strerror)


def write(line: str, settings: AuditSettings) -> None:
    """Write a line to standard error and to the audit file; it is on the disk afterwards."""
    if settings.file is not None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(settings.file, flags, GROUP)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            file.write(f"{line}\n".encode())  # in one call: lines of two commands do not mix
            if os.path.isfile(settings.file):
                os.fsync(descriptor)
    ensure_handler()
    log.info("%s", line)


def ensure_handler() -> None:
    """Let audit lines reach standard error in a command that has not set up logging."""
    log.setLevel(logging.INFO)
    known = [*log.handlers, *logging.getLogger().handlers]
    if not any(type(handler) is StandardErrorHandler for handler in known):
        handler = StandardErrorHandler()
        handler.setFormatter(LineFormatter("audit", LogFormat.TEXT))
        log.addHandler(handler)


def who() -> dict[str, str | int]:
    """The user, as the operating system and `sudo` name it, the machine and the process."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name  # not $LOGNAME, which anybody can set
    except KeyError:
        user = f"uid {os.getuid()}"
    names: dict[str, str | int] = {"user": user, "host": socket.gethostname(), "pid": os.getpid()}
    if behind := os.environ.get("SUDO_USER"):
        names["sudo_user"] = behind
    return names


def without_secrets(value: Any) -> Any:  # noqa: ANN401 - whatever a command reports
    """A value as JSON can hold it, with passwords as stars.

    >>> without_secrets({"sasl_password": "swordfish", "url": "http://me:swordfish@host/"})
    {'sasl_password': '**********', 'url': 'http://**********@host/'}
    """
    if isinstance(value, SecretStr):
        return HIDDEN
    if isinstance(value, Mapping):
        return {
            str(name): HIDDEN if SECRET_NAMES.search(str(name)) else without_secrets(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [without_secrets(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return USER_OF_ADDRESS.sub(f"{HIDDEN}@", str(value))
