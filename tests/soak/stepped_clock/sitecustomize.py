"""Python imports this at its start if the folder is on its path: sets the clock by a file.

The file named by `SOAK_CLOCK` holds a number of seconds by which `time.time` is ahead. Timeouts use
the monotonic clock, which is left alone, as it is when a machine's clock is set.
"""

import os
import time

LOOK_S = 0.5

_path = os.environ.get("SOAK_CLOCK", "")
_true_time, _monotonic = time.time, time.monotonic
_offset, _looked = 0.0, float("-inf")


def _ahead() -> float:
    """By how many seconds the clock is ahead now; the file is read twice a second."""
    global _offset, _looked  # noqa: PLW0603
    now = _monotonic()
    if now - _looked > LOOK_S:
        _looked = now
        try:
            with open(_path, encoding="ascii") as file:
                _offset = float(file.read() or 0)
        except (OSError, ValueError):
            pass  # the clock stays as it is
    return _offset


def _stepped_time() -> float:
    return _true_time() + _ahead()


def _stepped_time_ns() -> int:
    return int(_stepped_time() * 1e9)


if _path:
    time.time = _stepped_time
    time.time_ns = _stepped_time_ns
