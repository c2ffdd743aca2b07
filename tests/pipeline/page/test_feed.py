"""The feed: bounded and immutable samples that say what the run's own curves and report say."""

from __future__ import annotations

import logging
from pathlib import Path

import orjson
import pytest

from pipeline.engine import lane_group
from pipeline.events.event import Event
from pipeline.page import feed as feed_module
from pipeline.page.feed import LAST_DOCUMENTS, TRUE_TOPICS, Feed, PageFeed
from pipeline.page.samples import ENDED, FROZEN, RUNNING, ReadProgress, milliseconds
from pipeline.page.updates import update_since
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from tests.pipeline.engine.test_engine import document, label, random_events, unlabelled
from tests.support.page_stream import Stream, small


def as_json(stream: Stream, since: int = 0) -> bytes:
    return orjson.dumps(update_since(stream.feed.sample, since), default=tuple)


def test_points_are_those_of_the_curves() -> None:
    stream = Stream()
    for start in range(0, 900, 150):
        stream.process([small(n) for n in range(start, start + 150)])
    for entry, lane in zip(stream.feed.sample.lanes, stream.engine.lanes, strict=True):
        kept = [(p.round, p.values) for p in lane.curve.points()]
        assert [(point.round, point.values) for point in entry.points] == kept
        assert entry.values == {**lane.curve.last().values, **lane.curve.derived()}
        assert entry.rounds == 900


def test_points_have_the_time_of_their_documents() -> None:
    stream = Stream()
    stream.process([small(n) for n in range(40)])
    stream.process([small(n) for n in range(40, 60)])
    points = stream.feed.sample.lanes[0].points
    expected = [milliseconds(small(n).time) for n in range(60)]
    assert [point.document_ms for point in points] == expected
    first, last = points[0].wall_ms, points[-1].wall_ms
    assert first is not None
    assert last == first + 1000  # each block lasted a second


def test_a_late_round_is_as_late_as_the_stream() -> None:
    stream = Stream()
    events = [
        Event("a", {"x": 1.0}, None, None, "1987-01-01T00:00:00Z"),
        Event("b", {"x": 1.0}, ("t",), None, "1987-01-02T00:00:00Z"),
        Event("c", {"x": 1.0}, None, None, "1987-01-03T00:00:00Z"),
        label("a", "t"),
        label("c", "t"),
    ]
    stream.process(events[:4])
    stream.process(events[4:])  # no document here: the stream has not moved on
    days = [(p.document_ms or 0) / 86_400_000 for p in stream.feed.sample.lanes[0].points]
    assert [day - days[0] for day in days] == [0, 1, 1]


def test_what_is_new_adds_up_to_the_whole() -> None:
    stream = Stream()
    gathered: dict[str, list[float | None]] = {}
    numbers: list[int] = []
    since = 0
    for block in range(9):
        stream.process([small(n) for n in range(block * 50, block * 50 + 50)])
        if block % 2:
            continue  # a viewer that comes late misses nothing
        update = orjson.loads(as_json(stream, since))
        since = update["version"]
        for name, column in update["lanes"][1]["curve"].items():
            gathered.setdefault(name, []).extend(column)
        numbers += [entry["number"] for entry in update["documents"]]
    whole = orjson.loads(as_json(stream))
    assert gathered == whole["lanes"][1]["curve"]
    assert numbers[-LAST_DOCUMENTS:] == [entry["number"] for entry in whole["documents"]]
    assert len(set(numbers)) == len(numbers)


def test_samples_never_change() -> None:
    stream = Stream()
    stream.process([small(n) for n in range(100)])
    before, entry = stream.feed.sample, as_json(stream)
    stream.process([unlabelled("d98", {"x": 1.0}), *(small(n) for n in range(100, 300))])
    assert orjson.dumps(update_since(before, 0), default=tuple) == entry
    assert stream.feed.sample.version > before.version


