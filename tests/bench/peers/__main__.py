"""`make peers`: Wirerank beside other programs; writes docs/measurements/peers.md.

Results are kept in bench-results/peers, and what is there is not run again.
"""

from __future__ import annotations

import argparse
import shutil
import sys

from tests.bench.peers import quick
from tests.bench.peers.comparison import Effort, run_from_files, run_on_kafka
from tests.bench.peers.growth import run_growth
from tests.bench.peers.page import write_page
from tests.bench.peers.runner import PEERS_PYTHON, RESULTS, Store

PARTS = {"files": run_from_files, "kafka": run_on_kafka, "growth": run_growth}


def check_peers() -> None:
    """Stop if the environment of the peers is not there."""
    if not PEERS_PYTHON.exists():
        sys.exit("The programs to compare with are not installed. Run: make .venv-bench/.peers")


def run(parts: list[str], fresh: bool, effort: Effort) -> None:
    """Run parts of the comparison, and write the page."""
    check_peers()
    if fresh:
        shutil.rmtree(RESULTS, ignore_errors=True)
    store = Store()
    print("Wirerank beside other programs, from text to rankings (an hour)", flush=True)
    for part in parts:
        PARTS[part](store, effort)
    write_page(store, effort)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="repeat for more")
    parser.add_argument("--fresh", action="store_true", help="run everything again")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--quick", action="store_true", help="check the recorded ratios")
    parser.add_argument("--record", action="store_true", help="with --quick: record the ratios")
    parser.add_argument("--turns", type=int, default=Effort().turns, help="runs of each program")
    parser.add_argument(
        "--limit", type=float, default=Effort().limit, help="seconds of processor time for one run"
    )
    asked = parser.parse_args()
    if asked.quick:
        check_peers()
        return quick.run(record=asked.record)
    parts = [] if asked.page else asked.part or list(PARTS)
    run(parts, asked.fresh, Effort(asked.turns, asked.limit))
    return 0


if __name__ == "__main__":
    sys.exit(main())
