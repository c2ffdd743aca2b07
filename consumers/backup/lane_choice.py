"""Which lanes of a stream a backup holds."""

from __future__ import annotations

from collections.abc import Collection

from consumers.backup.errors import BackupError
from consumers.stream_settings import StreamSettings
from learners.specs import resolved


def without_lanes(stream: StreamSettings, names: Collection[str]) -> StreamSettings:
    """The stream without some of its lanes; raises `BackupError` if they cannot be left out.

    Examples
    --------
    >>> stream = StreamSettings(name="news", lanes=[{"spec": "mmp"}, {"spec": "rocchio"}])
    >>> [lane.spec for lane in without_lanes(stream, ["rocchio"]).lanes]
    ['mmp']

    """
    specs = resolved([lane.parsed for lane in stream.lanes])
    known = [spec.name for spec in specs]
    if unknown := [name for name in names if name not in known]:
        raise BackupError(
            f"stream {stream.name} has no lane {', '.join(unknown)}. It has {', '.join(known)}."
        )
    kept = [spec for spec in specs if spec.name not in names]
    if not kept:
        raise BackupError("a backup needs at least one lane.")
    for spec in kept:
        if missing := [name for name in spec.combines if name in names]:
            raise BackupError(
                f"lane {spec.name} combines lane {', '.join(missing)}: leave out both, or neither."
            )
    lanes = tuple(lane for lane in stream.lanes if lane.parsed.name not in names)
    return stream.model_copy(update={"lanes": lanes})
