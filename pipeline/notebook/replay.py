"""A replay as an iterator: the same engine, sources and rankings as those of `wirerank replay`."""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import orjson

from pipeline.commands.defaults import ENGINE_DEFAULTS, choose_lanes, engine_settings
from pipeline.corpora import Source, open_source
from pipeline.corpora.source import numbered
from pipeline.engine.engine import Engine
from pipeline.engine.lane import Lane
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import RankingWriter
from pipeline.engine.warmup import warm_up
from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.events.fields import parse_fields
from pipeline.events.formats import check_format, new_decoder
from pipeline.events.usability import Usability
from pipeline.log.block import MAX_BLOCK
from pipeline.log.block_reader import BlockReader, SourceBlock
from pipeline.log.prefetcher import Prefetcher
from pipeline.log.read_events import EventDigest, FoundPlace
from pipeline.models.model import InputSettings, RunState, take_model
from pipeline.models.model_file import write_model
from pipeline.notebook.curve_arrays import CurveArrays, curve_arrays
from pipeline.notebook.display import CurvesPlot, html_table
from pipeline.notebook.ranked_document import RankedDocument
from pipeline.replay.replay import SWITCH_INTERVAL_SECONDS
from pipeline.replay.settings import check_fields, parse_lanes
from pipeline.reports.report import Report, lane_table, make_report, set_table, write_curves
from pipeline.text.profile import DEFAULT_PROFILE, canonical_profile
from pipeline.text.tokenizer import Tokenizer

Event = Mapping[str, Any]


class EventList:
    """Events in memory as a source."""

    topics: Sequence[str] = ()

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    @property
    def total(self) -> int:
        """The number of events."""
        return len(self._events)

    def __iter__(self) -> Iterator[bytes]:
        return map(as_json, self._events)


def as_json(event: object) -> bytes:
    """Return an event as JSON. What JSON cannot express becomes a dead letter, as in a file."""
    try:
        return orjson.dumps(event)
    except TypeError:
        return ascii(event).encode()


