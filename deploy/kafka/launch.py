"""Become the given command, but die (SIGKILL) as soon as the process that asked for it does.

    python -I -S launch.py PARENT_PID COMMAND ARGUMENT ...

A fresh process does this, not a hook between fork and exec: those are unsafe in a program
with threads. The process id stays the same, so the parent signals the command itself.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Set the signal, check that the parent still lives, become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the process that wanted this one is gone")
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
