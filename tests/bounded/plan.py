"""What a run of bounded storage does, and the ceilings that its storage must stay under."""

from __future__ import annotations

from dataclasses import dataclass

from consumers.log_settings import parse_keep

KEEP_SNAPSHOTS = 3  # the default of `snapshots.keep`
SEGMENT_BYTES = 1 << 20  # the least that a broker accepts
# The most that a document takes on the broker's disk: see docs/measurements/storage.md.
LOG_BYTES_PER_DOCUMENT, RANKING_BYTES = 1_900, 600
# How long a learner that is killed or restarted may hold back snapshots, and the broker files.
DELAY_SECONDS = 45.0
TOPICS = 12
# The first lane's learner trims. The second lane has two shards, in processes of their own.
FIRST, DIVIDED, SHARDS = "mmp:loss=1", "perceptron:average=true,norm=l2", 2
LATE = ("mmp:loss=2,name=late-1", "arow:name=late-2")


@dataclass(frozen=True, slots=True)
class Plan:
    """A run: how long, how fast, and what is kept."""

    keep: str  # of the log
    seconds: float
    seed: int = 1
    rate: float = 100.0  # documents per second
    snapshot_seconds: float = 5.0
    retention_seconds: int = 120  # of rankings and scores
    kill_seconds: float = 20.0  # on average, from one kill to the next

    @property
    def log_ceiling(self) -> int:
        """Bytes on the broker's disk that the log may take after the first trim."""
        seconds = KEEP_SNAPSHOTS * self.snapshot_seconds + DELAY_SECONDS
        needed = int(self.rate * LOG_BYTES_PER_DOCUMENT * seconds)
        return needed + (parse_keep(self.keep).bytes or 0) + 3 * SEGMENT_BYTES

    def rankings_ceiling(self, lanes: int) -> int:
        """Bytes on the broker's disk that the rankings of so many lanes may take."""
        seconds = self.retention_seconds + DELAY_SECONDS
        return int(lanes * self.rate * RANKING_BYTES * seconds) + 3 * SEGMENT_BYTES

    def snapshot_ceiling(self, late_lanes: int) -> int:
        """How many files of snapshots there may be: one more per follower is being written."""
        return (KEEP_SNAPSHOTS + 1) * (1 + SHARDS + late_lanes)

    @property
    def stream_settings(self) -> str:
        """The settings of the stream, as they are in the configuration."""
        return (
            f'block = 20\nmax_terms = 3000\nlog.keep = "{self.keep}"\n'
            f'retention.rankings = "{self.retention_seconds}s"\n'
            f'retention.scores = "{self.retention_seconds}s"'
        )

    @property
    def broker_settings(self) -> dict[str, str]:
        """Small segments that are deleted soon, so that trimming frees the disk within seconds."""
        return {
            "log.segment.bytes": str(SEGMENT_BYTES),
            "log.retention.check.interval.ms": "2000",
            "log.segment.delete.delay.ms": "1000",
            "log.initial.task.delay.ms": "1000",
        }
