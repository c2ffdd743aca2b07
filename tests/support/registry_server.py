"""A real Schema Registry, Apicurio, which Maven downloads once into a cache folder."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from deploy.kafka.errors import KafkaUnavailableError
from deploy.kafka.jars import HOW_TO_INSTALL, java, locked, say
from deploy.kafka.ports import LOOPBACK, PortLease
from deploy.kafka.process import spawn

VERSION = "3.0.9"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
ARCHIVE = f"apicurio-registry-app-{VERSION}-all.tar.gz"
# Newer versions of the plugin want the parent of the artifact, which is not in Maven Central.
COPY = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy"
RUNNER = f"apicurio-registry-app-{VERSION}-runner.jar"
SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
FETCH_SECONDS = 1800.0
START_SECONDS = 180.0


def home() -> Path:
    """The cache folder: `WIRERANK_REGISTRY_HOME`, or one in the user's cache folder."""
    if named := os.environ.get("WIRERANK_REGISTRY_HOME"):
        return Path(named).expanduser().absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "wirerank" / f"apicurio-{VERSION}"


def fetch() -> Path:
    """The folder with the registry; only a complete one gets the final name."""
    java()
    folder = home() / "app"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailableError(f"no mvn on the path: {HOW_TO_INSTALL}")
    home().mkdir(parents=True, exist_ok=True)
    with locked(home() / "lock", f"Another process is filling {home()}; waiting for it ..."):
        if not folder.is_dir():
            download(maven, folder)
    return folder


def download(maven: str, folder: Path) -> None:
    """Download and unpack the registry."""
    for abandoned in folder.parent.glob("fetching-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    say(f"Fetching Apicurio Registry {VERSION} with Maven into {folder.parent} (once, 109 MB) ...")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as scratch:
        command = [
            maven, "--batch-mode", "--no-transfer-progress",
            COPY,
            f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={scratch}",
        ]  # fmt: skip
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=FETCH_SECONDS, check=False, cwd=scratch,
        )  # fmt: skip
        archive = Path(scratch) / ARCHIVE
        if done.returncode != 0 or not archive.exists():
            raise KafkaUnavailableError(f"Maven could not fetch {ARTIFACT}: {done.stdout[-800:]}")
        if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
            raise KafkaUnavailableError(f"{ARTIFACT} is not the file that it was")
        partial = Path(scratch) / "app"
        with tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
        partial.rename(folder)


class Registry:
    """A registry process; its schemas stay when it is killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lease = PortLease()
        self.port = self._lease.port
        self.url = f"http://{LOOPBACK}:{self.port}/apis/ccompat/v7"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the registry, and wait until it answers."""
        console = self._folder / "console.log"
        self._process = spawn(
            [
                java(), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self.port}",
                "-Dapicurio.storage.kind=sql", "-Dapicurio.storage.sql.kind=h2",
                f"-Dapicurio.datasource.url=jdbc:h2:file:{self._folder}/schemas",
                "-jar", str(fetch() / RUNNER),
            ],
            console,
        )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"the registry does not start: {console.read_text()[-2000:]}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=60)
        try:
            connection.request("GET", "/apis/ccompat/v7/subjects")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(30)
            self._process = None

    def close(self) -> None:
        """End the registry."""
        self.kill()
        self._lease.release()