class Replay:
    """Ranks and learns a source with several lanes, document by document.

    `source` is what `wirerank replay` takes: a file, or a corpus such as `synthetic:2000`. It can
    also be a list of events as dictionaries. `fields` are settings of a field mapping, such as
    `{"title": "headline"}`. The other arguments are the options of the command.

    Iterating gives every document with its rankings. Each iteration is a new run with new learners.
    If you leave the loop early, the run stops, and its results stay. The engine learns whole
    blocks, so it may have learned up to `block` events more than the loop has seen. The rankings
    do not depend on `block`.

    Examples
    --------
    >>> from pipeline import Replay
    >>> replay = Replay("synthetic:300", lanes=["mmp:loss=1", "frequency"])
    >>> for document in replay:
    ...     best, score = document.rankings["frequency"][0]
    >>> replay.curves["mmp:loss=1"]["loss1"].shape
    (203,)

    """

    def __init__(
        self,
        source: str | PathLike[str] | Sequence[Event],
        lanes: Sequence[str] | str | None = None,
        *,
        limit: int = 0,
        block: int = 1024,
        format: str = "wirerank",
        fields: Mapping[str, Any] | None = None,
        profile: str = DEFAULT_PROFILE,
        topics: Sequence[str] = (),
        top: int = 10,
        max_terms: int | None = None,
        min_df: int | None = None,
        max_topics: int | None = None,
    ) -> None:
        for name, value, least in (("limit", limit, 0), ("block", block, 1), ("top", top, 0)):
            if type(value) is not int or value < least:
                raise UsageError(f"{name} must be a whole number from {least}. Got {value!r:.80}.")
        profile = canonical_profile(profile)
        check_format(format, "format")
        self._mapping = None if fields is None else parse_fields(dict(fields))
        check_fields(format, self._mapping)
        if isinstance(source, str | PathLike):
            self.title = named = fspath(source)
        elif isinstance(source, Sequence):
            self.title, named = f"{len(source)} events", ""
        else:
            raise UsageError(
                "The source must be the name of a file or corpus, or a list of events. Got "
                f"{type(source).__name__}; list(...) makes a list of an iterator."
            )
        chosen = choose_lanes(named, [lanes] if isinstance(lanes, str) else lanes)
        self._specs = parse_lanes(chosen)
        pending = (ENGINE_DEFAULTS.max_pending, ENGINE_DEFAULTS.max_pending_bytes)
        self._settings = engine_settings(
            named, chosen, max_terms, min_df, max_topics, *pending, profile
        )
        self._given = source
        self._limit, self._block, self._top = limit, min(block, MAX_BLOCK), top
        self._format, self._profile, self._declared = format, profile, list(topics)
        self._open()  # a source that cannot be opened is an error now
        self.dead_letters: Counter[str] = Counter()  # by reason: events that could not be used
        self._engine: Engine | None = None
        self._seconds = 0.0

    def _open(self) -> Source:
        if isinstance(self._given, str | PathLike):
            return open_source(self.title, MAX_EVENT_BYTES, self._format)
        return EventList(self._given)

    def __iter__(self) -> Iterator[RankedDocument]:
        with closing(self._segments()) as segments:
            names = [spec.name for spec in self._specs]
            writer = RankingWriter(names, self._top)
            for segment in segments:
                known = self._used_engine().topics.names
                events = writer.write(segment, known, range(len(names))).to_strings()
                for number, entry in enumerate(segment.documents):
                    of_document = events[number * len(names) : (number + 1) * len(names)]
                    yield RankedDocument(
                        entry.id, entry.time, entry.topics, entry.rank, tuple(of_document)
                    )

    def run(self) -> Replay:
        """Replay the whole source, without showing documents; returns the replay itself."""
        for _ in self._segments():
            pass
        return self

    def _segments(self) -> Generator[RankedSegment, None, None]:
        """A new run: its ranked segments, one after another."""
        source, tokenizer = self._open(), Tokenizer(self._profile)
        engine = Engine(self._specs, self._declared or source.topics, self._settings)
        self._engine, self._seconds, self.dead_letters = engine, 0.0, Counter()
        usability = Usability(kafka=False)
        warm_up(self._specs, tokenizer, lambda _: None, source)
        decode = new_decoder(self._format, self._mapping)
        place = FoundPlace(numbered(source), EventDigest(), is_known=False)
        self._read = place.digest.so_far
        readings = Prefetcher(
            BlockReader(source, tokenizer, self._block, self._limit, MAX_EVENT_BYTES, decode, place)
        )
        try:
            began = time.perf_counter()
            for reading in readings:
                if reading is None:  # the source pauses
                    continue
                self._note(reading, usability)
                with quick_switching():
                    segments = list(engine.process(reading.block))
                self._read = reading.read or self._read
                self._seconds += time.perf_counter() - began
                yield from segments
                began = time.perf_counter()
            warn(usability.end())
        finally:
            readings.close()
            engine.close()

    def _note(self, reading: SourceBlock, usability: Usability) -> None:
        """Count dead letters, and warn if hardly any event can be used."""
        letters = reading.dead_letters
        self.dead_letters.update(letter.refusal[0] for letter in letters)
        refused = [(*letter.refusal, letter.raw) for letter in letters]
        warn(usability.note(len(reading.block.entries) + len(letters), refused))

    def _used_engine(self) -> Engine:
        if self._engine is None:
            raise UsageError("Nothing was replayed yet. Iterate over the replay, or call run().")
        return self._engine

    @property
    def lanes(self) -> list[Lane]:
        """The lanes of the last run, with their learners."""
        return self._used_engine().lanes

    @property
    def curves(self) -> dict[str, CurveArrays]:
        """The learning curve of each lane, as arrays."""
        return {lane.name: curve_arrays(lane.curve) for lane in self.lanes}

    @property
    def report(self) -> Report:
        """All measures of each lane, as in the report of `wirerank replay`."""
        settings = {"source": self.title, "limit": self._limit, "profile": self._profile}
        dead = self.dead_letters.total()
        return make_report(self._used_engine(), self._seconds, dead, settings)

    def save(self, path: str | PathLike[str]) -> None:
        """Save what all lanes have learned, as `wirerank replay --save` does.

        `wirerank rank` ranks with the file, and `wirerank replay --resume` goes on from it.
        """
        engine = self._used_engine()
        settings = InputSettings(self._format, self._mapping, self._profile)
        run = RunState(self._read, self.dead_letters)
        write_model(Path(path), take_model(engine, settings, run))

    def write_curves(self, path: str | PathLike[str]) -> None:
        """Write the curves as `wirerank replay --curves` does (CSV)."""
        write_curves(Path(path), self.lanes)

    def plot(self) -> CurvesPlot:
        """The curves as a plot, which a notebook shows."""
        return CurvesPlot(self.lanes, self.title)

    def __repr__(self) -> str:
        if self._engine is None:
            return f"<replay of {self.title}, not started>"
        return "\n".join(filter(None, (lane_table(self.report), set_table(self.report))))

    def _repr_html_(self) -> str | None:
        return None if self._engine is None else html_table(self.report)


@contextmanager
def quick_switching() -> Iterator[None]:
    """Let threads switch often, as a replay does, without a lasting change for the notebook."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def warn(warning: str | None) -> None:
    """Show a warning, if there is one."""
    if warning is not None:
        warnings.warn(warning, stacklevel=3)
