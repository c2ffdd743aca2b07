"""The file that a run writes its rankings to; a resumed run goes on where the model was saved."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import RankingWriter
from pipeline.errors import UsageError
from pipeline.models.model import WrittenRankings
from pipeline.storage.output_files import (
    STANDARD_OUTPUT,
    naming,
    open_for_results,
    open_unlinked,
)

CHUNK_BYTES = 1 << 20


class RankingsOutput:
    """Writes the rankings of all lanes to a file, and knows how many bytes it has written."""

    def __init__(self, file: IO[bytes], writer: RankingWriter, before: WrittenRankings) -> None:
        self._file = file
        self._writer = writer
        self._size, self._crc = before.size, before.crc

    def write(self, segment: RankedSegment, topics: Sequence[str], lanes: Sequence[int]) -> None:
        """Write the rankings of a segment."""
        events = self._writer.write(segment, topics, lanes).to_strings()
        if not events:
            return
        lines = b"\n".join(events) + b"\n"
        self._file.write(lines)
        self._size += len(lines)
        self._crc = zlib.crc32(lines, self._crc)

    def flush(self) -> None:
        """Give what was written to the operating system."""
        self._file.flush()

    def flushed(self) -> WrittenRankings:
        """Flush the file to the disk, and return what it has.

        A model is saved after that, so it never counts rankings that a crash of the machine loses.
        """
        self._file.flush()
        if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            os.fsync(self._file.fileno())
        return WrittenRankings(self._size, self._crc)


def open_rankings(
    path: Path | None, writer: RankingWriter, stack: ExitStack, before: WrittenRankings | None
) -> RankingsOutput | None:
    """Open the file for rankings; `-` is standard output. Return None if there is no path.

    `before` is what the run wrote until it was saved, if it goes on now. Then a file that has these
    rankings is continued behind them. Whatever else it has was written after the save, and comes
    again.
    """
    if path is None:
        return None
    nothing = WrittenRankings(0, 0)
    if path == STANDARD_OUTPUT:
        return RankingsOutput(sys.stdout.buffer, writer, before or nothing)
    stack.enter_context(naming(path))
    if before is None or not path.is_file():
        # A pipe, a new file, or a new run. What came before the save is not in a new file.
        return RankingsOutput(stack.enter_context(open_for_results(path)), writer, nothing)
    descriptor = open_unlinked(path, os.O_RDWR, 0)
    file = stack.enter_context(os.fdopen(descriptor, "r+b"))
    if crc_of(file, before.size) != before.crc:
        raise UsageError(
            f"{path} does not begin with the {before.size:,} bytes of rankings that the run had "
            "written when its model was saved, so it cannot be continued. Name another file, or "
            "remove this one, to write only the rankings from here on."
        )
    file.truncate(before.size)
    file.seek(before.size)
    return RankingsOutput(file, writer, before)


def crc_of(file: IO[bytes], size: int) -> int | None:
    """Return the checksum of the first bytes of a file; None if it has fewer bytes."""
    checksum, left = 0, size
    while left:
        chunk = file.read(min(left, CHUNK_BYTES))
        if not chunk:
            return None
        checksum = zlib.crc32(chunk, checksum)
        left -= len(chunk)
    return checksum
