"""Starts the processes of a run, notices those that crash or hang, and collects findings."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

from tests.fuzz.finding import Finding, error_finding
from tests.fuzz.shrink import shrunk
from tests.fuzz.target import Target
from tests.fuzz.worker import CurrentInput, Report, Work, allowed_seconds, fuzz

FORK = multiprocessing.get_context("fork")
HANG_S = 10.0  # of processor time on one input
STUCK_S = 60.0  # of any time on one input
START_S = 600.0  # before the first input: kernels are compiled
POLL_S = 0.2
MOST_LOST = 200  # processes of one target
TICKS = os.sysconf("SC_CLK_TCK")

Make = Callable[[], Target]


@dataclass
class Tally:
    """What was done with one target."""

    name: str
    inputs: int = 0
    seconds: float = 0.0
    outcomes: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)
    repeated: int = 0

    def add(self, finding: Finding) -> bool:
        """Keep a finding; return whether its cause is new."""
        new = finding.key not in self.findings
        if new:
            self.findings[finding.key] = finding
        else:
            self.repeated += 1
        return new

    def __str__(self) -> str:
        speed = self.inputs / self.seconds if self.seconds else 0.0
        return (
            f"{self.name:<18} {self.inputs:>10,} inputs {speed:>8,.0f}/s "
            f"{self.outcomes:>5} outcomes {len(self.findings):>3} findings"
        )


class Child:
    """One process, and what the parent knows about it."""

    def __init__(self, make: Make, work: Work) -> None:
        self.make, self.work = make, work
        self.current = CurrentInput()
        self.began = time.monotonic()
        self.report = Report(0, 0, [])
        self._connection, there = FORK.Pipe(duplex=False)
        self.process: ForkProcess = FORK.Process(
            target=run_in_child, args=(make, work, self.current, there), daemon=True
        )
        self.process.start()
        there.close()
        self._seen = (0, self.began, 0.0)  # the input, and when it was first seen

    def reports(self) -> Iterator[Report]:
        """Yield what the process has reported since the last call."""
        with suppress(EOFError, OSError):
            while self._connection.poll():
                self.report = self._connection.recv()
                yield self.report

    def hangs(self) -> str:
        """Say how long the current input has been taking, if that is too long."""
        number, data = self.current.read()
        now, used = time.monotonic(), cpu_seconds(self.process.pid or 0)
        if number != self._seen[0]:
            self._seen = (number, now, used)
        if number == 0:
            return "no first input" if now - self.began > START_S else ""
        most = HANG_S + 5 * allowed_seconds(len(data))
        if used - self._seen[2] > most:
            return f"more than {most:.0f} s for {len(data):,} bytes"
        return "nothing happens" if now - self._seen[1] > STUCK_S + most else ""

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()


def run_in_child(make: Make, work: Work, current: CurrentInput, parent: Connection) -> None:
    """Run the work; its errors are findings too, and nothing is printed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this
    try:
        fuzz(make, work, current, parent)
    except Exception as error:
        name = getattr(make, "name", "")
        parent.send(Report(0, 0, [error_finding(name, error, current.read()[1])]))
    sys.stderr.flush()
    os._exit(0)  # threads of servers do not matter


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is done with each target, and with how many processes."""

    seed: int
    processes: int
    seconds: float | None = None  # per target
    inputs: int | None = None  # per target with a share of 1
    stream: int = 0  # the first stream


class Run:
    """A run over several targets, one after another, with several processes each."""

    def __init__(self, plan: Plan, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._say = say
        self._children: list[Child] = []

    def target(self, make: Make, tally: Tally, share: float) -> None:
        """Fuzz one target; adds what is done and found to the tally."""
        plan = self._plan
        began = time.monotonic()
        inputs = None if plan.inputs is None else round(plan.inputs * share) or 1
        number = plan.stream
        try:
            for part in range(plan.processes):
                each = None if inputs is None else len(range(part, inputs, plan.processes))
                self._start(make, Work(plan.seed, number, each, plan.seconds))
                number += 1
            while self._children:
                time.sleep(POLL_S)
                for child in list(self._children):
                    lost = self._look_at(child, tally)
                    if lost is None:
                        continue
                    tally.add(lost)
                    left = child.work.after(child.current.read()[0], time.monotonic() - child.began)
                    if left is not None and len(tally.findings) + tally.repeated < MOST_LOST:
                        self._start(make, replace(left, stream=number))
                        number += 1
                tally.seconds = time.monotonic() - began
        finally:
            for child in self._children:
                child.kill()
            self._children.clear()

    def _start(self, make: Make, work: Work) -> None:
        self._children.append(Child(make, work))

    def _look_at(self, child: Child, tally: Tally) -> Finding | None:
        """Collect what a process says; returns a finding if the process was lost."""
        alive = child.process.is_alive()
        before = child.report
        for report in child.reports():
            tally.inputs += report.inputs - before.inputs
            tally.outcomes = max(tally.outcomes, report.outcomes)
            for finding in report.findings:
                if tally.add(finding):
                    self._say(f"{tally.name}: {finding.kind}: {finding.what} in {finding.place}")
            before = report
        problem = child.hangs() if alive else ""
        if alive and not problem:
            return None
        if alive:
            child.kill()
        child.process.join()
        self._children.remove(child)
        code = child.process.exitcode
        if not problem and code == 0:
            return None
        number, data = child.current.read()
        tally.inputs += max(0, number - child.report.inputs)
        kind = "hang" if problem else "crash"
        what = problem or f"the process ended with {exit_name(code or 0)}"
        self._say(f"{tally.name}: {kind}: {what} (stream {child.work.stream}, input {number})")
        return Finding(tally.name, kind, what, "", data)


def exit_name(code: int) -> str:
    """Return the name of the signal that ended a process, or its exit code."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def outcome_of(make: Make, data: bytes, seconds: float) -> str:
    """Run one input in a process of its own; returns the key of its finding, or an empty text."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=replay_in_child, args=(make, data, sender), daemon=True)
    process.start()
    sender.close()
    process.join(seconds)
    try:
        if process.is_alive():
            process.kill()
            process.join()
            return "hang"
        if process.exitcode:
            return "crash"
        return str(receiver.recv()) if receiver.poll() else ""
    finally:
        receiver.close()


def replay_in_child(make: Make, data: bytes, parent: Connection) -> None:
    """Run one input, and send the key of its finding."""
    target = make()
    try:
        target.run(data)
        parent.send("")
    except Exception as error:
        parent.send(error_finding(target.name, error, data).key)
    sys.stderr.flush()
    os._exit(0)


def small(make: Make, finding: Finding, tries: int = 300) -> Finding:
    """Return a finding with a smaller input."""
    target = make()
    try:
        if finding.kind == "error":

            def found(data: bytes) -> bool:
                data = target.repair(data)
                try:
                    target.run(data)
                except Exception as error:
                    return error_finding(target.name, error, data).key == finding.key
                return False
        elif finding.kind == "crash":

            def found(data: bytes) -> bool:
                return outcome_of(make, target.repair(data), 60.0) == "crash"

            tries = min(tries, 60)
        else:
            return finding  # a smaller input would be fast, or take little memory
        data = shrunk(finding.data, found, tries)
        return Finding(
            finding.target, finding.kind, finding.what, finding.place, target.repair(data)
        )
    finally:
        target.close()
