"""Ends a process that hangs, even if it never returns to the interpreter."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager

FIXED_S = 60.0
SECONDS_PER_MEGABYTE = 3.0


@contextmanager
def time_limit(work_bytes: int) -> Iterator[None]:
    """End the process, after printing its stacks, if the work takes far longer than it can.

    The timer belongs to C code and does not need the interpreter, so it also ends work that holds
    it. The process exits with code 1, and whoever supervises it starts it again.
    """
    limit = FIXED_S + SECONDS_PER_MEGABYTE * work_bytes / 1e6
    faulthandler.dump_traceback_later(limit, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
