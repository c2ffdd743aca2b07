"""Find Java, and the broker's jars, which Maven downloads once into a cache folder."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from deploy.kafka.errors import KafkaUnavailableError

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
LOGGING = HERE / "log4j2.xml"
HOW_TO_INSTALL = (
    "install Java 17 or newer and Maven "
    "(Debian and Ubuntu: apt install openjdk-17-jre-headless maven)"
)
_MIN_JAVA = 17
_FETCH_TIMEOUT = 1800.0


def say(message: str) -> None:
    """Print a message to standard error; standard output is for results."""
    print(message, file=sys.stderr, flush=True)


@functools.cache
def kafka_version() -> str:
    """Return the version of Apache Kafka in `pom.xml`."""
    pom = ElementTree.parse(POM)  # noqa: S314  our own file
    version = pom.findtext(".//{*}properties/{*}kafka.version")
    if version is None:
        raise KafkaUnavailableError(f"{POM} has no kafka.version")
    return version


def home() -> Path:
    """Return the cache folder: `WIRERANK_KAFKA_HOME`, or one in the user's cache folder."""
    if named := os.environ.get("WIRERANK_KAFKA_HOME"):
        return Path(named).expanduser().absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "wirerank" / f"kafka-{kafka_version()}"


def java() -> str:
    """Return the Java to run: the one of `JAVA_HOME` if it is set, else the one on the path."""
    return find_java()[0]


@functools.cache
def find_java() -> tuple[str, str]:
    """Return the path of Java and its output for `-version`."""
    java_home = os.environ.get("JAVA_HOME")
    executable = shutil.which("java", path=str(Path(java_home) / "bin") if java_home else None)
    if executable is None:
        where = f"JAVA_HOME={java_home} has no bin/java" if java_home else "no java on the path"
        raise KafkaUnavailableError(f"{where}: {HOW_TO_INSTALL}")
    # S603 in this package: all commands are built here, and no shell reads them.
    result = subprocess.run([executable, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = re.search(r'version "(?:1\.)?(\d+)', result.stderr)
    if version is None:
        raise KafkaUnavailableError(
            f"`{executable} -version` prints no version: {result.stderr.strip()}"
        )
    if int(version[1]) < _MIN_JAVA:
        raise KafkaUnavailableError(
            f"{executable} is Java {version[1]}, but Kafka {kafka_version()} needs {_MIN_JAVA}: "
            f"{HOW_TO_INSTALL}, or set JAVA_HOME"
        )
    return executable, result.stderr


def fetch() -> Path:
    """Return the folder with the jars; download them first if it does not exist.

    Only a complete folder gets the final name, and only one process at a time downloads.
    """
    java()
    digest = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    jars = home() / f"jars-{digest}"
    if jars.is_dir():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailableError(f"no mvn on the path: {HOW_TO_INSTALL}")
    try:
        home().mkdir(parents=True, exist_ok=True)
        with locked(home() / "lock", f"Another process is filling {home()}; waiting for it ..."):
            if not jars.is_dir():
                _fetch(maven, jars)
    except OSError as error:
        raise KafkaUnavailableError(
            f"cannot store Kafka's jars in {home()} ({error}): "
            "set WIRERANK_KAFKA_HOME to a folder you may write to"
        ) from error
    return jars


def _fetch(maven: str, jars: Path) -> None:
    # This process holds the lock, so these folders were left by processes that died.
    for abandoned in jars.parent.glob("fetching-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    say(f"Fetching Apache Kafka {kafka_version()} with Maven into {jars.parent} (once, 45 MB) ...")
    with tempfile.TemporaryDirectory(dir=jars.parent, prefix="fetching-") as name:
        partial = Path(name) / "jars"
        command = [
            maven, "--batch-mode", "--no-transfer-progress", "--file", str(POM),
            "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies",
            "-DincludeScope=runtime",
            f"-DoutputDirectory={partial}",
        ]  # fmt: skip
        try:
            done = subprocess.run(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_FETCH_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise KafkaUnavailableError(
                f"Maven has not finished in {_FETCH_TIMEOUT:.0f} s: is Maven Central reachable?"
            ) from error
        broker = partial / f"kafka_2.13-{kafka_version()}.jar"
        if done.returncode != 0 or not broker.exists():
            lines = done.stdout.splitlines()
            errors = [line for line in lines if line.startswith("[ERROR]")]
            raise KafkaUnavailableError(
                "Maven could not fetch Kafka's jars. It needs Maven Central "
                "(https://repo.maven.apache.org); a proxy or a mirror is set in "
                "~/.m2/settings.xml. Maven's output:\n" + "\n".join(errors[:1] or lines[-8:])
            )
        partial.rename(jars)


@contextmanager
def locked(path: Path, message: str) -> Iterator[None]:
    """Hold a lock on a file; print the `message` if another process holds it."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(message)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def class_archive() -> Path:
    """Return the path of the archive of the broker's classes, for this version of Java.

    The file may be missing, or empty if Java could not write it. Java ignores an archive that does
    not match.
    """
    digest = hashlib.sha256("\n".join((*find_java(), fetch().name)).encode()).hexdigest()[:12]
    return home() / f"classes-{digest}.jsa"


def java_command(log: Path, heap_mb: int, *options: str) -> list[str]:
    """Return the beginning of a command that runs one of Kafka's main classes."""
    archive = class_archive()
    if archive.exists() and archive.stat().st_size:
        options = (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", *options)
    class_path = ":".join(sorted(str(jar) for jar in fetch().glob("*.jar")))
    return [
        java(), f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", "-XX:-UsePerfData",
        "-XX:+ExitOnOutOfMemoryError", f"-XX:ErrorFile={log.parent}/crash.log",
        "-Djava.awt.headless=true", f"-Dlog4j2.configurationFile={LOGGING}",
        f"-Dwirerank.kafka.log={log}", *options, "-cp", class_path,
    ]  # fmt: skip


def run_tool(
    main_class: str, *arguments: str, timeout: float = 60.0, log: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's own command line tools; the caller must check its exit code.

    For example `org.apache.kafka.tools.consumer.group.ConsumerGroupCommand`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        command = java_command(log or Path(scratch) / "tool.log", 128, "-XX:TieredStopAtLevel=1")
        return subprocess.run(  # noqa: S603
            [*command, main_class, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
