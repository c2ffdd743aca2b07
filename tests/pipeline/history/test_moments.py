"""Curves on the time axis of their corpus: the clock, the moments, and the text they become."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from learners.measures import MEASURES
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.errors import UsageError
from pipeline.events.event import Event
from pipeline.history.corpus_time import CorpusClock, as_text, milliseconds
from pipeline.history.moments import MOST_REGULAR, STEPS_S, History
from pipeline.history.openmetrics import openmetrics
from pipeline.log.block import Entry, make_block
from tests.pipeline.engine.test_engine import TOKENIZER, random_events
from tests.support.command_line import wirerank, write_events

LANES = ("mmp:loss=1", "perceptron")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00.0019z", 1),
        ("1970-01-01 01:00:00.5+01:00", 500),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("1987-10-19T16:00:00.123456789Z", 561657600123),
        ("2016-12-31T23:59:60Z", 1483228800000),
        ("2023-02-29T00:00:00Z", None),
        ("0000-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+23:00", -62135679600000),  # in the year 0, by our clocks
    ],
)
def test_times(text: str, expected: int | None) -> None:
    assert milliseconds(text) == expected
    if expected is not None and 0 <= expected < 253402300800000:
        assert milliseconds(as_text(expected)) == expected // 1000 * 1000


def document(time: str | None, name: str = "d") -> Entry:
    return Entry(name, 0, ("a",), time)


def test_the_clock_never_goes_back() -> None:
    clock = CorpusClock()
    clock.see(document(None))
    assert clock.now_ms is None
    for time in ("1987-02-26T10:00:00Z", "1987-02-26T12:00:00Z", "1987-02-26T11:00:00Z"):
        clock.see(document(time, time[11:13]))
    clock.see(document("1987-02-26T04:30:00Z", "way back"))
    clock.see(document("1923-05-01T00:00:00Z"))
    clock.see(document("1987-02-30T00:00:00Z"))
    clock.see(Entry("d", None, ("a",), None))  # a label need not have a time
    assert clock.first_ms == milliseconds("1987-02-26T10:00:00Z")
    assert clock.now_ms == milliseconds("1987-02-26T12:00:00Z")
    assert (clock.undated, clock.before_1970, clock.late) == (2, 1, 2)
    assert (clock.latest, clock.latest_by_ms) == ("way back", 7.5 * 3_600_000)


def dated_events(seed: int, length: int, mean_gap_s: float) -> list[Event]:
    """Random events, most of them dated, some back in time, many at the same time."""
    rng = random.Random(seed)
    events, now = [], 541_000_000.0
    for event in random_events(seed, length):
        now += rng.choice((0.0, rng.expovariate(1 / mean_gap_s)))
        stated = now - rng.choice((0, 0, 0, 5000))
        time = None if rng.random() < 0.2 else as_text(int(1000 * stated))
        events.append(event._replace(time=time))
    return events


def history_of(
    events: Sequence[Event], block: int, step_s: int | None = None, lanes: Sequence[str] = LANES
) -> tuple[History, Engine]:
    specs = [parse_spec(lane) for lane in lanes]
    engine, history = Engine(specs), History(specs, step_s)
    for start in range(0, len(events), block):
        made = make_block(events[start : start + block], TOKENIZER)
        history.follow(made, list(engine.process(made)))
    engine.close()
    return history, engine


Averages = list[float | None]


def expected_moments(events: Sequence[Event], step_s: int) -> dict[int, tuple[int, Averages]]:
    """One event after the other, and by time in ms the rounds and the averages of each lane."""
    engine = Engine([parse_spec(lane) for lane in LANES])
    clock = CorpusClock()
    states: list[tuple[int, int, Averages]] = []
    for event in events:
        made = make_block([event], TOKENIZER)
        list(engine.process(made))
        clock.see(made.entries[0])
        if clock.now_ms is not None and engine.rounds:
            points = [lane.curve.last().values[name] for lane in engine.lanes for name in MEASURES]
            states.append((clock.now_ms, engine.rounds, points))
    engine.close()
    dated: dict[int, int] = {}
    for time, rounds, _ in states:
        dated.setdefault(rounds, time)
    collected: dict[int, tuple[int, Averages]] = {}
    step_ms = 1000 * step_s
    # Every round is a point of the curve up to the 128th, then every other one up to the 256th.
    for time, rounds, averages in states:
        if dated[rounds] == time and (rounds <= 128 or rounds % 2 == 0):
            collected[time] = (rounds, averages)
    first, last = dated[states[0][1]], states[-1][0]
    for step in range(-(-first // step_ms), last // step_ms + 1):
        collected[step * step_ms] = next(
            state[1:] for state in reversed(states) if state[0] <= step * step_ms
        )
    collected[dated[states[-1][1]]] = collected[last] = states[-1][1:]
    return collected


@pytest.mark.parametrize("mean_gap_s", [0.5, 30.0, 40_000.0])
def test_every_moment_is_the_curve_of_then(mean_gap_s: float) -> None:
    events = dated_events(3, 260, mean_gap_s)
    history, engine = history_of(events, 50)
    assert 130 < engine.rounds < 256
    expected = expected_moments(events, history.step_s)
    moments = dict(history.moments())
    assert list(moments) == sorted(moments)
    assert moments.keys() >= expected.keys()
    for time, moment in moments.items():
        assert moment.rounds == expected[time][0], as_text(time)
        averages = [moment.average(n, m) for n in range(len(LANES)) for m in range(len(MEASURES))]
        assert averages == expected[time][1]
    assert len(moments) <= MOST_REGULAR + engine.rounds + 1


@pytest.mark.parametrize("step_s", [None, 7, 600])
def test_blocks_leave_no_trace(step_s: int | None) -> None:
    events = dated_events(4, 300, 20.0)
    texts = [openmetrics(history_of(events, n, step_s)[0], "x") for n in (1, 17, 1000)]
    assert texts[0] == texts[1] == texts[2]


def test_steps_are_multiples_of_each_other() -> None:
    assert all(larger % step == 0 for step, larger in pairwise(STEPS_S))


def test_a_long_stretch_takes_long_steps() -> None:
    day = [Event(str(n), "wheat", ("a",), None, f"{1970 + n}-01-01T00:00:00Z") for n in range(8000)]
    history, _ = history_of(day[:30], 10)
    assert history.step_s == 28 * 86_400
    history, _ = history_of(day, 1000)
    assert history.step_s == STEPS_S[-1]
    assert len(history.moments()) < 20_000
    with pytest.raises(UsageError, match="--step 60 gives more than 20,000 points by"):
        history_of(day[:50], 10, step_s=60)


def test_series_go_forward_one_by_one() -> None:
    events = dated_events(5, 200, 10.0)
    history, _ = history_of(events, 64)
    text = openmetrics(history, 'a "quoted\\\nname"').decode()
    lines = text.splitlines()
    assert text.endswith("\n# EOF\n")
    seen: dict[str, float] = {}
    order: list[str] = []
    for line in lines:
        if line.startswith("#"):
            continue
        series, value, time = line.rsplit(" ", 2)
        assert float(value) >= 0
        assert seen.get(series, -1.0) < float(time)
        seen[series] = float(time)
        if not order or order[-1] != series:
            order.append(series)
    assert len(order) == len(set(order)) == len(LANES) * (2 + 2 * len(MEASURES))
    assert order[0] == (
        'wirerank_rounds_total{stream="a \\"quoted\\\\\\nname\\"",lane="mmp:loss=1",shard="0"}'
    )
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert families == [
        "wirerank_rounds", "wirerank_rounds_with_topics", "wirerank_loss",
        "wirerank_round_averaged_loss",
    ]  # fmt: skip


def test_undated_documents_at_the_beginning_count_from_the_first_date_on() -> None:
    events = [
        Event("1", {"x": 1.0}, ("a",), None, None),
        Event("2", {"x": 1.0}, ("b",), None, "1987-02-26T10:00:00Z"),
    ]
    history, _ = history_of(events, 10)
    assert [(as_text(t), m.rounds) for t, m in history.moments()] == [("1987-02-26T10:00:00Z", 2)]
    assert np.array_equal(history.moments()[0][1].sums[0, :3], [1.0, 1.0, 1.0])


def test_the_last_round_is_a_moment_even_if_the_curve_does_not_keep_it() -> None:
    times = [as_text(541_332_000_000 + 10_000 * n) for n in range(130)]
    events = [Event(str(n), {"x": 1.0}, ("a",), None, times[n]) for n in range(129)]
    events.append(Event("unlabelled", {"x": 1.0}, None, None, times[129]))
    for block in (50, 129, 200):
        history, _ = history_of(events, block, 3600)
        assert [(as_text(t), m.rounds) for t, m in history.moments()][-3:] == [
            (times[127], 128), (times[128], 129), (times[129], 129)
        ]  # fmt: skip


def test_what_does_not_exist_has_no_sample() -> None:
    events = [
        Event("1", {"x": 1.0}, (), None, "1987-02-26T10:00:00Z"),
        Event("2", {"x": 1.0}, ("b",), None, "1987-02-26T10:00:01Z"),
    ]
    text = openmetrics(history_of(events, 10)[0], "s").decode()
    start = 'wirerank_round_averaged_loss{stream="s",lane="perceptron",shard="0",loss='
    samples = [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]
    assert samples[0] == '"loss1"} 0.0 541332000'
    assert [line for line in samples if "one_error" in line] == ['"one_error"} 1.0 541332001']
    assert 'wirerank_rounds_with_topics_total{stream="s",lane="perceptron",shard="0"} 0 ' in text


@pytest.fixture
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def dated(*times: str | None) -> str:
    events: list[dict[str, object]] = [
        {"id": n, "text": f"wheat {n}", "topics": ["grain"], "time": time}
        for n, time in enumerate(times)
    ]
    return write_events(events=events)


@pytest.mark.usefixtures("_in_a_folder_of_its_own")
def test_export_says_what_it_made_of_the_times() -> None:
    name = dated(
        None, "1987-02-26T10:00:00Z", "1987-02-25T10:00:00Z", "1969-01-01T00:00:00Z",
        "1987-03-28T10:00:00.5Z",
    )  # fmt: skip
    result = wirerank("curves", "export", name, "--openmetrics", "c.om", "--lane", "mmp")
    assert result.exit_code == 0, result.stderr
    for line in (
        "moments from 1987-02-26T10:00:00Z to 1987-03-28T10:00:00Z: one every 3h, and one for",
        "to see lines, start Prometheus with --query.lookback-delta=3h",
        "documents without a time, placed at the time of the document before: 1",
        "dated before 1970, where the time axis of Prometheus begins, treated as without a time: 1",
        "placed at its time: 1; the oldest is 2, by 24.0 hours",
        "written: c.om",
    ):
        assert line in result.stderr
    assert result.stdout.startswith("lane")
    lines = Path("c.om").read_text().splitlines()
    assert 'wirerank_rounds_total{stream="replay",lane="mmp",shard="0"} 4 541332000' in lines
    assert 'wirerank_rounds_total{stream="replay",lane="mmp",shard="0"} 5 543924000.5001' in lines
    result = wirerank(
        "curves", "export", name, "--openmetrics", "-", "--stream", "s", "--step", "1000000",
        "--quiet",
    )  # fmt: skip
    assert result.stdout.startswith("# HELP wirerank_rounds ")
    assert result.stdout.endswith("# EOF\n")
    assert "AvgP" in result.stderr
    assert "moments from" not in result.stderr
    assert 'wirerank_rounds_total{stream="s",lane="perceptron",shard="0"} 4 542000000' in (
        result.stdout.splitlines()
    )


@pytest.mark.usefixtures("_in_a_folder_of_its_own")
@pytest.mark.parametrize("times", [(), (None, None), ("1969-12-31T23:59:59Z",)])
def test_without_any_time_there_is_nothing_to_export(times: Sequence[str | None]) -> None:
    Path("c.om").write_text("as it was")
    result = wirerank("curves", "export", dated(*times), "--openmetrics", "c.om")
    assert result.exit_code == 1
    told = "no curve of events.jsonl can be dated" if times else "the source has no documents"
    assert told in result.stderr
    assert Path("c.om").read_text() == "as it was"


@pytest.mark.usefixtures("_in_a_folder_of_its_own")
def test_mistakes_are_explained() -> None:
    name = dated("1987-02-26T10:00:00Z", "1999-02-26T10:00:00Z")
    before = Path(name).read_bytes()
    for arguments, message in (
        (f"{name} --openmetrics {name}", "is already read by this run"),
        (f"{name} --openmetrics no/such/c.om", "is not a folder that you can write to"),
        (f"{name} --openmetrics c.om --step 60", "choose a larger --step"),
        (f"{name} --openmetrics c.om --profile x", "There is no profile 'x'. Known: reuters2000"),
        (f"{name} --openmetrics c.om --format x", "--format must be one of wirerank, ninjs"),
        (f"{name} --openmetrics c.om --lane x", "There is no learner 'x'"),
        (f"{name}", "Missing option '--openmetrics'"),
        ("absent.jsonl --openmetrics c.om", "absent.jsonl does not exist"),
    ):
        result = wirerank("curves", "export", *arguments.split())
        assert result.exit_code == 2, arguments
        assert message in result.stderr
        assert "Traceback" not in result.stderr
    assert Path(name).read_bytes() == before
    assert not Path("c.om").exists()


@pytest.mark.parametrize("time", ["9999-12-31T23:59:60Z", "9999-12-31T23:59:59-23:59"])
def test_times_after_the_last_year_are_no_times(time: str, tmp_path: Path) -> None:
    """Such an event is valid, and made the export end in a traceback."""
    assert milliseconds(time) is None
    assert as_text(milliseconds("9999-12-31T23:59:59.999Z") or 0) == "9999-12-31T23:59:59Z"
    clock = CorpusClock()
    clock.see(Entry("a", 0, ("t",), time))
    assert (clock.now_ms, clock.undated) == (None, 1)
