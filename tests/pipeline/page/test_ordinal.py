"""Ordinal lanes on the page, alone and beside lanes of topics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from playwright.sync_api import Page, expect

from pipeline.events.event import Event
from pipeline.page.feed import PageFeed
from pipeline.page.server import PageServer
from pipeline.page.updates import run_header, update_since
from pipeline.replay.progress import Progress
from pipeline.replay.replay import ReplayResult, replay
from pipeline.replay.settings import ReplaySettings
from pipeline.reports.report import RANK_COLUMNS, lane_table
from tests.pipeline.engine.test_engine import label, unlabelled
from tests.pipeline.page.conftest import Viewer
from tests.pipeline.page.test_usable import BEYOND, CONTRASTS
from tests.support.page_stream import Stream, as_file, ranked, small
from tests.support.page_texts import drawn, figure, wait_for_documents

ORDINAL = ("prank:ranks=5", "widrow-hoff:ranks=5,rate=0.1", "multiclass-perceptron:ranks=5")
MIXED = ("mmp:loss=1", "prank:ranks=5", "perceptron", "widrow-hoff:ranks=5,rate=0.1")
RANK_TITLES = [title for title, *_ in RANK_COLUMNS]


def latest_update(stream: Stream, since: int = 0) -> dict[str, Any]:
    content: dict[str, Any] = orjson.loads(
        orjson.dumps(update_since(stream.feed.sample, since), default=tuple)
    )
    return content


def late_rank(id_: str, rank: int) -> Event:
    return Event(id_, None, None, rank, None)


def test_curves_have_the_measures_that_the_table_has() -> None:
    stream = Stream(MIXED)
    stream.process([ranked(n) for n in range(300)])
    of_topics, ordinal, *_ = latest_update(stream)["lanes"]
    assert (of_topics["ranks"], ordinal["ranks"]) == (None, 5)
    points = list(stream.engine.lanes[1].curve.points())
    hits = [point.values["hit_rate"] for point in points]
    assert ordinal["curve"]["miss_rate"] == [1.0 - hit for hit in hits if hit is not None]
    assert ordinal["curve"]["tau_b"] == [point.values["tau_b"] for point in points]
    assert "ranking_loss" not in of_topics["curve"]
    assert "loss1" not in ordinal["curve"]
    assert set(ordinal["last"]) == {key for _, key, *_ in RANK_COLUMNS}


def test_lanes_of_a_kind_are_compared_by_their_own_losses() -> None:
    of_topics, of_ranks = run_header(Stream(MIXED).feed.sample)["compared"]
    assert (of_topics["lanes"], of_topics["titles"]) == ((0, 2), ["loss1 %", "loss3 %"])
    assert (of_ranks["lanes"], of_ranks["titles"]) == ((1, 3), ["rank loss", "miss %"])
    pairs = latest_update(Stream(MIXED))["against"]
    assert [[row["other"] for row in rows] for rows in pairs] == [[2], [3], [0], [1]]
    alone = run_header(Stream(["perceptron", "prank:ranks=3"]).feed.sample)
    assert alone["compared"] == []


def test_labels_of_either_kind_are_shown_when_they_come() -> None:
    stream = Stream(["mmp:loss=1", "prank:ranks=5"])
    stream.process([ranked(n) for n in range(20)])
    rounds = stream.engine.rank_group.rounds
    stream.process([unlabelled("topics first", {"w3": 1.0}), unlabelled("rank first", {"w3": 1.0})])
    stream.process([label("topics first", "t3"), late_rank("rank first", 4)])
    one, other = stream.feed.sample.last_documents[-2:]
    assert (one.true, one.rank) == ((("t3", (1, None)),), None)
    assert (other.true, other.rank) == (None, 4)
    version = stream.feed.sample.version
    stream.process([late_rank("topics first", 2), label("rank first", "t3")])
    for shown, rank in zip(stream.feed.sample.last_documents[-2:], (2, 4), strict=True):
        assert (shown.true, shown.rank) == ((("t3", (1, None)),), rank)
        assert shown.stamp > version
        assert shown.explained.rounds == [20, rounds]
    news_of = [document["rank"] for document in latest_update(stream, version)["documents"]]
    assert news_of == [2, 4]


def test_a_rank_that_no_lane_learns_is_no_news() -> None:
    stream = Stream(["mmp:loss=1"])
    stream.process([small(n) for n in range(10)])
    stream.process([unlabelled("late", {"w3": 1.0})])
    version = stream.feed.sample.version
    stream.process([late_rank("late", 4)])
    assert stream.feed.sample.version > version
    assert latest_update(stream, version)["documents"] == []


def test_rounds_are_told_by_kind() -> None:
    stream = Stream(["mmp:loss=1", "prank:ranks=5"])
    stream.process([small(n) for n in range(10)] + [ranked(n) for n in range(10, 13)])
    assert latest_update(stream)["status"]["groups"] == [
        {"kind": "topics", "rounds": 13, "waiting": 0, "unmatched": 0},
        {"kind": "ranks", "rounds": 3, "waiting": 10, "unmatched": 0},
    ]
    stream.process([late_rank("nobody", 4)])
    assert [group["unmatched"] for group in latest_update(stream)["status"]["groups"]] == [0, 1]
    of_topics, ordinal = stream.feed.sample.last_documents[-1].explained.rounds
    assert (of_topics, ordinal) == (12, 2)


@pytest.fixture(scope="module", params=[ORDINAL, MIXED], ids=["ordinal", "mixed"])
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[PageServer, ReplayResult]]:
    """A replay that is over, and its page."""
    folder = tmp_path_factory.mktemp("ordinal")
    source = as_file([ranked(n * n) for n in range(400)], folder / "events.jsonl")
    feed = PageFeed(source)
    settings = ReplaySettings(source, request.param, dead_letters=folder / "dead.jsonl")
    with PageServer(feed) as server:
        yield server, replay(settings, Progress(), feed)


def test_the_table_is_that_of_the_report(
    view: Viewer, ended: tuple[PageServer, ReplayResult]
) -> None:
    """What a lane does not have is n.a., and the stars are among those that have it."""
    server, outcome = ended
    page = view(server.address)
    expect(page.locator("#state")).to_have_text("ended")
    rows = page.locator("#lanes tbody tr").all()
    shown = [row.locator("th, td").all_inner_texts() for row in rows]
    printed = [line.split() for line in lane_table(outcome.report).splitlines()[1:]]
    assert [[cell.split()[0] for cell in row] for row in shown] == [
        [cell.rstrip("*") for cell in row] for row in printed
    ]
    stars = [
        ["best" in (cell.get_attribute("class") or "") for cell in row.locator("td").all()]
        for row in rows
    ]
    assert stars == [[cell.endswith("*") for cell in row[1:]] for row in printed]
    assert any(map(any, stars))
    expect(page.locator("#windows")).to_have_text(" (tau-b: over the last 1,000)")


def test_who_is_better_is_asked_of_lanes_of_a_kind(
    view: Viewer, ended: tuple[PageServer, ReplayResult]
) -> None:
    server, outcome = ended
    page = view(server.address)
    report = outcome.report
    ordinal = [name for name in report if "ranking_loss" in report[name]]
    best = min(ordinal, key=lambda name: report[name]["ranking_loss"])
    page.select_option("#compared", label="the best in rank loss so far")
    expect(page.locator("#pairs caption")).to_have_text(f"{best} against the others")
    titles = page.locator("#pairs thead th").all_inner_texts()
    assert titles == ["against", "rounds", "rank loss", "in rank loss", "miss %", "in miss"]
    for lane in report:
        page.select_option("#compared", label=lane)
        expect(page.locator("#pairs caption")).to_have_text(f"{lane} against the others")
        actual = {other: losses for other, losses in report[lane]["against"].items() if losses}
        assert page.locator("#pairs tbody th").all_inner_texts() == list(actual)
        for row, losses in zip(page.locator("#pairs tbody tr").all(), actual.values(), strict=True):
            texts = row.locator("td").all_inner_texts()[2::2]
            winners = [losses[loss]["better"] for loss in losses]
            assert texts == [f"{w} is better" if w else "undecided so far" for w in winners]


def test_an_ordinal_stream_begins_with_its_own_measure(view: Viewer) -> None:
    stream = Stream(ORDINAL)
    with PageServer(stream.feed) as server:
        page = view(server.address)
        stream.process([ranked(n) for n in range(100)])
        wait_for_documents(page, 100)
        expect(page.locator("#measure")).to_have_value("ranking_loss")
        expect(page.locator("#measure option")).to_have_text(RANK_TITLES)
        expect(page.locator("#compared")).to_have_value("best ranking_loss")
        expect(figure(page, "Rounds learned")).to_have_text("100")
        expect(figure(page, "Ranks")).to_have_text("5")
        expect(page.locator("#figures dt", has_text="Topics")).to_have_count(0)
        expect(page.locator("#meaning")).to_contain_text("averaged over all rounds")
        page.select_option("#measure", "tau_b")
        expect(page.locator("#meaning")).to_have_text(
            "tau-b: Kendall's tau-b of predicted and true ranks, over the last 1,000 rounds; "
            "higher is better."
        )
        curves = [lane.curve.all_points() for lane in stream.engine.lanes]
        assert [trace["y"] for trace in drawn(page)] == [
            [point.values["tau_b"] for point in points] for points in curves
        ]


def lines(page: Page) -> list[str]:
    """The lanes that have a line."""
    return [trace["name"] for trace in drawn(page) if trace["visible"] and trace["y"]]


def test_lanes_without_the_measure_have_no_line_and_say_so(view: Viewer) -> None:
    stream = Stream(MIXED)
    stream.process([ranked(n) for n in range(200)])
    with PageServer(stream.feed) as server:
        page = view(server.address)
        wait_for_documents(page, 200)
        expect(page.locator("#measure")).to_have_value("loss1")
        expect(page.locator("#measure option")).to_contain_text(["loss1 %", "AvgP", *RANK_TITLES])
        assert lines(page) == ["mmp:loss=1", "perceptron"]
        page.select_option("#measure", "ranking_loss")
        assert lines(page) == [MIXED[1], MIXED[3]]
        without = page.get_by_role("checkbox", name="mmp:loss=1 (has no rank loss)")
        expect(without).to_be_checked()
        page.get_by_text("The curves as a table").click()
        expect(page.locator("#values-table thead th")).to_have_text(["round", MIXED[1], MIXED[3]])
        for lane in (MIXED[1], MIXED[3]):
            page.get_by_role("checkbox", name=lane).uncheck()
        expect(page.locator("#chart .annotation")).to_have_text(
            "All lanes that have this measure are switched off."
        )
        expect(figure(page, "Rounds (topics)")).to_have_text("200")
        expect(figure(page, "Rounds (ranks)")).to_have_text("200")


def test_a_said_rank_is_shown_beside_the_true_one(view: Viewer) -> None:
    stream = Stream(MIXED)
    stream.process([ranked(n) for n in range(100)])
    stream.process([unlabelled("late", {"w3": 1.0, "v1": 2.0})._replace(topics=("t3",))])
    with PageServer(stream.feed) as server:
        page = view(server.address)
        wait_for_documents(page, 101)
        last = page.locator("#documents li").first
        expect(last.locator(".true .topic")).to_contain_text("t3")  # by a lane of topics
        page.select_option("#ranked-by", MIXED[1])
        place = stream.feed.sample.last_documents[-1].explained.rankings[1][0]
        assert place.terms
        expect(last.locator(".topic")).to_have_text(place.topic)
        expect(last.locator(".why")).to_contain_text(place.terms[0].term)
        expect(last.locator(".missed")).to_have_text("No rank yet.")
        expect(last.locator(".facts")).to_contain_text("after 100 rounds")
        expect(page.locator("#explanation")).to_contain_text("The predicted and the true rank")
        other = int(place.topic.removeprefix("rank ")) % 5 + 1
        stream.process([late_rank("late", other)])
        expect(last.locator(".topic")).to_have_text(f"{place.topic} (true {other})")
        expect(last.locator(".missed")).to_have_count(0)
        expect(last.locator("tr.true")).to_have_count(0)
        stream.process([unlabelled("past", {"w3": 1.0})._replace(rank=9)])
        expect(last.locator(".missed")).to_contain_text("above the highest rank, 5")
        stream.process([unlabelled("hit", {"w3": 1.0, "v1": 2.0})])
        now = stream.feed.sample.last_documents[-1].explained.rankings[1][0].topic
        stream.process([late_rank("hit", int(now.removeprefix("rank ")))])
        expect(last.locator(".topic")).to_have_text(f"\u2713{now} (true {now[-1]})")
        expect(last.locator("tr.true")).to_have_count(1)


@pytest.mark.parametrize("width", [320, 375, 768, 1100, 1200])
def test_both_kinds_fit_on_any_screen(view: Viewer, width: int) -> None:
    stream = Stream(MIXED)
    stream.process([ranked(n) for n in range(150)])
    with PageServer(stream.feed) as server:
        page = view(server.address, width=width)
        wait_for_documents(page, 150)
        page.select_option("#ranked-by", MIXED[1])
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(BEYOND) == []


def test_a_table_that_is_too_wide_does_not_push_the_page_aside(view: Viewer) -> None:
    """With lanes of many classes too there are thirteen measures."""
    stream = Stream([*MIXED, "feature-focus"])
    stream.process([ranked(n) for n in range(150)])
    with PageServer(stream.feed) as server:
        page = view(server.address, width=1100)
        wait_for_documents(page, 150)
        assert page.locator("#lanes thead th").count() == 2 + 13
        assert page.evaluate("document.documentElement.scrollWidth") == 1100
        last = page.locator("#lanes tbody tr").nth(1).locator("td").last
        last.scroll_into_view_if_needed()
        expect(last).to_be_in_viewport(ratio=0.9)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_kinds_can_be_read(view: Viewer, scheme: str) -> None:
    stream = Stream(MIXED)
    stream.process([ranked(n) for n in range(150)])
    with PageServer(stream.feed) as server:
        page = view(server.address, scheme=scheme)
        wait_for_documents(page, 150)
        page.select_option("#ranked-by", MIXED[1])
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 100
        assert [seen for seen in contrasts if seen[0] < seen[1]] == []


def test_a_replay_can_be_read_back(tmp_path: Path) -> None:
    """The file that these tests replay says what the events say."""
    source = as_file([ranked(n) for n in range(30)], tmp_path / "events.jsonl")
    feed = PageFeed(source)
    replay(ReplaySettings(source, ORDINAL, dead_letters=tmp_path / "dead.jsonl"), Progress(), feed)
    stream = Stream(ORDINAL)
    stream.process([ranked(n) for n in range(30)])
    assert [lane.values for lane in feed.sample.lanes] == [
        lane.values for lane in stream.feed.sample.lanes
    ]
