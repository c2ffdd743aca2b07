"""Files that a run writes: checked before it begins, and there whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import UsageError

STANDARD_OUTPUT = Path("-")


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse what would fail at the end of a long run, or destroy what it reads or writes."""
    taken = {path.resolve(): "is read" for path in inputs}
    for path in outputs:
        if path != STANDARD_OUTPUT:
            if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
                raise UsageError(
                    f"{path} cannot be written: {path.parent} is no folder to write to."
                )
            if path.is_dir():
                raise UsageError(f"{path} is a folder; expected the name of a file to write.")
        use = taken.get(path.resolve())
        if use is not None and path != Path(os.devnull):
            raise UsageError(f"{path} {use} by this run already; write to another file.")
        taken[path.resolve()] = "is written"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all; `-` is standard output."""
    if path == STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():
        path.write_bytes(content)  # a device or a pipe must not be replaced by a file
    else:
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(content)
        os.replace(partial, path)
