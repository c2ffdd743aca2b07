"""The image as it runs: any user, a read-only root, no compiler at work, and exact rankings.

`make image-test` runs these tests, after `make image`. They need podman or docker and take minutes,
so `make test` leaves them out: it does not set `WIRERANK_IMAGE`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from tests.conftest import REPOSITORY
from tests.deploy.test_compose import SERVICES
from tests.support.kafka_stream import PATIENCE_S, Streaming, assert_exact, eventually
from tests.support.ports import free_port

IMAGE = os.environ.get("WIRERANK_IMAGE", "")
BUILDER = os.environ.get("WIRERANK_BUILDER", "podman")
ANYBODY = "23456:0"  # no user of the image; the group that may write to its folder
HARDENED = [
    "--rm", "--network=host", "--read-only", "--cap-drop=ALL",
    "--security-opt=no-new-privileges", "--user", ANYBODY,
]  # fmt: skip
STATE = ["--tmpfs", "/var/lib/wirerank"]
# Runs every kernel that the image has, and counts those that had to be compiled again.
COUNT_MISSES = """
import runpy, sys, tempfile
from pathlib import Path
kernels = runpy.run_path("/opt/wirerank/share/kernels.py")
with tempfile.TemporaryDirectory(dir="/var/lib/wirerank") as folder:
    kernels["compile_kernels"](Path(folder))
of_all = [kernel.stats for _, kernel in kernels["kernels"]()]
hits = sum(sum(stats.cache_hits.values()) for stats in of_all)
print("hits", hits, "misses", sum(sum(stats.cache_misses.values()) for stats in of_all))
"""

pytestmark = pytest.mark.skipif(not IMAGE, reason="only `make image-test` runs the image")


def container(*arguments: str, options: tuple[str, ...] = (), name: str = "") -> list[str]:
    """A command that runs a container with no rights at all."""
    more = shlex.split(os.environ.get("WIRERANK_RUN_OPTIONS", ""))
    named = ["--name", name] if name else []
    return [BUILDER, "run", *HARDENED, *more, *named, *options, IMAGE, *arguments]


def finished(command: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def inspected() -> Any:  # noqa: ANN401 - JSON
    (found,) = json.loads(finished([BUILDER, "image", "inspect", IMAGE]).stdout)
    return found


def test_the_image_says_what_it_is() -> None:
    labels = inspected()["Config"]["Labels"]
    names = ("title", "version", "revision", "source", "licenses")
    described = {name: labels[f"org.opencontainers.image.{name}"] for name in names}
    assert described["title"] == "Wirerank"
    assert described["licenses"] == "Apache-2.0"
    assert re.fullmatch(r"[0-9a-f]{40}", described["revision"])
    shown = finished(container("--version")).stdout
    assert f"wirerank {described['version']}" in shown


def test_the_image_has_a_health_check_and_no_secret() -> None:
    found = inspected()
    check = found.get("Healthcheck") or found["Config"]["Healthcheck"]
    assert check["Test"][-1] == "/opt/wirerank/share/healthcheck.py"
    assert found["Config"]["User"] == "10001:0"
    everything = json.dumps(found)
    assert not re.search(r"PIP_|_proxy|ca-certificates", everything, re.I)


def test_nothing_can_be_written_but_the_state() -> None:
    script = "touch /opt/wirerank/x || touch /tmp/x || touch /etc/x || touch state && id -u"
    options = ("--entrypoint", "sh", *STATE, *no_tmpfs())
    done = finished(container("-c", script, options=options))
    assert done.stdout.strip() == "23456"
    assert len(re.findall("Read-only file system", done.stderr)) == 3


def no_tmpfs() -> list[str]:
    """Podman mounts a folder at /tmp unless told otherwise; docker does not."""
    return ["--read-only-tmpfs=false"] if "podman" in BUILDER else []


def test_no_kernel_is_compiled_at_the_start() -> None:
    options = ("--entrypoint", "python", "--env", "TMPDIR=/var/lib/wirerank", *STATE)
    done = finished(container("-c", COUNT_MISSES, options=options))
    match = re.search(r"hits (\d+) misses (\d+)", done.stdout)
    assert match is not None
    assert int(match[1]) > 40  # kernels that other kernels call are part of those
    assert int(match[2]) == 0


def test_a_replay_has_the_rankings_of_this_machine(tmp_path: Path) -> None:
    """The kernels of the image are compiled for any processor, those here for this one."""
    arguments = ["replay", "synthetic:400", "--quiet", "--rankings", "-"]
    inside = finished(container(*arguments, options=tuple(STATE)))
    command = [sys.executable, "-m", "consumers", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    here = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    rankings = [line for line in inside.stdout.splitlines() if line.startswith("{")]
    assert len(rankings) == 4 * 400
    assert inside.stdout == here.stdout


def test_the_first_command_of_the_book_runs() -> None:
    """As the page has it, but with the builder and the image of this test."""
    page = (REPOSITORY / "docs/guide/operate/install.md").read_text()
    first, *_ = re.findall(r"^    podman run (.*localhost/wirerank .*)$", page, re.M)
    more = shlex.split(os.environ.get("WIRERANK_RUN_OPTIONS", ""))
    words = [IMAGE if word == "localhost/wirerank" else word for word in shlex.split(first)]
    assert "2,000" in finished([BUILDER, "run", "--network=host", *more, *words]).stdout


def test_the_system_calls_of_the_units_are_enough(tmp_path: Path) -> None:
    """The filter of the systemd units, as a seccomp profile of the container."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze: apt install systemd")
    profile = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "architectures": ["SCMP_ARCH_X86_64"],
        "syscalls": [{"names": sorted(allowed_calls()), "action": "SCMP_ACT_ALLOW"}],
    }
    path = tmp_path / "seccomp.json"
    path.write_text(json.dumps(profile))
    command = ("replay", "synthetic:200", "--quiet")
    done = finished(container(*command, options=(*STATE, f"--security-opt=seccomp={path}")))
    assert "mmp:loss=1" in done.stdout


