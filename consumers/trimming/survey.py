"""All snapshots of a stream, read from the disk and verified: of whole lanes and of shards."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from consumers.kafka.log_reader import LogDescription
from consumers.trimming.log_start import LogMark
from pipeline.follower import checked_coverage
from pipeline.snapshots.content import Description, damage_of
from pipeline.snapshots.folder import KIND, VERSION, SnapshotFolder, VerifiedFiles
from pipeline.storage.container import MAX_LENGTH, ContainerReader, DamagedError

ATTEMPTS = 5  # to list a folder whose worker removes files meanwhile


class Found(NamedTuple):
    """A snapshot that is intact."""

    path: Path
    snapshot: Description

    @property
    def position(self) -> int:
        """The offset of the log that it was taken at."""
        return self.snapshot.position

    def mark(self) -> LogMark:
        """Where a reader of the log can begin by this snapshot; raises `DamagedError` or OSError.

        It raises `FileNotFoundError` if a worker has removed the file meanwhile.
        """
        with self.path.open("rb") as file:
            reader = ContainerReader(
                file, KIND, VERSION, str(self.path), max_header_bytes=MAX_LENGTH
            )
        with damage_of(str(self.path)):
            coverage = checked_coverage(reader.content["coverage"])
        return LogMark(self.snapshot.position, coverage, self.snapshot.log or "")


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found in the snapshot folder of a stream."""

    found: list[Found] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def of_lane(self, lane: str, folder: Path | None = None) -> list[Found]:
        """The snapshots of a lane, in one folder or in all."""
        return [
            one
            for one in self.found
            if lane in one.snapshot.lanes and folder in (None, one.path.parent)
        ]

    @property
    def lanes(self) -> list[str]:
        """All lanes that have a snapshot, in a fixed order."""
        return sorted({lane for one in self.found for lane in one.snapshot.lanes})

    def of_log(self, log: LogDescription) -> list[Found]:
        """The snapshots from which this log can still be followed, oldest first."""
        found = [
            one
            for one in self.found
            if one.snapshot.log == log.identity and log.first <= one.snapshot.position <= log.end
        ]
        return sorted(found, key=lambda one: (one.snapshot.position, one.path))


def survey_snapshots(stream_folder: Path, verified: VerifiedFiles) -> Survey:
    """Verify all snapshots of a stream; those that `verified` knows are not read again."""
    survey = Survey()
    for folder in (stream_folder, *sorted(stream_folder.glob("shards/*/*-of-*"))):
        for _ in range(ATTEMPTS):
            of_folder, is_complete = survey_folder(folder, verified)
            if is_complete:
                break
        survey.found.extend(of_folder.found)
        survey.damaged.extend(of_folder.damaged)
    return survey


def survey_folder(folder: Path, verified: VerifiedFiles) -> tuple[Survey, bool]:
    """Verify the snapshots of one folder; also returns whether all of them were still there.

    A worker that has just removed one has written another before, which may not be in this list.
    """
    survey, is_complete = Survey(), True
    try:
        files = SnapshotFolder(folder).files()
    except OSError as error:
        survey.damaged.append(f"{folder} cannot be read: {error.strerror}")
        return survey, True
    for path in files:
        try:
            survey.found.append(Found(path, verified.describe(path)))
        except FileNotFoundError:
            is_complete = False
        except (DamagedError, OSError) as error:
            survey.damaged.append(str(error))
    verified.forget_all_but(folder, files)
    return survey, is_complete
