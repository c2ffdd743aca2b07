"""One process of a run: gives the inputs of one stream to one target, and measures each of them."""

from __future__ import annotations

import contextlib
import mmap
import resource
import struct
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fuzz.finding import Finding, error_finding
from tests.fuzz.input_stream import InputStream
from tests.fuzz.target import MEGABYTE, Target

SLOW_S, SLOW_S_PER_MEGABYTE = 0.5, 2.0
MEMORY_MEGABYTES, MEMORY_PER_BYTE = 256, 64
REPORT_S = 0.5
HEADER = struct.Struct("<QQ")  # how many inputs have begun, and the length of the current one
MOST_KEPT = 1 << 23
RESET_PEAK = Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True)
class Work:
    """What one process does: a stream of a target, up to a number of inputs or seconds."""

    seed: int
    stream: int
    inputs: int | None
    seconds: float | None

    def after(self, inputs: int, seconds: float) -> Work | None:
        """Return what is left after some inputs and seconds; None if nothing is."""
        left = None if self.inputs is None else self.inputs - inputs
        time_left = None if self.seconds is None else self.seconds - seconds
        done = (left is not None and left <= 0) or (time_left is not None and time_left <= 0)
        return None if done else Work(self.seed, self.stream, left, time_left)


@dataclass(frozen=True, slots=True)
class Report:
    """What a process has done so far."""

    inputs: int
    outcomes: int
    findings: list[Finding]


class CurrentInput:
    """The current input, in memory that the parent reads when the process dies or hangs."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, HEADER.size + MOST_KEPT)

    def begin(self, number: int, data: bytes) -> None:
        """Keep an input before it is used."""
        kept = data[:MOST_KEPT]
        self._memory[HEADER.size : HEADER.size + len(kept)] = kept
        HEADER.pack_into(self._memory, 0, number, len(kept))

    def read(self) -> tuple[int, bytes]:
        """Return the number of the current input, and its bytes."""
        number, length = HEADER.unpack_from(self._memory)
        return number, bytes(self._memory[HEADER.size : HEADER.size + length])


def allowed_seconds(size: int) -> float:
    """Return how much time an input of this size may take."""
    return SLOW_S + SLOW_S_PER_MEGABYTE * size / MEGABYTE


def peak_bytes() -> int:
    """Return the most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget_peak() -> None:
    """Let the peak start at the memory in use: a forked process begins with its parent's."""
    with contextlib.suppress(OSError):  # only finds less without it
        RESET_PEAK.write_text("5")


class Measurement:
    """Runs inputs, and makes findings of errors, slowness and memory."""

    def __init__(self, target: Target) -> None:
        self._target = target
        forget_peak()
        self._ceiling = peak_bytes() + MEMORY_MEGABYTES * MEGABYTE

    def run(self, data: bytes) -> tuple[str, Finding | None]:
        """Return the outcome of an input, and the finding if there is one."""
        name = self._target.name
        began = time.perf_counter()
        try:
            outcome = self._target.run(data)
        except Exception as error:
            finding = error_finding(name, error, data)
            return finding.key, finding
        if time.perf_counter() - began > allowed_seconds(len(data) * self._target.passes):
            seconds = min(self._cpu_seconds(data) for _ in range(2))
            if seconds > allowed_seconds(len(data) * self._target.passes):
                what = f"{seconds:.1f} s for {len(data):,} bytes"
                return outcome, Finding(name, "slow", what, "", data)
        peak = peak_bytes()
        if peak > self._ceiling + MEMORY_PER_BYTE * len(data):
            what = f"{(peak - self._ceiling) // MEGABYTE + MEMORY_MEGABYTES} MiB in use"
            self._ceiling = peak + MEMORY_MEGABYTES * MEGABYTE
            return outcome, Finding(name, "memory", what, "", data)
        return outcome, None

    def _cpu_seconds(self, data: bytes) -> float:
        began = time.process_time()
        self._target.run(data)
        return time.process_time() - began


def fuzz(make: Callable[[], Target], work: Work, current: CurrentInput, parent: Connection) -> None:
    """Work until the inputs or the seconds are used up; sends a `Report` now and then."""
    warnings.simplefilter("ignore")  # of numpy, on numbers that are odd on purpose
    target = make()
    try:
        stream = InputStream(target, work.seed, work.stream)
        for data in stream.seeds:  # valid inputs; this also compiles the kernels
            stream.learn(data, target.run(data))
        measurement = Measurement(target)
        began = reported = time.monotonic()
        count, findings = 0, list[Finding]()
        while work.inputs is None or count < work.inputs:
            data = stream.next()
            count += 1
            current.begin(count, data)
            outcome, finding = measurement.run(data)
            stream.learn(data, outcome)
            if finding is not None:
                findings.append(finding)
            now = time.monotonic()
            if now - reported > REPORT_S or len(findings) > 100:
                parent.send(Report(count, stream.outcomes, findings))
                reported, findings = now, []
            if work.seconds is not None and now - began > work.seconds:
                break
        parent.send(Report(count, stream.outcomes, findings))
    except KeyboardInterrupt:
        pass  # the parent says what was done
    finally:
        target.close()