def test_a_hundred_thousand_rounds_stay_small() -> None:
    stream = Stream(["mmp:loss=1", "perceptron"])
    sizes = []
    since = 0
    for start in range(0, 100_000, 1000):
        stream.process([small(n) for n in range(start, start + 1000)], seconds=0.4)
        sizes.append(len(as_json(stream, since)))
        since = stream.feed.sample.version
    sample = stream.feed.sample
    assert sample.rounds == 100_000
    assert len(sample.lanes[0].points) < 128 + 64 * 10
    assert len(sample.last_documents) == LAST_DOCUMENTS
    assert max(sizes[20:]) < 8_000
    assert len(as_json(stream)) < 320_000


def test_a_sample_is_made_now_and_then_and_when_nothing_comes() -> None:
    stream = Stream()
    version = stream.feed.sample.version
    for number in range(5):
        stream.process([small(number)], seconds=0.01)
    assert stream.feed.sample.version == version
    stream.feed.idle()
    assert stream.feed.sample.documents == 5
    stream.process([small(5)], seconds=1)
    assert stream.feed.sample.documents == 6


def test_the_rate_falls_when_the_stream_is_silent_and_then_nothing_is_made() -> None:
    stream = Stream()
    stream.process([small(n) for n in range(50)], seconds=1)
    assert stream.feed.sample.rate == pytest.approx(50)
    rates = []
    for _ in range(30):
        stream.clock.now += 1
        stream.feed.idle()
        rates.append(stream.feed.sample.rate or 0.0)
    assert sorted(rates, reverse=True) == rates
    assert rates[-1] == 0
    version = stream.feed.sample.version
    stream.clock.now += 100
    stream.feed.idle()
    assert stream.feed.sample.version == version


def test_all_documents_of_a_slow_stream_are_shown_and_few_of_a_fast_one() -> None:
    slow, fast = Stream(), Stream()
    for number in range(20):
        slow.process([small(number)], seconds=1.0)
        fast.process([small(number)], seconds=0.01)
    slow.feed.idle()
    fast.feed.idle()
    last = [entry.explained.number for entry in slow.feed.sample.last_documents]
    assert last == list(range(15, 21))
    assert fast.feed.sample.last_documents[-1].explained.number == LAST_DOCUMENTS
    assert fast.feed.wanted() == 0
    assert fast.feed.wanted(last=True) == LAST_DOCUMENTS


def test_labels_that_come_late_are_shown_with_the_ranks_of_then() -> None:
    stream = Stream(["mmp:loss=1", "frequency"])
    stream.process(
        [document(n, {"x": 1.0}, "a") for n in range(3)] + [document(3, {"y": 1.0}, "b")]
    )
    stream.process([unlabelled("late", {"x": 1.0})])
    assert stream.feed.sample.last_documents[-1].true is None
    version = stream.feed.sample.version
    stream.process([label("late", "a", "new")])
    shown = stream.feed.sample.last_documents[-1]
    assert shown.stamp > version
    assert shown.true == (("a", (1, 1)), ("new", (None, None)))


def test_a_thousand_true_topics_are_counted_and_not_listed() -> None:
    stream = Stream()
    stream.process([Event(1, {"x": 1.0}, tuple(f"t{n}" for n in range(1000)), None, None)])
    shown = stream.feed.sample.last_documents[0]
    assert shown.true is not None
    assert len(shown.true) == TRUE_TOPICS
    assert shown.untold == 1000 - TRUE_TOPICS


@pytest.mark.parametrize("seed", range(3))
def test_any_stream_can_be_shown(seed: int) -> None:
    stream = Stream()
    events = random_events(seed, 200)
    for start in range(0, len(events), 10):
        stream.process(events[start : start + 10], seconds=0.3)
        orjson.loads(as_json(stream))
    assert stream.feed.sample.state == RUNNING
    assert stream.feed.sample.rounds == stream.engine.rounds


