"""Where snapshots are kept: one folder per stream, and below it one per shard of a divided lane.

All shards of a lane see the same folders, so they can continue from each other's snapshots.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from consumers.assignment import ShardAssignment
from consumers.settings import Config
from consumers.stream_settings import StreamSettings


def stream_folder(config: Config, stream: StreamSettings) -> Path:
    """The folder for the snapshots of a stream."""
    return config.snapshots.folder / re.sub(r"[^A-Za-z0-9._-]", "_", stream.name)


def lane_shards_folder(stream_folder: Path, lane: str) -> Path:
    """The folder that holds the folders of all shards of a lane."""
    readable = re.sub(r"[^A-Za-z0-9._-]", "_", lane)
    return stream_folder / "shards" / f"{readable}-{zlib.crc32(lane.encode()):08x}"


def shard_folder(stream_folder: Path, assignment: ShardAssignment) -> Path:
    """The folder for the snapshots of a shard; a whole lane uses the folder of the stream."""
    if assignment.shards == 1:
        return stream_folder
    name = f"{assignment.shard}-of-{assignment.shards}"
    return lane_shards_folder(stream_folder, assignment.lane) / name
