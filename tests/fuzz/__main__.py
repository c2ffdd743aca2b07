"""`make fuzz`: mutated inputs for every surface, until one of them breaks a promise.

The inputs of a stream depend only on the seed, the target and the number of the stream. So a
finding comes again with the same seed, or directly from its file.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from tests.fuzz.finding import read_finding
from tests.fuzz.supervisor import Plan, Run, Tally, outcome_of, small
from tests.fuzz.targets import TARGETS

SECONDS = 60.0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, help="for all targets together")
    parser.add_argument("--inputs", type=int, help="per target, instead of seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stream", type=int, default=0, help="number of the first stream")
    parser.add_argument("--target", action="append", default=[], choices=[*TARGETS, []])
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--replay", type=Path, nargs="+", default=[], help="files of findings")
    parser.add_argument("--list", action="store_true", help="list the targets")
    return parser.parse_args()


def replay(paths: list[Path]) -> int:
    """Run the inputs of findings; returns how many are still findings."""
    found = 0
    for path in paths:
        finding = read_finding(path)
        outcome = outcome_of(TARGETS[finding.target], finding.data, 120.0)
        print(f"{path}: {outcome or 'holds'}")
        found += bool(outcome)
    return found


def main() -> int:
    """Run, print a line per target and a total, and write findings to files."""
    options = arguments()
    if options.list:
        print("\n".join(f"{name:<18} {make.__doc__}" for name, make in TARGETS.items()))
        return 0
    if options.replay:
        return min(1, replay(options.replay))
    names = options.target or list(TARGETS)
    seconds = None if options.inputs else (options.seconds or SECONDS) / len(names)
    plan = Plan(options.seed, options.processes, seconds, options.inputs, options.stream)
    bounds = ", indices checked" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" else ""
    print(f"seed {plan.seed}, {plan.processes} processes, {len(names)} targets{bounds}", flush=True)
    began, tallies = time.monotonic(), list[Tally]()
    code = 0
    try:
        for name in names:
            tallies.append(Tally(name))
            run = Run(plan, lambda line: print(f"  {line}", flush=True))
            run.target(TARGETS[name], tallies[-1], TARGETS[name].share)
            print(tallies[-1], flush=True)
    except KeyboardInterrupt:
        print(f"{tallies[-1]}, interrupted", flush=True)
        code = 130
    total = sum(tally.inputs for tally in tallies)
    found = [finding for tally in tallies for finding in tally.findings.values()]
    for finding in found:
        path = small(TARGETS[finding.target], finding).write(options.findings)
        print(f"finding: {path}: {finding.kind}: {finding.what} {finding.place}", flush=True)
    seconds = time.monotonic() - began
    print(f"{total:,} inputs in {seconds:.0f} s, {len(found)} findings", flush=True)
    return code or min(1, len(found))


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell ignores Ctrl-C
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