def test_times_that_no_calendar_has_are_passed_over() -> None:
    assert milliseconds(None) is None
    assert milliseconds("0000-01-01T00:00:00Z") is None
    assert milliseconds("2016-12-31T23:59:60Z") is None
    assert milliseconds("9999-12-31T23:59:59-23:59") == 253402387139000
    assert milliseconds("1987-02-26t15:01:01.25z") == 541350061250


def run_of(feed: Feed | None, folder: Path, name: str) -> tuple[bytes, bytes]:
    paths = folder / f"{name}.jsonl", folder / f"{name}.csv"
    settings = ReplaySettings(
        "synthetic:3000", lanes=("mmp:loss=1", "mmp:loss=3,average=true,norm=l2"), block=256,
        rankings=paths[0], curves=paths[1], dead_letters=folder / "dead.jsonl",
    )  # fmt: skip
    outcome = replay(settings, Progress(), feed)
    assert outcome.failure is None
    return paths[0].read_bytes(), paths[1].read_bytes()


def test_a_page_changes_no_result(tmp_path: Path) -> None:
    feed = PageFeed("synthetic:3000")
    assert run_of(feed, tmp_path, "shown") == run_of(None, tmp_path, "alone")
    sample = feed.sample
    assert sample.state == ENDED
    assert [entry.explained.number for entry in sample.last_documents] == list(range(2995, 3001))


def test_a_lane_that_joins_is_shown_from_its_beginning() -> None:
    """And of the others nothing is lost: their points keep the times they were learned at."""
    stream, late = Stream(["mmp:loss=1", "perceptron"]), Stream(["frequency"])
    for block in range(4):
        stream.process([small(n) for n in range(50 * block, 50 * block + 50)])
        late.process([small(n) for n in range(50 * block, 50 * block + 50)])
    before = stream.feed.sample
    stream.engine.merge(late.engine, ["frequency", "mmp:loss=1", "perceptron"])
    stream.feed.begin(stream.engine, ReadProgress(200, None))
    joined = stream.feed.sample
    assert joined.begun == joined.version > before.version
    assert [lane.name for lane in joined.lanes] == ["frequency", "mmp:loss=1", "perceptron"]
    times = [(p.round, p.document_ms, p.wall_ms) for p in joined.lanes[1].points]
    assert times == [(p.round, p.document_ms, p.wall_ms) for p in before.lanes[0].points]
    assert all(wall is not None for *_, wall in times)
    assert joined.lanes[0].points[-1].wall_ms is None  # learned where nobody looked
    stream.process([small(n) for n in range(200, 230)])
    shown = stream.feed.sample
    assert {lane.rounds for lane in shown.lanes} == {230}
    assert shown.rate == pytest.approx(30)
    assert {len(entry.explained.rankings) for entry in shown.last_documents} == {3}
    pairs = orjson.loads(as_json(stream))["against"]
    assert [[row["rounds"] for row in rows] for rows in pairs] == [[30, 30], [30, 230], [30, 230]]


def test_explanations_that_fail_change_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = run_of(None, tmp_path, "alone")
    calls = 0

    def faulty(*unused: object) -> object:
        nonlocal calls
        calls += 1
        if calls < 4:
            return ()
        raise ZeroDivisionError

    monkeypatch.setattr(lane_group, "explain_ranking", faulty)
    feed = PageFeed("synthetic:3000")
    with caplog.at_level(logging.ERROR):
        assert run_of(feed, tmp_path, "shown") == expected
    assert feed.sample.state == ENDED
    assert feed.sample.rounds == 3000
    assert caplog.text.count("rankings cannot be explained") == 1


def test_a_fault_of_the_page_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = run_of(None, tmp_path, "alone")

    def faulty(time: str | None) -> int | None:
        raise ZeroDivisionError

    monkeypatch.setattr(feed_module, "milliseconds", faulty)
    feed = PageFeed("synthetic:3000")
    with caplog.at_level(logging.ERROR):
        assert run_of(feed, tmp_path, "shown") == expected
    assert feed.sample.state == FROZEN
    assert caplog.text.count("the live page failed") == 1
