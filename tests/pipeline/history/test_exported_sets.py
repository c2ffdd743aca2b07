"""The exported measures of sets are those of the live metrics after the same events."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest

from learners.specs import parse_spec
from pipeline.curves.topic_curve import is_kept
from pipeline.engine.engine import Engine
from pipeline.events.event import Event
from pipeline.history.corpus_time import CorpusClock, as_text
from pipeline.history.moments import History
from pipeline.history.openmetrics import openmetrics, timestamp
from pipeline.log.block import make_block
from pipeline.metrics import families
from pipeline.metrics.decisions import COUNTS, collect_decisions, sample_decisions
from pipeline.metrics.families import Scrape
from tests.pipeline.engine.test_engine import TOKENIZER
from tests.pipeline.history.test_moments import dated_events, history_of

MARKS = "soft-arow:assign=micro,risk=0.3,name=marks"
LANES = (MARKS, "mmp:loss=1", "perceptron:assign=recall:0.8,name=recalls")
STREAM = "news"
Key = tuple[str, frozenset[tuple[str, str]]]  # of a sample: its name and labels
Samples = Mapping[Key, float]


class State(NamedTuple):
    """A stream after an event, in blocks of one event."""

    time_ms: int | None
    rounds: int
    live: Samples  # of sets


def live_samples(engine: Engine) -> Samples:
    scrape = Scrape(families.LEARNER, STREAM, "0")
    collect_decisions(scrape, sample_decisions(engine))
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for metric in scrape.metrics()
        for sample in metric.samples
    }


def states_of(events: Sequence[Event], lanes: Sequence[str]) -> list[State]:
    engine, clock, states = Engine([parse_spec(lane) for lane in lanes]), CorpusClock(), []
    for event in events:
        made = make_block([event], TOKENIZER)
        list(engine.process(made))
        clock.see(made.entries[0])
        states.append(State(clock.now_ms, engine.rounds, live_samples(engine)))
    engine.close()
    return states


def expected_samples(states: Sequence[State], times: Sequence[int], step_s: int) -> list[Samples]:
    """What the live metrics showed at certain times.

    That is after all events up to a regular time and after the last event. At other times it is
    right after the last round that is a point of the curves, or the last round of all.
    """
    dated = [state for state in states if state.time_ms is not None]
    last = dated[-1]
    before = [0, *(state.rounds for state in states)]
    rounds = [state for n, state in zip(before, states, strict=False) if state.rounds > n]
    points = {
        state.time_ms: state
        for state in rounds
        if is_kept(state.rounds) or state.rounds == last.rounds
    }
    expected = []
    for time in times:
        state = points.get(time)
        if time % (1000 * step_s) == 0 or time == last.time_ms or state is None:
            state = [one for one in dated if one.time_ms is not None and one.time_ms <= time][-1]
        expected.append(state.live)
    return expected


def exported(history: History) -> Iterator[tuple[str, Key, float]]:
    """Time, series and value of each sample of the file."""
    for line in openmetrics(history, STREAM).decode().splitlines():
        if not line.startswith("#"):
            series, value, time = line.rsplit(" ", 2)
            name, labels = series.split("{")
            yield time, (name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels))), float(value)


def sets_by_time(history: History) -> Mapping[str, Samples]:
    names = {
        family.name
        for family in (*COUNTS.values(), families.DECISION_SUM, families.ROUND_AVERAGED_DECISION)
    }
    by_time = defaultdict[str, dict[Key, float]](dict)
    for time, key, value in exported(history):
        if key[0] in names:
            by_time[time][key] = value
    return by_time


@pytest.mark.parametrize("mean_gap_s", [0.5, 30.0, 40_000.0])
@pytest.mark.parametrize("seed", [3, 8])
def test_sets_are_those_of_the_live_metrics(mean_gap_s: float, seed: int) -> None:
    """Some labels are late, some documents have none, and the first ones have no time."""
    undated = [event._replace(time=None) for event in dated_events(seed + 1, 12, 1.0)]
    own = dated_events(seed, 260, mean_gap_s)
    events = [*undated, *(event._replace(id=f"own {event.id}") for event in own)]
    block = random.Random(seed).randrange(2, 90)
    history, engine = history_of(events, block, lanes=LANES)
    assert 130 < engine.rounds < engine.documents
    times = [time for time, _ in history.moments()]
    expected = expected_samples(states_of(events, LANES), times, history.step_s)
    by_time = sets_by_time(history)
    assert len(by_time) == len(times) > 100
    for time, samples in zip(times, expected, strict=True):
        assert by_time[timestamp(time)] == samples, as_text(time)


@pytest.mark.parametrize("step_s", [None, 7, 600])
def test_blocks_leave_no_trace(step_s: int | None) -> None:
    events = dated_events(4, 300, 20.0)
    texts = [openmetrics(history_of(events, n, step_s, LANES)[0], "x") for n in (1, 17, 90, 1000)]
    assert all(text == texts[0] for text in texts)
    assert b"wirerank_round_averaged_decision{" in texts[0]


def lanes_by_family(history: History) -> Mapping[str, set[str]]:
    lanes = defaultdict[str, set[str]](set)
    for _, (name, labels), _ in exported(history):
        lanes[name].add(dict(labels)["lane"])
    return lanes


def test_only_lanes_with_sets_have_measures_of_sets() -> None:
    events = dated_events(5, 60, 10.0)
    history, _ = history_of(events, 20, lanes=LANES)
    lanes = lanes_by_family(history)
    assert lanes["wirerank_rounds_total"] == {"marks", "mmp:loss=1", "recalls"}
    for family in (families.DECISION_SUM, families.ROUND_AVERAGED_DECISION):
        assert lanes[family.name] == {"marks", "recalls"}
    for family in (families.REVIEW_ROUNDS, families.REVIEW_DOCUMENTS):
        assert lanes[family.name] == {"marks"}
    history, _ = history_of(events, 20, lanes=LANES[1:2])
    assert set(lanes_by_family(history)) == {
        "wirerank_rounds_total", "wirerank_rounds_with_topics_total", "wirerank_loss_total",
        "wirerank_round_averaged_loss",
    }  # fmt: skip


def decided(history: History) -> dict[str, float]:
    return {
        time: value
        for time, (name, _), value in exported(history)
        if name == "wirerank_decided_documents_total"
    }


def document(number: int, topics: tuple[str, ...] | None, time: str) -> Event:
    return Event(str(number), f"wheat {number}", topics, None, f"1987-02-26T10:0{time}Z")


@pytest.mark.parametrize("block", [1, 10])
def test_a_regular_moment_counts_all_documents_up_to_its_time(block: int) -> None:
    """A point counts those up to its round, even if others have the same time."""
    events = [
        document(1, None, "0:00"),
        document(2, ("grain",), "0:30"),
        document(3, None, "0:30"),
        document(4, None, "0:40"),
        document(5, None, "1:40"),
        document(6, ("grain",), "2:00"),
        document(7, None, "2:00"),
        document(8, None, "2:30"),
    ]
    history, _ = history_of(events, block, 60, (MARKS,))
    start = 541_332_000
    assert decided(history) == {
        f"{start + 30}": 2.0,
        f"{start + 60}": 4.0,
        f"{start + 120}": 7.0,
        f"{start + 150}": 8.0,
    }
