"""Run a command that the kernel kills (SIGKILL) as soon as the parent process ends.

    python -I -S die_with_parent.py PARENT_PID COMMAND ARGUMENT ...

A process of its own does this, because a hook between fork and exec is unsafe in a program with
threads. The command replaces this process and keeps its id, so the parent can signal it.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for the signal, check that the parent still runs, execute the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit(f"the parent process {parent} has ended")
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
