"""The fuzzer finds what is planted, gives the same inputs again, and makes findings small."""

from __future__ import annotations

import faulthandler
import mmap
import os
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import supervisor, worker
from tests.fuzz.__main__ import main
from tests.fuzz.finding import Finding, read_finding
from tests.fuzz.input_stream import InputStream
from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.shrink import shrunk
from tests.fuzz.supervisor import Plan, Run, small
from tests.fuzz.target import MEGABYTE, Broken, Target
from tests.fuzz.targets import TARGETS


class Planted(Target):
    """A parser with a defect that some mutated inputs reach."""

    name = "planted"

    def seeds(self) -> Sequence[bytes]:
        return [b"1111", b"3333"]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return mutate_bytes(rng, data, other)

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return data * 100

    def run(self, data: bytes) -> str:
        if b"\xff" in data:
            self.harm(data)
        return f"{len(data).bit_length()}"

    def harm(self, data: bytes) -> None:
        raise Broken("an input is lost")


class Crashing(Planted):
    def harm(self, data: bytes) -> None:
        faulthandler.disable()  # what it prints would only confuse
        os.abort()


class Hanging(Planted):
    def harm(self, data: bytes) -> None:
        while True:
            pass


class Slow(Planted):
    def harm(self, data: bytes) -> None:
        began = time.process_time()
        while time.process_time() - began < 0.2:
            pass


class Greedy(Planted):
    def harm(self, data: bytes) -> None:
        size = 256 * MEGABYTE  # new memory, not what was freed before the process was forked
        with mmap.mmap(-1, size) as memory:
            memory[::4096] = b"x" * (size // 4096)


def fuzzed(kind: type[Target], inputs: int = 3000) -> supervisor.Tally:
    said: list[str] = []
    tally = supervisor.Tally("planted")
    Run(Plan(seed=1, processes=2, inputs=inputs), said.append).target(kind, tally, 1.0)
    return tally


def only(tally: supervisor.Tally) -> Finding:
    (finding,) = tally.findings.values()
    return finding


def test_an_error_is_found_and_made_small(tmp_path: Path) -> None:
    tally = fuzzed(Planted)
    finding = only(tally)
    assert (finding.kind, finding.what) == ("error", "Broken: an input is lost")
    assert tally.inputs == 3000
    path = small(Planted, finding).write(tmp_path)
    assert read_finding(path).data == b"\xff"


def test_a_crash_is_found_and_the_run_goes_on() -> None:
    tally = fuzzed(Crashing, 60)
    finding = only(tally)
    assert (finding.kind, finding.what) == ("crash", "the process ended with SIGABRT")
    assert b"\xff" in finding.data
    assert tally.inputs == 60


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "HANG_S", -2.0)  # half a second of processor time is left
    assert only(fuzzed(Hanging, 20)).kind == "hang"


def test_slowness_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SLOW_S", 0.1)
    assert only(fuzzed(Slow, 20)).kind == "slow"


def test_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MEMORY_MEGABYTES", 20)
    assert only(fuzzed(Greedy, 60)).kind == "memory"


def test_shrinking_keeps_what_matters() -> None:
    assert (
        shrunk(b"some text (with a hole] in it", lambda data: b"(" in data and b"]" in data)
        == b"(]"
    )


@pytest.mark.parametrize("name", ["events-ninjs", "tokenizer", "log-records", "letor"])
def test_the_same_seed_gives_the_same_inputs(name: str) -> None:
    streams = []
    for seed in (1, 1, 2):
        target = TARGETS[name]()
        stream = InputStream(target, seed, 0)
        streams.append([stream.next() for _ in range(200)])
        target.close()
    assert streams[0] == streams[1]
    assert streams[0] != streams[2]
    assert len(set(streams[0])) > 150


@pytest.mark.slow
def test_no_target_has_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A short run over all targets: the same inputs every time, so it fails for a reason."""
    command = ["fuzz", "--inputs", "2000", "--seed", "16", "--processes", "2"]
    monkeypatch.setattr("sys.argv", [*command, "--findings", str(tmp_path)])
    code = main()
    assert code == 0, capsys.readouterr().out
