"""Judges a run from its history alone: what was lost, doubled, reordered, different or slow.

It has no code of Wirerank, only the standard library, so that both cannot be wrong together.

- Every document in the documents topic must have exactly one committed ranking per lane.
- Rankings must be in the order of the log: within one partition of the rankings, the rankings of
  documents of one partition follow their offsets, and the whole sequence equals the sequence of
  the reference, which ranked the same log without faults.
- Every ranking must equal, byte by byte, the ranking of the reference. The scores of a lane with
  shards may differ by rounding, as docs/concepts/shards.md says, but not the order of its topics.
- Every garbage event must be in the dead letters, at least once, with its own bytes; nothing else.
- Everything that the load got an acknowledgement for must be in the documents topic.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.soak.history import History, Record
from tests.soak.memory import memory_growth
from tests.soak.stalls import Stall, fault_gaps, lane_stalls, recoveries

LONGEST_STALL_S = 60.0
CATCH_UP = 3  # times as long as a stall, the backlog of a wave of faults may take
MOST_MEMORY = 1 << 30
NEEDS_AN_OPERATOR = 3
ROUNDING = 1e-9  # how much scores of shards may differ, relative to the largest of a ranking

Place = tuple[int, int]  # partition and offset of a document


@dataclass
class LaneVerdict:
    """What became of the documents in one lane."""

    rankings: int = 0
    lost: int = 0
    doubled: int = 0
    unknown: int = 0  # rankings of documents that nobody wrote
    reordered: int = 0
    different: int = 0
    stall: float = 0.0  # the longest time without a ranking while documents waited
    quiet_stall: float = 0.0  # the longest part of a stall without a fault


@dataclass
class Verdict:
    """The result of a check."""

    documents: int = 0
    labels: int = 0
    garbage: int = 0
    input_lost: int = 0  # acknowledged to the load, but not in the topic
    input_foreign: int = 0  # in the topic, but not from the load
    lanes: dict[str, LaneVerdict] = field(default_factory=dict)
    dead_letters: int = 0
    dead_letters_lost: int = 0
    dead_letters_repeated: int = 0  # allowed: they are written at least once
    dead_letters_wrong: int = 0  # other bytes, or no garbage
    faults: dict[str, int] = field(default_factory=dict)
    longest_fault_gap: float = 0.0
    recoveries: list[float] = field(default_factory=list)  # seconds until all was done, in a calm
    memory: dict[str, dict[str, float]] = field(default_factory=dict)
    recreated: dict[str, int] = field(default_factory=dict)  # see `recreated.py`
    operator_calls: int = 0  # workers that ended with the exit code for "needs an operator"
    orphans: int = 0  # workers that outlived their supervisor
    violations: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(history: History, longest_stall_s: float = LONGEST_STALL_S) -> Verdict:
    """Check a history; a stall may last this long without a fault, and a calm three times."""
    verdict = Verdict()
    kinds = _kinds_of_input(history, verdict)
    _check_rankings(history, kinds, verdict)
    _check_dead_letters(history, kinds, verdict)
    faults = [entry for entry in history.journal if entry.get("number") and "ended" in entry]
    verdict.faults = dict(Counter(entry["kind"] for entry in faults))
    verdict.longest_fault_gap = fault_gaps(history.journal)
    verdict.recoveries = recoveries(history.journal)
    verdict.memory = memory_growth(history.memory)
    verdict.operator_calls = sum(entry["code"] == NEEDS_AN_OPERATOR for entry in history.exits)
    verdict.orphans = sum(entry["count"] for entry in history.journal if entry["kind"] == "orphans")
    verdict.violations = _violations(verdict, longest_stall_s)
    return verdict


def _kinds_of_input(history: History, verdict: Verdict) -> dict[Place, tuple[str, str]]:
    """By place in the documents topic: what the load wrote there, and its id."""
    acknowledged = {
        (entry["partition"], entry["offset"]): entry
        for entry in history.ledger
        if entry["offset"] is not None
    }
    doubtful = [entry for entry in history.ledger if entry["offset"] is None]
    by_id = {entry["id"]: entry for entry in doubtful if entry["id"]}
    by_digest = {entry["sha256"]: entry for entry in doubtful if "sha256" in entry}
    kinds: dict[Place, tuple[str, str]] = {}
    for record in history.documents:
        place = (record.partition, record.offset)
        entry = acknowledged.pop(place, None)
        entry = entry or by_digest.get(hashlib.sha256(record.value).hexdigest())
        entry = entry or by_id.get(_id_of(record))
        if entry is None:
            verdict.input_foreign += 1
            _example(verdict, f"nobody wrote the document at {place}")
            continue
        kinds[place] = (entry["kind"], entry["id"])
    verdict.input_lost = len(acknowledged)
    for place in list(acknowledged)[:3]:
        _example(verdict, f"the load wrote {acknowledged[place]['id']!r} at {place}: not there")
    counts = Counter(kind for kind, _ in kinds.values())
    verdict.documents, verdict.labels = counts["document"], counts["label"]
    verdict.garbage = counts["garbage"]
    return kinds


def _id_of(record: Record) -> str:
    try:
        event = json.loads(record.value)
        return str(event["id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _check_rankings(
    history: History, kinds: dict[Place, tuple[str, str]], verdict: Verdict
) -> None:
    expected = Counter(id_ for kind, id_ in kinds.values() if kind == "document")
    places = {
        id_: place
        for place, (kind, id_) in kinds.items()
        if kind == "document" and expected[id_] == 1
    }
    arrived = {
        kinds[place][1]: record.time
        for record in reversed(history.documents)
        if (place := (record.partition, record.offset)) in kinds
    }
    started = max((e["ended"] for e in history.journal if e["kind"] == "start"), default=0.0)
    published = _by_lane(history.rankings)
    reference = _by_lane(history.reference)
    for lane in history.lanes:
        entries = published.pop(lane, [])
        found = verdict.lanes[lane] = LaneVerdict(rankings=len(entries))
        seen = Counter(id_ for id_, _ in entries)
        found.lost = (expected - seen).total()
        found.doubled = sum(n - expected[id_] for id_, n in seen.items() if n > expected[id_] > 0)
        found.unknown = sum(n for id_, n in seen.items() if not expected[id_])
        for id_ in [*(expected - seen)][:3]:
            _example(verdict, f"{lane} has no ranking of {id_} at {places.get(id_)}")
        for id_ in [*(seen - expected)][:3]:
            _example(verdict, f"{lane} has {seen[id_]} rankings of {id_} at {places.get(id_)}")
        found.reordered = _descents(entries, places)
        same = _same_but_rounding if lane in history.sharded else bytes.__eq__
        _compare(lane, entries, reference.get(lane, []), same, found, verdict)
        stalls = lane_stalls(
            [(arrived[id_], record.time) for id_, record in entries if id_ in arrived],
            [entry for entry in history.journal if _touches(entry, lane)],
            started,
        )
        longest = max(stalls, key=lambda stall: stall.seconds, default=Stall(0.0, 0.0, 0.0))
        found.stall = round(longest.seconds, 1)
        found.quiet_stall = round(max((stall.quiet for stall in stalls), default=0.0), 1)
    for lane, entries in published.items():
        verdict.lanes[lane] = LaneVerdict(rankings=len(entries), unknown=len(entries))


def _touches(entry: dict[str, Any], lane: str) -> bool:
    return "*" in entry.get("touches", ()) or lane in entry.get("touches", ())


def _by_lane(rankings: list[Record]) -> dict[str, list[tuple[str, Record]]]:
    """By lane: id and record of each ranking, in the order of partitions and offsets."""
    lanes: dict[str, list[tuple[str, Record]]] = defaultdict(list)
    for record in rankings:
        event = json.loads(record.value)
        lanes[event["lane"]].append((event["id"], record))
    return lanes


def _descents(entries: list[tuple[str, Record]], places: dict[str, Place]) -> int:
    """How often a ranking comes after that of a later document of the same partition."""
    last: dict[tuple[int, int], int] = {}
    descents = 0
    for id_, record in entries:
        if id_ in places:
            partition, offset = places[id_]
            way = (record.partition, partition)
            descents += offset < last.get(way, -1)
            last[way] = max(offset, last.get(way, -1))
    return descents


def _compare(
    lane: str,
    entries: list[tuple[str, Record]],
    reference: list[tuple[str, Record]],
    same: Callable[[bytes, bytes], bool],
    found: LaneVerdict,
    verdict: Verdict,
) -> None:
    """Compare with the reference: the bytes of each ranking, and the order within a partition."""

    def values(of: list[tuple[str, Record]]) -> dict[str, list[bytes]]:
        by_id: dict[str, list[bytes]] = defaultdict(list)
        for id_, record in of:
            by_id[id_].append(record.value)
        return by_id

    wanted = values(reference)
    for id_, got in values(entries).items():
        # What is there too often is counted as doubled, not as different as well.
        differing = sum(not any(same(a, b) for b in wanted.get(id_, ())) for a in got)
        found.different += differing
        if differing:
            example = wanted.get(id_, [b"nothing"])[0][:200]
            _example(verdict, f"{lane}: {got[0][:200]!r} instead of {example!r}")
    if not (found.lost or found.doubled or found.unknown or found.reordered):
        orders = [[(r.partition, id_) for id_, r in of] for of in (entries, reference)]
        pairs = zip(*orders, strict=False)
        found.reordered += sum(ours != theirs for ours, theirs in pairs)


def _same_but_rounding(ours: bytes, theirs: bytes) -> bool:
    """Whether two rankings have the same topics in the same order, and scores up to rounding."""
    if ours == theirs:
        return True
    first, second = json.loads(ours), json.loads(theirs)
    pairs = list(zip(first.pop("ranking"), second.pop("ranking"), strict=False))
    largest = max((abs(pair[1]["score"]) for pair in pairs), default=0.0)
    return first == second and all(
        a["topic"] == b["topic"] and abs(a["score"] - b["score"]) <= ROUNDING * largest
        for a, b in pairs
    )


def _check_dead_letters(
    history: History, kinds: dict[Place, tuple[str, str]], verdict: Verdict
) -> None:
    digests = {
        (record.partition, record.offset): hashlib.sha256(record.value).digest()
        for record in history.documents
        if kinds.get((record.partition, record.offset), ("",))[0] == "garbage"
    }
    seen: Counter[Place] = Counter()
    for record in history.dead_letters:
        _, partition, offset = record.key.decode().rsplit("-", 2)
        place = (int(partition), int(offset))
        if digests.get(place) == hashlib.sha256(record.value).digest():
            seen[place] += 1
        else:
            verdict.dead_letters_wrong += 1
            _example(verdict, f"a dead letter of {place} that is no garbage, or has other bytes")
    verdict.dead_letters = len(history.dead_letters)
    verdict.dead_letters_repeated = sum(seen.values()) - len(seen)
    verdict.dead_letters_lost = len(digests.keys() - seen.keys())
    for place in list(digests.keys() - seen.keys())[:3]:
        _example(verdict, f"no dead letter for the garbage at {place}")


def _violations(verdict: Verdict, longest_stall_s: float) -> list[str]:
    found = []
    for lane, result in verdict.lanes.items():
        wrong = ("lost", "doubled", "unknown", "reordered", "different")
        found += [
            f"lane {lane}: {number} rankings {what}"
            for what in wrong
            if (number := getattr(result, what))
        ]
        if result.quiet_stall > longest_stall_s:
            found.append(f"lane {lane}: a stall of {result.quiet_stall} s that no fault explains")
    counts = {
        "documents that were acknowledged are missing": verdict.input_lost,
        "documents that nobody wrote": verdict.input_foreign,
        "garbage events without a dead letter": verdict.dead_letters_lost,
        "dead letters that are no garbage or have other bytes": verdict.dead_letters_wrong,
        "workers ended and called for an operator": verdict.operator_calls,
        "workers outlived their supervisor": verdict.orphans,
    }
    found += [f"{number} {what}" for what, number in counts.items() if number]
    found += [
        f"a calm of {seconds:.0f} s was needed to catch up"
        for seconds in verdict.recoveries
        if seconds > CATCH_UP * longest_stall_s
    ]
    found += [
        f"{name} took {most['most_mb']:.0f} MB"
        for name, most in verdict.memory.items()
        if most["most_mb"] * 1e6 > MOST_MEMORY
    ]
    if not verdict.documents:
        found.append("no document was written: nothing was tested")
    return found


def _example(verdict: Verdict, text: str) -> None:
    if len(verdict.examples) < 12:
        verdict.examples.append(text)
