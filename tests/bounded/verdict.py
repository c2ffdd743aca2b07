"""Judges a run: sizes stay under their ceilings, and each lane ranked each document once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from consumers.stream_settings import StreamSettings
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import parse_event
from pipeline.log.block import make_block
from pipeline.text.tokenizer import Tokenizer
from tests.bounded.observer import digest
from tests.bounded.plan import Plan
from tests.bounded.sizes import Sample

BLOCK = 500
Ranked = tuple[str, bytes]  # the id of a document, and the digest of its ranking


@dataclass(frozen=True, slots=True)
class LateLane:
    """A lane that was added: the log's first offset before and after, and what the lane said."""

    name: str
    added_after: int  # the offset at which the log began when the lane was added
    logged: int | None  # the offset in the learner's warning
    shown: int | None  # the offset in its metrics


def size_violations(plan: Plan, samples: Sequence[Sample]) -> list[str]:
    """What was larger than its ceiling, and whether the log was trimmed at all."""
    found = []
    trimmed = [sample for sample in samples if sample.log_first > 0]
    if not trimmed:
        return ["the log was never trimmed"]
    for sample in trimmed:
        at = f"after {sample.seconds:.0f} s"
        if sample.log_disk > plan.log_ceiling:
            found.append(f"{at} the log takes {sample.log_disk:,} bytes of {plan.log_ceiling:,}")
        ceiling = plan.rankings_ceiling(sample.lanes)
        if sample.rankings_disk > ceiling:
            found.append(f"{at} rankings take {sample.rankings_disk:,} bytes of {ceiling:,}")
        files = plan.snapshot_ceiling(sample.lanes - 2)
        if sample.snapshot_files > files:
            found.append(f"{at} there are {sample.snapshot_files} snapshots; at most {files}")
    return found


def late_violations(lanes: Sequence[LateLane]) -> list[str]:
    """Lanes that did not say where they began, or said something else than their metrics."""
    return [
        f"{lane.name} was added when the log began at {lane.added_after}; its warning names "
        f"offset {lane.logged}, its metric {lane.shown}"
        for lane in lanes
        if lane.logged is None or lane.logged != lane.shown or lane.logged < lane.added_after
    ]


def ranking_violations(
    ranked: Mapping[str, Sequence[Ranked]], expected: Mapping[str, Sequence[Ranked]]
) -> list[str]:
    """What is missing, twice, out of order or different in the rankings of each lane."""
    found = [f"{lane} is no lane of the run" for lane in ranked.keys() - expected.keys()]
    for lane, wanted in expected.items():
        given = ranked.get(lane, ())
        if list(given) == list(wanted):
            continue
        counts = Counter(id_ for id_, _ in given)
        ids = {id_ for id_, _ in wanted}
        missing = [id_ for id_ in ids if not counts[id_]]
        twice = [id_ for id_, number in counts.items() if number > 1]
        strange = [id_ for id_ in counts if id_ not in ids]
        different = len({*given} - {*wanted})
        found.append(
            f"{lane}: of {len(wanted):,} documents {len(missing):,} are not ranked "
            f"{sorted(missing)[:3]}, {len(twice):,} more than once {sorted(twice)[:3]}; "
            f"{len(strange):,} others are ranked {sorted(strange)[:3]}; "
            f"{different:,} rankings are not those of an undisturbed run, or out of order"
        )
    return found


def undisturbed(
    stream: StreamSettings, lanes: Sequence[str], events: Sequence[bytes], divided: bool
) -> dict[str, list[Ranked]]:
    """The rankings of lanes that have seen these documents and no others, without Kafka."""
    engine = Engine([parse_spec(lane) for lane in lanes], stream.topics, stream.engine_settings())
    tokenizer, names = Tokenizer(stream.profile), [lane.name for lane in engine.lanes]
    made: dict[str, list[Ranked]] = {name: [] for name in names}
    for part in parts(events):
        for ranked in engine.process(make_block([parse_event(one) for one in part], tokenizer)):
            for value in ranking_events(ranked, names, engine.topics.names, stream.top):
                event = orjson.loads(value)
                made[event["lane"]].append((event["id"], digest(value, divided)))
    return made


def parts(events: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """The events in blocks."""
    for start in range(0, len(events), BLOCK):
        yield events[start : start + BLOCK]