def allowed_calls() -> set[str]:
    """The system calls that `SystemCallFilter` of the units lets through."""
    text = (REPOSITORY / "deploy/systemd/wirerank-run.service").read_text()
    calls: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", text, re.M):
        for name in line.removeprefix("~").split():
            calls = calls - members(name) if line.startswith("~") else calls | members(name)
    return calls | members("@default")


def members(name: str) -> set[str]:
    """The system calls of a set of systemd, and of the sets in it."""
    shown = finished(["systemd-analyze", "syscall-filter", name]).stdout
    names = {line.strip() for line in shown.splitlines()[1:] if not line.strip().startswith("#")}
    names.discard("")
    inner = {n for n in names if n.startswith("@")}
    return (names - inner).union(*(members(n) for n in inner))


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A folder that the user of the containers can write to."""
    tmp_path.chmod(0o777)
    yield tmp_path
    started = finished([BUILDER, "ps", "--all", "--format", "{{.Names}}"]).stdout.split()
    for name in started:
        if name.startswith(f"wirerank-test-{os.getpid()}-"):
            subprocess.run([BUILDER, "rm", "--force", name], capture_output=True, check=False)


def start(streaming: Streaming, name: str, *arguments: str, options: tuple[str, ...] = ()) -> None:
    """Start a worker in a container; the folder of the stream has the same name inside."""
    folder = streaming.folder
    options = ("--volume", f"{folder}:{folder}", *options)
    command = container(*arguments, options=options, name=container_name(name))
    with (folder / f"{name}.log").open("ab") as log:
        streaming.processes[name] = subprocess.Popen(command, stdout=log, stderr=log)
    streaming._began[name] = 0


def container_name(name: str) -> str:
    return f"wirerank-test-{os.getpid()}-{name}"


def is_healthy(name: str, url: str) -> bool:
    """Whether the health check of the image, run in the container, finds the process well."""
    check = ["python", "-I", "/opt/wirerank/share/healthcheck.py"]
    variable = ["--env", f"WIRERANK_HEALTH_URL={url}"]
    command = [BUILDER, "exec", *variable, container_name(name), *check]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_workers_in_containers_rank_exactly(broker: str, state: Path) -> None:
    """The commands of the stack: tokenizer, learner, player, server; then a clean stop of all."""
    events = list(SyntheticNewswire(documents=300))
    with Streaming(broker, state, ["mmp:loss=1", "perceptron"], partitions=2) as streaming:
        began = time.monotonic()
        for name, service in (("tokenize-0", "tokenizer"), ("learn", "learner")):
            command, _ = SERVICES[service]["command"]
            start(streaming, name, command, str(streaming.path))
        for name in ("tokenize-0", "learn"):
            assert eventually(lambda: bool(streaming.address(name)), PATIENCE_S)  # noqa: B023
            health = streaming.address(name).replace("/metrics", "/healthz")
            assert eventually(lambda: is_healthy(name, health), PATIENCE_S)  # noqa: B023
        print(f"two workers answer {time.monotonic() - began:.1f} s after their start")
        target = ("--kafka", broker, "--topic", streaming.documents)
        finished(container("replay", "synthetic:300", *target, "--quiet", options=tuple(STATE)))
        streaming.wait_learned()
        assert streaming.end("learn") == 0
        assert streaming.end("tokenize-0") == 0
        assert_exact(streaming, streaming.rankings(2 * len(events)), events)

        port = free_port()
        folder = state / "snapshots" / streaming.name
        command, *_ = SERVICES["serve"]["command"]
        start(streaming, command, command, str(folder), "--port", str(port), "--processes", "1")
        url = f"http://127.0.0.1:{port}"
        assert eventually(lambda: is_healthy("serve", f"{url}/healthz"), PATIENCE_S)
        request = urllib.request.Request(  # noqa: S310 - our own server
            f"{url}/v1/rank", b'{"text": "wheat"}', {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            assert b"ranking" in answer.read()
        assert streaming.end("serve") == 0
