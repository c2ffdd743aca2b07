"""A real Prometheus (Debian's package) on the loopback, and its query API."""

from __future__ import annotations

import json
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.kafka.ports import LOOPBACK, PortLease
from deploy.kafka.process import spawn
from tests.conftest import missing

READY_WITHIN_S = 30.0


def program(name: str) -> str:
    """Debian's prometheus or promtool; skips the test if it is not there."""
    actual = shutil.which(name)
    if actual is None:
        missing("prometheus", "apt install prometheus (for its programs; the service is not used)")
        raise AssertionError
    return actual


class Prometheus:
    """A Prometheus on the loopback with a configuration, its data in a folder."""

    def __init__(self, folder: Path, configuration: str, data: Path, *options: str) -> None:
        self._lease = PortLease()
        self._url = f"http://{LOOPBACK}:{self._lease.port}"
        config = folder / "prometheus.yml"
        config.write_text(configuration)
        self._console = folder / "console.log"
        self._process = spawn(
            [
                program("prometheus"),
                f"--config.file={config}",
                f"--storage.tsdb.path={data}",
                f"--web.listen-address={LOOPBACK}:{self._lease.port}",
                *options,
            ],
            self._console,
        )

    def ready(self) -> bool:
        """Whether it answers."""
        assert self._process.poll() is None, self._console.read_text()
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=60) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except OSError:
            return False

    def ask(self, path: str, **parameters: str | float) -> Any:  # noqa: ANN401 - JSON
        """A question to its API; an error is one with what Prometheus says of it."""
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(  # noqa: S310 - our own server
                f"{self._url}/api/v1/{path}?{query}", timeout=30
            ) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None

    def query(self, expression: str, at: float | str | None = None) -> list[Any]:
        """The result of an instant query."""
        asked: dict[str, str | float] = {"query": expression}
        if at is not None:
            asked["time"] = at
        result: list[Any] = self.ask("query", **asked)["result"]
        return result

    def close(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait(20)
        self._lease.release()


@contextmanager
def prometheus(blocks: Path, *options: str) -> Iterator[Prometheus]:
    """A server on blocks of any age, scraping nothing, stopped at the end."""
    ages = "--storage.tsdb.retention.time=100y"
    server = Prometheus(blocks.parent, "global: {}\n", blocks, ages, *options)
    try:
        deadline = time.monotonic() + READY_WITHIN_S
        while not server.ready():
            assert time.monotonic() < deadline, "Prometheus does not answer"
            time.sleep(0.05)
        yield server
    finally:
        server.close()
