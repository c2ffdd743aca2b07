"""The settings of a replay, and the checks on them before a long run starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from learners.specs import LaneSpec, parse_spec, resolved
from pipeline.corpora import source_path
from pipeline.engine.engine import EngineSettings
from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.events.fields import FieldMapping, check_for_files
from pipeline.events.formats import check_format, mapping_for
from pipeline.reports.plots import check_plot
from pipeline.storage.output_files import STANDARD_OUTPUT, check_outputs
from pipeline.text.profile import DEFAULT_PROFILE, canonical_profile

# The best one first; it also says which topics it would assign.
DEFAULT_LANES = (
    "soft-arow:assign=micro,order=probability,name=soft-arow",
    "mmp:loss=1",
    "perceptron",
)


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Which source to replay, with which lanes, and which outputs to write."""

    source: str
    lanes: tuple[str, ...] = DEFAULT_LANES
    limit: int = 0
    block: int = 1024
    format: str = "wirerank"
    fields: FieldMapping | None = None
    profile: str = DEFAULT_PROFILE  # in canonical form, whatever is given
    topics: Path | None = None
    rankings: Path | None = None
    top: int = 10
    curves: Path | None = None
    report: Path | None = None
    plot: Path | None = None
    dead_letters: Path = Path("wirerank-dead-letters.jsonl")
    max_event_bytes: int = MAX_EVENT_BYTES
    metrics: int | None = None  # the port to serve metrics on; 0 is any free port
    metric_topics: int = 0  # the number of topics with their own loss among the metrics
    engine: EngineSettings = field(default_factory=EngineSettings)
    save: Path | None = None  # the file to save the model to
    save_every: int = 0  # documents between two saves; 0 saves at the end only
    resume: Path | None = None  # the file of the model that the run goes on from
    from_start: bool = False  # learn all of the source, even if the model has read some of it

    def __post_init__(self) -> None:
        object.__setattr__(self, "profile", canonical_profile(self.profile))


def read_topics(path: Path) -> list[str]:
    """Read a list of topics, one per line; blank lines are skipped."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The list of topics {path} cannot be read: {error}.") from None
    return [line.strip() for line in lines if line.strip()]


def parse_lanes(texts: Sequence[str]) -> list[LaneSpec]:
    """Parse the specs of lanes; two lanes may not have the same name."""
    lanes = [parse_spec(text) for text in texts]
    names = [lane.name for lane in lanes]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"Two lanes are called {name!r}. Give one of them another name, with name=..."
            )
    return resolved(lanes)


def check_fields(format_: str, fields: FieldMapping | None) -> None:
    """Refuse a field mapping that fits neither the format nor a file."""
    if fields is not None:
        check_for_files(mapping_for(format_, fields.settings) or fields)


def check_saving(settings: ReplaySettings) -> None:
    """Refuse options for saving and resuming that cannot be combined."""
    if STANDARD_OUTPUT in (settings.save, settings.resume):
        raise UsageError("--save and --resume need the name of a file; - is not one.")
    if settings.save_every and settings.save is None:
        raise UsageError("--save-every needs --save MODEL.")
    if settings.from_start and settings.resume is None:
        raise UsageError("--from-start needs --resume MODEL.")
    if settings.save is not None and settings.save.exists() and not settings.save.is_file():
        raise UsageError(f"{settings.save} is not a file; expected the name of a file to write.")


def is_same_file(path: Path, other: Path | None) -> bool:
    """Whether two paths lead to the same place: a model may be saved to where it came from."""
    return other is not None and path.resolve() == other.resolve()


def check_settings(settings: ReplaySettings) -> None:
    """Refuse settings that would fail at the end of a long run, or overwrite an input."""
    check_format(settings.format, "--format")
    check_fields(settings.format, settings.fields)
    written = (settings.rankings, settings.curves, settings.report, settings.plot, settings.save)
    outputs = [path for path in (*written, settings.dead_letters) if path is not None]
    read = [] if settings.source == "-" else [source_path(settings.source)]
    check_saving(settings)
    if settings.resume is not None and not is_same_file(settings.resume, settings.save):
        read.append(settings.resume)
    if settings.dead_letters == STANDARD_OUTPUT:
        raise UsageError("--dead-letters must be a file: standard output is for results.")
    check_outputs(outputs, [*read, settings.topics] if settings.topics else read)
    if settings.plot:
        check_plot(settings.plot)
    if settings.metric_topics and settings.metrics is None:
        raise UsageError("--metric-topics needs --metrics PORT.")
