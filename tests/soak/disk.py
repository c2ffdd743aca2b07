"""A small disk for the snapshots, which can be full, and on which writes can hang.

It is an ext4 image on a loop device, which only root can mount. Without it, both faults are left
out.
"""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

SIZE = 160 << 20


class SnapshotDisk:
    """The folder of the snapshots: on a disk of its own if this process may mount one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "disk"
        self.path.mkdir()
        self._image = folder / "disk.image"
        self._filler = self.path / "filler"
        self.mounted = os.geteuid() == 0 and self._mount()

    def _mount(self) -> bool:
        with self._image.open("wb") as image:
            image.truncate(SIZE)
        commands = (
            ["mkfs.ext4", "-q", "-F", str(self._image)],
            ["mount", "-o", "loop", str(self._image), str(self.path)],
        )
        try:
            return all(
                subprocess.run(command, capture_output=True, check=False).returncode == 0
                for command in commands
            )
        except FileNotFoundError:
            return False

    def fill(self) -> None:
        """Leave no room."""
        with self._filler.open("ab", buffering=0) as filler:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        filler.write(b"\0" * size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        """Make room again."""
        self._filler.unlink(missing_ok=True)

    def freeze(self, seconds: float) -> None:
        """Let every write hang for this long; it ends by itself, even if this process dies."""
        script = f'fsfreeze -f "$0" && {{ sleep {seconds:.3f}; fsfreeze -u "$0"; }}'
        subprocess.Popen(["sh", "-c", script, str(self.path)], start_new_session=True)

    def close(self) -> None:
        """Unmount."""
        if self.mounted:
            subprocess.run(["fsfreeze", "-u", str(self.path)], capture_output=True, check=False)
            subprocess.run(["umount", "-l", str(self.path)], capture_output=True, check=False)
