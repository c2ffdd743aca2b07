"""`python -m tests.bounded`: does the storage of a trimmed stream stay bounded?

Starts a broker, a tokenizer and learners. Documents arrive at a steady rate, learners are killed at
random, and two lanes are added. Afterwards, sizes are compared with ceilings, and all rankings with
those of an undisturbed run. Exit codes: 0 no violation, 1 a violation, 2 wrong argument.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from tests.bounded.plan import Plan
from tests.bounded.run import BoundedRun
from tests.bounded.sizes import most, table


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bounded",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=12.0, help="of load (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of documents and kills (%(default)s)")
    parser.add_argument("--rate", type=float, default=100.0, help="documents per s (%(default)s)")
    parser.add_argument(
        "--keep", default="snapshots,8MB", help="values of log.keep, one run each (%(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("build/bounded"), help="%(default)s")
    given = parser.parse_args()
    violated = False
    for keep in given.keep.split(","):
        plan = Plan(keep, 60 * given.minutes, given.seed, given.rate)
        violated |= bool(run(plan, given.out / keep))
    return int(violated)


def run(plan: Plan, out: Path) -> list[str]:
    """Run once, print the result, and return the violations."""
    began = time.monotonic()

    def say(text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        print(f"[{plan.keep}, {minutes}:{seconds:02}] {text}", file=sys.stderr, flush=True)

    shutil.rmtree(out, ignore_errors=True)
    say(f"files go to {out}")
    bounded = BoundedRun(plan, out.absolute(), say)
    violations = bounded.run()
    shutil.rmtree(out / "kafka")
    trimmed = [sample for sample in bounded.samples if sample.log_first > 0]
    print(f'\nlog.keep = "{plan.keep}", seed {plan.seed}, {plan.rate:g} documents per second\n')
    print(table(bounded.samples))
    for lane in bounded.late:
        print(f"- {lane.name} was added, and began at offset {lane.logged}")
    if trimmed:
        print(
            f"- log on disk after the first trim: at most {most(trimmed, 'log_disk'):.1f} MB; "
            f"ceiling {plan.log_ceiling / 1e6:.1f} MB"
        )
    print(f"- kills: {bounded.kills}; violations: {len(violations)}")
    for violation in violations[:20]:
        print(f"  - {violation}")
    sys.stdout.flush()
    return violations


if __name__ == "__main__":
    sys.exit(main())
