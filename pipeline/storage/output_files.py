"""Output files of a run: checked before the run begins, and written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import UsageError

STANDARD_OUTPUT = Path("-")


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Raise UsageError if an output cannot be written, or would overwrite an input or output."""
    uses = {path.resolve(): "read" for path in inputs}
    for path in outputs:
        if path != STANDARD_OUTPUT:
            if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
                raise UsageError(
                    f"{path} cannot be written: {path.parent} is not a folder that you can write "
                    "to. Create the folder or choose another one."
                )
            if path.is_dir():
                raise UsageError(f"{path} is a folder; expected the name of a file to write.")
        use = uses.get(path.resolve())
        if use is not None and path != Path(os.devnull):
            raise UsageError(f"{path} is already {use} by this run; write to another file.")
        uses[path.resolve()] = "written"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; the path `-` is standard output."""
    if path == STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():
        path.write_bytes(content)  # a device or a pipe must not be replaced by a file
    else:
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(content)
        os.replace(partial, path)
