"""The recipe of the image: what it copies, who runs it, and that nothing secret stays in it."""

from __future__ import annotations

import fnmatch
import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from deploy.kernels import LANES
from learners.specs import LEARNERS
from tests.audit import read_lock
from tests.conftest import REPOSITORY

RECIPE = REPOSITORY / "deploy/image/Containerfile"
HEALTH_CHECK = REPOSITORY / "deploy/image/healthcheck.py"
Instruction = tuple[str, str]


def stages() -> list[list[Instruction]]:
    """The instructions of each stage; those before the first stage are left out."""
    text = re.sub(r"^\s*#.*\n", "", RECIPE.read_text(), flags=re.M).replace("\\\n", " ")
    found: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, " ".join(rest.split())))
    return found


def arguments_of(stage: list[Instruction], name: str) -> list[str]:
    return [rest for instruction, rest in stage if instruction == name]


def test_there_are_two_stages_of_the_same_base() -> None:
    build, final = stages()
    assert build[0] == ("FROM", "${BASE} AS build")
    assert final[0] == ("FROM", "${BASE}")
    (base,) = re.findall(r"^ARG BASE=(\S+)$", RECIPE.read_text(), re.M)
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim-\w+", base), "a pinned, small base"


def test_the_user_is_not_root_and_is_given_as_a_number() -> None:
    """Kubernetes can check only a number (`runAsNonRoot`); group 0 lets any user id in."""
    *_, final = stages()
    (user,) = arguments_of(final, "USER")
    number, group = user.split(":")
    assert int(number) >= 10_000
    assert group == "0"
    assert not arguments_of(final, "RUN"), "nothing is run as root in the final stage"


def test_only_locked_packages_with_hashes_are_installed() -> None:
    build, _ = stages()
    installs = [run for run in arguments_of(build, "RUN") if "pip install" in run]
    assert len(installs) == 2
    locked, itself = installs
    assert "--require-hashes" in locked
    assert "--only-binary :all:" in locked
    assert "--no-index --no-deps --no-build-isolation" in itself
    assert len(read_lock((REPOSITORY / "locks/deploy.txt").read_text())) > 20


def test_secrets_of_the_build_do_not_reach_the_image() -> None:
    """Arguments of the first stage are in no layer of the second; its secrets are mounts."""
    build, final = stages()
    given = {argument.partition("=")[0] for argument in arguments_of(final, "ARG")}
    assert given == {"KERNEL_CPU", "VERSION", "REVISION", "SOURCE"}
    assert any(run.startswith("--mount=type=secret,id=ca") for run in arguments_of(build, "RUN"))
    environment = " ".join(arguments_of(final, "ENV"))
    assert not re.search(r"PIP_|PROXY|TOKEN|PASSWORD|SECRET", environment, re.I)


def test_what_is_copied_is_let_into_the_build_and_nothing_else() -> None:
    build, final = stages()
    copied = [rest.split()[:-1] for rest in arguments_of(build, "COPY")]
    sources = {source for group in copied for source in group}
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert sources == allowed
    assert all((REPOSITORY / source).exists() for source in sources)
    assert not any(fnmatch.fnmatch(".git/config", source) for source in sources)
    assert all(rest.startswith("--from=build") for rest in arguments_of(final, "COPY"))


def test_make_gives_the_builder_version_and_commit() -> None:
    given = ("BUILDER=docker", "BASE=python:3.11", "KERNEL_CPU=x86-64-v3", "IMAGE_OPTIONS=--pull")
    command = ["make", "--no-print-directory", "--dry-run", "image", *given]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    project = (REPOSITORY / "pyproject.toml").read_text()
    (version,) = re.findall(r'^version = "(.*)"$', project, re.M)
    words = done.stdout.replace("\\\n", " ").split()
    assert words[:2] == ["docker", "build"]
    assert words[-2:] == ["--pull", "."]
    assert {f"VERSION={version}", "BASE=python:3.11", "KERNEL_CPU=x86-64-v3"} <= set(words)
    assert any(re.fullmatch("REVISION=([0-9a-f]{40}|unknown)", word) for word in words)


def test_the_labels_are_those_of_oci() -> None:
    *_, final = stages()
    (labels,) = arguments_of(final, "LABEL")
    names = re.findall(r"org\.opencontainers\.image\.(\w+)=", labels)
    assert {"title", "version", "revision", "source", "licenses"} <= set(names)
    project = (REPOSITORY / "pyproject.toml").read_text()
    (licence,) = re.findall(r'^license = "(.*)"$', project, re.M)
    assert f'licenses="{licence}"' in labels


def test_kernels_are_compiled_for_the_processor_that_runs_them() -> None:
    """Both stages set the same name, and no features of the machine that builds."""
    for stage in stages():
        assert "KERNEL_CPU=generic" in arguments_of(stage, "ARG")
        environment = " ".join(arguments_of(stage, "ENV"))
        assert "NUMBA_CPU_NAME=${KERNEL_CPU} NUMBA_CPU_FEATURES= " in f"{environment} "


def test_every_learner_is_compiled() -> None:
    assert {lane.partition(":")[0] for lane in LANES} >= set(LEARNERS)


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def checked(url: str) -> subprocess.CompletedProcess[str]:
    """The health check as the image runs it; a proxy in the environment must not matter."""
    environment = {
        **os.environ, "WIRERANK_HEALTH_URL": url, "http_proxy": "http://127.0.0.1:1",
    }  # fmt: skip
    command = [sys.executable, "-I", str(HEALTH_CHECK)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_health_check_asks_the_process(address: str) -> None:
    assert checked(f"{address}/healthz").returncode == 0
    refused = checked(f"{address}/stuck")
    assert refused.returncode == 1
    assert "503" in refused.stderr


@pytest.mark.parametrize(
    "url", ["http://example.org/healthz", "file:///etc/passwd", "http://127.0.0.1:1/"]
)
def test_the_health_check_fails_if_nothing_answers(url: str) -> None:
    assert checked(url).returncode == 1
