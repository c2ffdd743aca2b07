"""Going on from a model: the engine as it was, and the place in the source."""

from __future__ import annotations

from collections.abc import Sequence

from learners.specs import LaneSpec
from pipeline.corpora import Source
from pipeline.corpora.source import numbered
from pipeline.engine.engine import Engine
from pipeline.interruption import Interruption
from pipeline.log.read_events import EventDigest, FoundPlace, Interrupted, find_place
from pipeline.models.matching import check_same_events, check_same_settings
from pipeline.models.model import InputSettings, Model
from pipeline.printable import printable
from pipeline.replay.progress import Progress
from pipeline.replay.settings import ReplaySettings, parse_lanes, read_topics
from pipeline.snapshots.restoring import restore_engine

# A signal came before the place in the source was found: there is nothing to learn or to save.
NOWHERE = FoundPlace(iter(()), EventDigest(), is_known=False, is_found=False)


def new_engine(settings: ReplaySettings, source: Source, model: Model | None) -> Engine:
    """Return the engine of a run: a new one, or that of the model."""
    lanes = lanes_of(settings, model)
    if model is None:
        declared = read_topics(settings.topics) if settings.topics else source.topics
        return Engine(lanes, declared, settings.engine)
    declared = read_topics(settings.topics) if settings.topics else model.declared_topics
    engine = Engine(lanes, declared, settings.engine)
    try:
        check_same_settings(model, lanes, engine.topics.declared, settings.engine, settings.profile)
        restore_engine(engine, model.snapshot)
    except BaseException:
        engine.close()
        raise
    model.snapshot.arrays.clear()  # the engine has copies
    return engine


def lanes_of(settings: ReplaySettings, model: Model | None) -> list[LaneSpec]:
    """Return the lanes of a run; if none are given, those of the model."""
    return model.lanes if model and not settings.lanes else parse_lanes(settings.lanes)


def input_settings(settings: ReplaySettings) -> InputSettings:
    """Return how the events of a run become terms."""
    return InputSettings(settings.format, settings.fields, settings.profile)


def start_in(
    settings: ReplaySettings,
    source: Source,
    model: Model | None,
    interruption: Interruption,
    progress: Progress,
) -> FoundPlace:
    """Return where the run starts in the source, and say so if it resumes a model."""
    lines = numbered(source)
    if model is None:
        return FoundPlace(lines, EventDigest(), is_known=False)
    name, read = printable(settings.source), model.run.read
    if settings.from_start:
        progress.say(f"resuming {model.name}: all of {name} is learned, from its first event")
        return FoundPlace(lines, EventDigest(), is_known=False)
    try:
        place = find_place(lines, read, name, lambda: interruption.signal is not None)
    except Interrupted:
        return NOWHERE
    if place.is_known:
        check_same_events(model, input_settings(settings))
        progress.say(
            f"resuming {model.name}: {name} is the source of the model; skipped the "
            f"{read.events:,} events that it has read"
        )
    else:
        progress.say(
            f"resuming {model.name}: {name} is a new source and is learned from its first event"
        )
    return place


def resumed_lines(model: Model, engine: Engine) -> Sequence[str]:
    """Describe a model that is resumed, line by line."""
    return (
        f"model = {model.name}   documents = {engine.documents:,}   rounds = {engine.rounds:,}   "
        f"topics = {len(engine.topics):,}   terms = {len(engine.vocabulary):,}",
    )
