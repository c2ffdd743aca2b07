"""A real S3 server on the loopback interface: S3Proxy, which keeps objects in a folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from deploy.kafka.errors import KafkaUnavailableError
from deploy.kafka.jars import java, locked
from deploy.kafka.process import spawn
from tests.support.ports import free_port

HERE = Path(__file__).resolve().parent
USER, PASSWORD, BUCKET = "wirerank-tests", "swordfish-in-s3", "wires"
PATIENCE_S = 120.0


class NoServerError(Exception):
    """The server cannot be had on this machine."""


@cache
def jars() -> Path:
    """The folder with the jars of the server; Maven downloads them once (60 MB)."""
    pom = HERE / "pom.xml"
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wirerank"
    folder = cached / f"s3proxy-{digest}"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise NoServerError("no mvn on the path")
    cached.mkdir(parents=True, exist_ok=True)
    with locked(cached / "s3proxy.lock", "Another process fetches S3Proxy; waiting for it ..."):
        if folder.is_dir():
            return folder
        with tempfile.TemporaryDirectory(dir=cached, prefix="fetching-s3-") as name:
            goal = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"
            done = subprocess.run(
                [maven, "-q", "--batch-mode", "--file", str(pom), goal, "-DincludeScope=runtime",
                 f"-DoutputDirectory={name}/jars"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                raise NoServerError(f"Maven cannot fetch S3Proxy: {done.stdout[-500:]}")
            Path(name, "jars").rename(folder)
    return folder


class S3Server:
    """S3Proxy with one bucket; can be stopped and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        (folder / "objects" / BUCKET).mkdir(parents=True)
        settings = {
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.endpoint": f"http://127.0.0.1:{self.port}",
            "s3proxy.identity": USER,
            "s3proxy.credential": PASSWORD,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(folder / "objects"),
        }
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        (folder / "s3.conf").write_text("".join(lines))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and wait until it listens."""
        logback = HERE / "logback.xml"
        self._process = spawn(
            [java(), "-Xmx256m", "-XX:TieredStopAtLevel=1",
             f"-Dlogback.configurationFile={logback}", "-cp", f"{jars()}/*",
             "org.gaul.s3proxy.Main", "--properties", str(self.folder / "s3.conf")],
            self.folder / "s3.log",
        )  # fmt: skip
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise NoServerError(f"S3Proxy does not start: {(self.folder / 's3.log').read_text()}")

    def stop(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None


def access(port: int) -> dict[str, str]:
    """The environment of a process that uses the server, perhaps through a proxy."""
    return {
        "AWS_ACCESS_KEY_ID": USER,
        "AWS_SECRET_ACCESS_KEY": PASSWORD,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
    }


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server, one per session (with xdist: one per worker)."""
    from tests.conftest import missing

    pytest.importorskip("obstore", reason="pip install 'wirerank[object-store]'")
    try:
        jars()
        java()
    except (NoServerError, KafkaUnavailableError, OSError) as error:
        missing("s3", str(error))
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()
