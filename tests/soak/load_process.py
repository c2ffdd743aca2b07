"""The load as a process, which is told what to do by lines on its standard input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY


class LoadProcess:
    """Writes events to a documents topic until it is told to stop."""

    def __init__(
        self, bootstrap: str, topic: str, partitions: int, ledger: Path, seed: int, rate: float
    ) -> None:
        self._log = ledger.with_suffix(".log")
        read_end, self._input = os.pipe()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", "tests.soak.load", "--bootstrap", bootstrap,
                    "--topic", topic, "--partitions", str(partitions), "--ledger", str(ledger),
                    "--seed", str(seed), "--rate", str(rate),
                ],
                cwd=REPOSITORY, stdin=read_end, stdout=subprocess.PIPE, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        os.close(read_end)

    def tell(self, command: str) -> None:
        """Send a command; a load that has ended does not hear it."""
        if self._process.poll() is None:
            os.write(self._input, f"{command}\n".encode())

    def pause(self) -> None:
        """Have everything acknowledged, and write nothing until the next generation begins."""
        self.tell("pause")
        if self._process.stdout is None or not self._process.stdout.readline():
            raise RuntimeError(f"the load has ended by itself; see {self._log}")

    def check(self) -> None:
        """Raise an error if the load has ended by itself."""
        if self._process.poll() is not None:
            raise RuntimeError(f"the load has ended by itself; see {self._log}")

    def stop(self, patience_s: float) -> None:
        """Stop, when everything is acknowledged."""
        self.tell("stop")
        self._process.wait(patience_s)

    def kill(self) -> None:
        """End at once."""
        self._process.kill()
        self._process.wait(10)
