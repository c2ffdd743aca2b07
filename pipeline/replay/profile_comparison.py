"""Replay the same events with several profiles, to see what each ingredient is worth."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.corpora import open_source
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.warmup import warm_up
from pipeline.errors import UsageError
from pipeline.events.event import MAX_EVENT_BYTES, Event, MalformedEvent
from pipeline.events.fields import FieldMapping
from pipeline.events.formats import check_format, new_decoder
from pipeline.events.record import Record
from pipeline.log.block import make_block
from pipeline.log.read_events import as_event
from pipeline.replay.settings import check_fields, parse_lanes
from pipeline.reports.report import make_report
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.profile import PROFILES, Profile, canonical_profile, parse_profile
from pipeline.text.tokenizer import Tokenizer

BLOCK = 1024
WARM = 64  # events that are tokenized before the time is taken
# What is tried in place of the ingredients of a profile, one at a time.
ALTERNATIVES: Mapping[str, Sequence[str]] = {
    "split": ("space", "join"),
    "numbers": ("keep", "one"),
    "fold": ("none", "compatibility", "accents"),
    "unspaced": ("none", "2", "1-2"),
    "stop_words": ("none", "auto"),
    "stem": ("none", "auto"),
    "words": ("1", "2"),
    "letters": ("none", "auto", "3", "4", "3-5"),
    "title": ("text", "twice", "terms"),
    "min_df": ("1", "2"),
}


@dataclass(frozen=True, slots=True)
class Documents:
    """The events of a source, decoded once for all profiles."""

    source: str
    events: Sequence[Event]
    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """How a lane did with a profile: progressive means, and times per document."""

    profile: str
    average_precision: float | None
    one_error: float | None
    loss1: float | None
    terms: int  # of the vocabulary at the end
    tokenizing_us: float
    total_us: float  # of the processor: tokenizing, ranking and learning


def read_documents(
    source: str, limit: int = 0, format_: str = "wirerank", fields: FieldMapping | None = None
) -> Documents:
    """Read the events of a source; those that cannot be used are left out."""
    check_format(format_, "--format")
    check_fields(format_, fields)
    opened = open_source(source, MAX_EVENT_BYTES, format_)
    decode = new_decoder(format_, fields)
    events: list[Event] = []
    refused, first_refused = 0, ""
    for number, raw in enumerate(opened):
        if limit and len(events) >= limit:
            break
        if not as_event(raw):
            continue
        try:
            events.append(decode(Record(as_event(raw), offset=number), MAX_EVENT_BYTES))
        except MalformedEvent as error:
            refused, first_refused = refused + 1, first_refused or error.detail
    if not any(event.topics for event in events):
        cause = (
            f" {refused:,} events cannot be used; the first one: {first_refused}."
            if refused
            else ""
        )
        raise UsageError(f"{source} has no documents with topics to compare profiles by.{cause}")
    return Documents(source, events, opened.topics)


def check_lane(lane: str) -> None:
    """Refuse a lane that cannot compare profiles."""
    (spec,) = parse_lanes([lane])
    if spec.is_ordinal:
        raise UsageError(
            f"Profiles are compared by the rankings of a lane that learns topics. {spec.name} "
            "learns ranks. Use another lane, e.g. soft-arow."
        )


def with_alternatives(base: str) -> list[str]:
    """Return a profile, the other profiles, and the profile with one ingredient changed at a time.

    >>> with_alternatives("news")[:4]
    ['news', 'reuters2000', 'reuters21578', 'multilingual']
    """
    written = parse_profile(base).name
    before = f"{written}," if ":" in written else f"{written}:"
    profiles = [written, *PROFILES]
    given = {part.partition("=")[0] for part in written.partition(":")[2].split(",")}
    for key, values in ALTERNATIVES.items():
        if key not in given:
            profiles += [canonical_profile(f"{before}{key}={value}") for value in values]
    return list(dict.fromkeys(profiles))


def compare_profiles(
    documents: Documents, profiles: Iterable[str], lane: str = "soft-arow"
) -> Iterator[ProfileResult]:
    """Yield the result of each profile. Results do not depend on the order or on each other."""
    for profile in profiles:
        yield follow(documents, parse_profile(profile), lane)


def follow(documents: Documents, profile: Profile, lane: str) -> ProfileResult:
    """Replay the events with one profile."""
    specs = parse_lanes([lane])
    tokenizer = Tokenizer(profile)
    warm_up(specs, tokenizer, lambda _: None)
    engine = Engine(specs, documents.topics, EngineSettings(FeatureSettings.of(profile)), threads=1)
    events, tokenizing = documents.events, 0.0
    # What is loaded once, kernels and word lists, takes as long as 5,000 texts.
    make_block(events[:WARM], Tokenizer(profile))
    began = time.process_time()
    for start in range(0, len(events), BLOCK):
        before = time.process_time()
        block = make_block(events[start : start + BLOCK], tokenizer)
        tokenizing += time.process_time() - before
        for _ in engine.process(block):
            pass
    total = time.process_time() - began
    measures = make_report(engine, total, 0, {})[engine.lanes[0].name]
    terms = len(engine.vocabulary)
    engine.close()
    per_document = 1e6 / max(1, len(events))
    return ProfileResult(
        profile.name,
        measures["average_precision"],
        measures["one_error"],
        measures["loss1"],
        terms,
        tokenizing * per_document,
        total * per_document,
    )
