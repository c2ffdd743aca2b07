"""Forgets lanes for good: removes their snapshots, so that the log is no longer kept for them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from consumers.trimming.log_start import log_lock
from consumers.trimming.survey import Found, Survey, survey_snapshots
from pipeline.errors import UsageError
from pipeline.snapshots.folder import VerifiedFiles


def forget_lanes(stream_folder: Path, lanes: Collection[str], keep: int, dry: bool) -> list[Path]:
    """Remove all snapshots of these lanes; returns their paths.

    Raises `UsageError`, before anything is removed, if a file also has a lane that needs it.
    """
    with log_lock(stream_folder):
        survey = survey_snapshots(stream_folder, VerifiedFiles())
        missing = [lane for lane in lanes if lane not in survey.lanes]
        if missing:
            known = ", ".join(survey.lanes) or "none"
            raise UsageError(
                f"--forget {missing[0]}: {stream_folder} has no snapshot of this lane. Lanes with "
                f"snapshots: {known}."
            )
        paths = [one.path for one in survey.found if {*lanes} & {*one.snapshot.lanes}]
        for one in survey.found:
            if one.path in paths:
                check_others(one, survey, lanes, keep)
        if not dry:
            for path in paths:
                path.unlink(missing_ok=True)
    return paths


def check_others(one: Found, survey: Survey, lanes: Collection[str], keep: int) -> None:
    """Raise `UsageError` if another lane of a snapshot has too few newer ones."""
    for lane in one.snapshot.lanes:
        newer = [
            other
            for other in survey.of_lane(lane, one.path.parent)
            if other.position > one.position
            and not other.snapshot.passing
            and not {*lanes} & {*other.snapshot.lanes}
        ]
        if lane not in lanes and len(newer) < keep:
            raise UsageError(
                f"{one.path} also has lane {lane}, which has only {len(newer)} of {keep} newer "
                "snapshots: run the workers of that lane for a while first."
            )
