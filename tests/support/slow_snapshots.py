"""A learner whose snapshots take long: `python -m tests.support.slow_snapshots SECONDS learn`.

Everything is the real program, except that writing a snapshot, which happens in the background,
begins with a pause of this many seconds.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

from consumers.cli import main
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot

write = SnapshotFolder.write


def write_slowly(self: SnapshotFolder, snapshot: Snapshot) -> Path:
    logging.getLogger(__name__).info("a snapshot at %d is on its way", snapshot.position)
    time.sleep(SECONDS)
    return write(self, snapshot)


if __name__ == "__main__":
    SECONDS = float(sys.argv.pop(1))
    SnapshotFolder.write = write_slowly  # type: ignore[method-assign]
    main()
