"""What a stream takes on disks, once every few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LATE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a stream's storage at one moment."""

    seconds: float
    documents: int  # sent
    log_written: int  # bytes, before compression
    log_first: int  # offset
    log_end: int
    log_disk: int  # bytes
    rankings_disk: int
    snapshots_disk: int
    snapshot_files: int
    lanes: int
    kills: int


def allocated(folder: Path) -> int:
    """The bytes that the files of a folder take on the disk; files may vanish meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total


def table(samples: list[Sample]) -> str:
    """One row per minute, with the largest sizes of that minute."""
    lines = [
        "| minute | documents | lanes | kills | log written, MB | log on disk, MB | records kept "
        "| rankings on disk, MB | snapshots, MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    # The last samples may be a few seconds late; they belong to the last whole minute.
    last_minute = int(max(0.0, samples[-1].seconds - LATE_SECONDS) // 60)
    for minute in range(last_minute + 1):
        of_minute = [one for one in samples if min(one.seconds // 60, last_minute) == minute]
        if not of_minute:
            continue
        last = of_minute[-1]
        lines.append(
            f"| {minute + 1} | {last.documents:,} | {last.lanes} | {last.kills} "
            f"| {last.log_written / 1e6:.1f} | {most(of_minute, 'log_disk'):.1f} "
            f"| {last.log_end - last.log_first:,} | {most(of_minute, 'rankings_disk'):.1f} "
            f"| {most(of_minute, 'snapshots_disk'):.1f} |"
        )
    return "\n".join(lines)


def most(samples: list[Sample], name: str) -> float:
    """The largest of some samples, in MB."""
    return float(max(getattr(sample, name) for sample in samples)) / 1e6
