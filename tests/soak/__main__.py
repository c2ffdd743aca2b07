"""`python -m tests.soak`: workers on a three-broker cluster, while faults happen to them.

The seed decides which faults happen, in which order, to whom and for how long. Afterwards an
independent checker compares all rankings with those of an undisturbed run. Exit codes: 0 no
violation, 1 a violation, 2 wrong argument, 130 interrupted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.soak.checker import Verdict
from tests.soak.plan import KINDS
from tests.soak.record import PAGE, add_row
from tests.soak.report import describe
from tests.soak.soak import Plan, Soak

FAILED, INTERRUPTED = 1, 130


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="kinds of faults:\n"
        + "\n".join(f"  {name:13} {kind.what}" for name, kind in KINDS.items()),
    )
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="of faults, at most (%(default)s)"
    )
    parser.add_argument("--faults", type=int, default=10**9, help="at most so many")
    parser.add_argument("--seed", type=int, default=1, help="first seed (%(default)s)")
    parser.add_argument(
        "--seeds", type=int, default=1, help="number of runs, each with the next seed"
    )
    parser.add_argument(
        "--every", type=float, default=3.0, help="seconds between faults (%(default)s)"
    )
    parser.add_argument("--wave", type=int, default=50, help="faults until a calm (%(default)s)")
    parser.add_argument("--rate", type=float, default=25.0, help="events per second (%(default)s)")
    parser.add_argument("--kinds", default="", help="of faults, separated by commas (all)")
    parser.add_argument("--out", type=Path, default=Path("build/soak"), help="folder (%(default)s)")
    parser.add_argument("--record", action="store_true", help=f"add the results to {PAGE.name}")
    given = parser.parse_args()
    kinds = tuple(filter(None, given.kinds.split(",")))
    for kind in kinds:
        if kind not in KINDS:
            parser.error(f"--kinds {kind}: no such kind; there are {', '.join(KINDS)}")
    for number in (signal.SIGINT, signal.SIGTERM):  # also if a shell started this in the background
        signal.signal(number, signal.default_int_handler)
    violated = False
    for seed in range(given.seed, given.seed + given.seeds):
        plan = Plan(
            seed, given.faults, 60 * given.minutes, given.every, given.wave, given.rate, kinds
        )
        verdict = run(plan, given.out / f"seed-{seed}")
        violated |= bool(verdict.violations)
        if given.record:
            add_row(verdict, seed)
    return FAILED if violated else 0


def run(plan: Plan, out: Path) -> Verdict:
    """Run one seed, print its result, and return it."""
    began = time.monotonic()

    def say(text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        print(f"[seed {plan.seed}, {minutes}:{seconds:02}] {text}", file=sys.stderr, flush=True)

    say(f"soak: files go to {out}")
    soak = Soak(plan, out, say)
    try:
        verdict = soak.run()
    except KeyboardInterrupt:
        happened = sum(soak.faults.happened.values())
        say(f"interrupted after {happened} faults {soak.faults.happened}; ending all processes")
        raise SystemExit(INTERRUPTED) from None
    finally:
        soak.close()
    print(describe(verdict), flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
