"""A worker whose clock is off: `python -m tests.support.shifted_clock SECONDS tokenize CONFIG`.

Everything is the real program, except that the clock of the machine is ahead by so many seconds.
"""

from __future__ import annotations

import sys
import time

right_time = time.time


def shifted_time() -> float:
    return right_time() + SECONDS


if __name__ == "__main__":
    SECONDS = float(sys.argv.pop(1))
    time.time = shifted_time
    from consumers.cli import main

    main()
