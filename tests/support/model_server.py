"""A model that is served by a real process, and clients that ask it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import orjson

from tests.support.command_line import WIRERANK, wirerank
from tests.support.saved_runs import event_lines, lane_options, write_lines

JSON = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    """The answer of a server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401
        return orjson.loads(self.body)


def save_model(folder: Path, *lanes: str, seed: int = 0, events: int = 200) -> Path:
    """Learn a random stream with these lanes, and save the model."""
    folder.mkdir(exist_ok=True)
    source = write_lines(str(folder / "events.jsonl"), event_lines(seed, events))
    files = ["--save", str(folder / "m.model"), "--dead-letters", str(folder / "dead.jsonl")]
    result = wirerank("replay", source, *lane_options(*lanes), *files, "--quiet")
    assert result.exit_code == 0, result.output
    return folder / "m.model"


class ModelServer:
    """`wirerank serve` in a process of its own, as long as the context lasts."""

    def __init__(
        self, model: Path, *options: str, environment: dict[str, str] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            [*WIRERANK, "serve", str(model), "--port", "0", *options],
            stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})},
        )  # fmt: skip
        self.port = int(re.findall(r":([0-9]+)/", self.wait_for("at http"))[0])

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for(self, text: str) -> str:
        """Return the next line of the log that has this text."""
        assert self._process.stderr is not None
        seen = ""
        for line in self._process.stderr:
            if text in line:
                return line
            seen += line
        raise AssertionError(f"the server ended and did not say {text!r}: {seen}")

    def children(self) -> list[int]:
        path = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def ask(self, path: str, body: bytes | None = None, method: str = "", **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            sent = {**(JSON if body is not None else {}), **given}
            connection.request(method or ("GET" if body is None else "POST"), path, body, sent)
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, named, response.read())
        finally:
            connection.close()

    def rank(self, **request: object) -> Answer:
        return self.ask("/v1/rank", orjson.dumps(request))

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self._process.send_signal(number)
        return self._process.wait(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self.stop()
        assert self._process.stderr is not None
        self._process.stderr.close()
