"""A real Prometheus (Debian's package) on a folder of blocks, and its query API."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from deploy.kafka.ports import PortLease
from tests.conftest import missing

READY_WITHIN_S = 30.0


def need_prometheus() -> None:
    """Skip, or fail where Prometheus is required, if this machine has none."""
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        missing("prometheus", "apt install prometheus (its service need not run)")


class Prometheus:
    """A server that answers queries."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}"

    def query(self, expression: str, at_s: float | str) -> list[dict[str, Any]]:
        """The result of an instant query."""
        asked = urlencode({"query": expression, "time": at_s})
        with urlopen(f"{self._address}/api/v1/query?{asked}", timeout=30) as answer:  # noqa: S310
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return result

    def is_ready(self) -> bool:
        """Whether it has read its blocks."""
        try:
            with urlopen(f"{self._address}/-/ready", timeout=1) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


@contextmanager
def prometheus(blocks: Path, *options: str) -> Iterator[Prometheus]:
    """Run a server on blocks of any age, scraping nothing, and stop it at the end."""
    lease = PortLease()
    config = blocks.parent / "prometheus.yml"
    config.write_text("global: {}\n")
    log = blocks.parent / "prometheus.log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [
                "prometheus", f"--config.file={config}", f"--storage.tsdb.path={blocks}",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address=127.0.0.1:{lease.port}", *options,
            ],
            stdout=written,
            stderr=written,
        )  # fmt: skip
    try:
        server = Prometheus(lease.port)
        deadline = time.monotonic() + READY_WITHIN_S
        while not server.is_ready():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield server
    finally:
        process.terminate()
        process.wait(30)
        lease.release()
