"""What the page shows is what the run found."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from learners.measures import MEASURES
from pipeline.page.feed import PageFeed
from pipeline.page.server import PageServer
from pipeline.replay.progress import Progress
from pipeline.replay.replay import ReplayResult, replay
from pipeline.replay.settings import ReplaySettings
from pipeline.reports.report import TOPIC_COLUMNS, lane_table
from tests.pipeline.engine.test_engine import label, unlabelled
from tests.pipeline.page.conftest import Viewer
from tests.support.page_stream import Stream, small
from tests.support.page_texts import drawn, figure

SOURCE = "synthetic:2500"
LANES = ("mmp:loss=1", "mmp:loss=2", "perceptron", "frequency")
SCALES = {key: scale for _, key, scale, _ in TOPIC_COLUMNS}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageServer, ReplayResult]]:
    """A replay that is over, and its page."""
    feed = PageFeed(SOURCE)
    dead = tmp_path_factory.mktemp("page") / "dead.jsonl"
    with PageServer(feed) as server:
        yield server, replay(ReplaySettings(SOURCE, LANES, dead_letters=dead), Progress(), feed)


def test_numbers_are_those_of_the_report(
    view: Viewer, ended: tuple[PageServer, ReplayResult]
) -> None:
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
    reported = outcome.report[LANES[0]]
    expect(figure(page, "Documents ranked")).to_have_text(f"{reported['documents']:,}")
    expect(figure(page, "Rounds learned")).to_have_text(f"{reported['rounds']:,}")
    speed = f"{reported['documents_per_second']:,.0f}"
    expect(figure(page, "Documents/s")).to_have_text(speed)
    assert page.locator("#through-text").inner_text() == "2,500 of 2,500 (100 %)"


def test_who_is_better_is_what_the_report_says(
    view: Viewer, ended: tuple[PageServer, ReplayResult]
) -> None:
    """Every lane against every other: difference, interval and verdict, in both losses."""
    server, outcome = ended
    page = view(server.address)
    expect(page.locator("#state")).to_have_text("ended")
    best = min(LANES, key=lambda name: outcome.report[name]["loss1"])
    expect(page.locator("#pairs caption")).to_have_text(f"{best} against the others")
    texts = set()
    for lane in LANES:
        page.select_option("#compared", label=lane)
        expect(page.locator("#pairs caption")).to_have_text(f"{lane} against the others")
        rows = page.locator("#pairs tbody tr").all()
        against = outcome.report[lane]["against"]
        for row, (other, actual) in zip(rows, against.items(), strict=True):
            cells = row.locator("th, td").all_inner_texts()
            expected = [other, f"{actual['loss1']['rounds']:,}"]
            for loss, digits in (("loss1", 2), ("loss3", 3)):
                numbers = (actual[loss][key] for key in ("difference", "low", "high"))
                mean, low, high = (f"{100 * number:z.{digits}f}" for number in numbers)
                better = actual[loss]["better"]
                verdict = f"{better} is better" if better else "undecided so far"
                expected += [f"{mean} ({low} to {high})".replace("-", "\u2212"), verdict]
                texts.add(verdict)
            assert cells == expected
    assert "undecided so far" in texts
    assert len(texts) > 1


def test_who_is_better_is_followed_live(view: Viewer, stream: Stream, server: PageServer) -> None:
    page = view(server.address)
    pairs = page.get_by_role("table", name="against the others")
    frequency = pairs.get_by_role("row").filter(has=page.get_by_role("rowheader", name="frequency"))
    expect(frequency.get_by_role("cell")).to_have_text(
        [
            "0",
            "n.a. (\u2212100.00 to 100.00)", "undecided so far",
            "n.a. (\u2212100.000 to 100.000)", "undecided so far",
        ]
    )  # fmt: skip
    stream.process([small(n) for n in range(300)])
    page.select_option("#compared", label="mmp:loss=1")
    expect(frequency.get_by_role("cell").nth(0)).to_have_text("300")
    expect(frequency.get_by_role("cell").nth(2)).to_have_text("mmp:loss=1 is better")
    page.reload()
    expect(pairs.locator("caption")).to_have_text("mmp:loss=1 against the others")


def test_one_lane_is_compared_with_nothing(view: Viewer) -> None:
    alone = Stream(["perceptron"])
    alone.process([small(n) for n in range(30)])
    with PageServer(alone.feed) as server:
        page = view(server.address)
        expect(figure(page, "Rounds learned")).to_have_text("30")
        expect(page.locator("#comparison")).to_be_hidden()


def test_curves_are_those_of_the_run(view: Viewer, stream: Stream, server: PageServer) -> None:
    stream.process([small(n) for n in range(300)])
    page = view(server.address)
    for measure in filter(SCALES.__contains__, MEASURES):
        page.select_option("#measure", measure)
        for trace, lane in zip(drawn(page), stream.engine.lanes, strict=True):
            points = list(lane.curve.all_points())
            values = [
                None if (v := p.values[measure]) is None else v * SCALES[measure] for p in points
            ]
            if measure in ("loss2", "loss3", "coverage"):  # on a log scale there is no 0
                values = [value or None for value in values]
            assert trace["x"] == [point.round for point in points]
            assert trace["y"] == values
    page.get_by_label("time").check()
    assert drawn(page)[0]["x"][0] == 536500800000  # 1987-01-01T12:00:00Z
    page.get_by_text("The curves as a table").click()
    rounds = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "300"]
    expect(page.locator("#values-table tbody th")).to_have_text(rounds)


def test_where_there_is_no_curve_there_are_no_axes(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    page = view(server.address)
    ticks, reported = (
        page.locator("#chart .xtick, #chart .ytick"),
        page.locator("#chart .annotation"),
    )
    expect(reported).to_have_text("No rounds yet.")
    expect(ticks).to_have_count(0)
    stream.process([small(n) for n in range(40)])
    expect(reported).to_have_count(0)
    expect(page.locator("#chart .xtick").first).to_have_text("1")
    for switch in page.locator("#switches input").all():
        switch.uncheck()
    expect(reported).to_have_text("All lanes are switched off.")
    expect(ticks).to_have_count(0)
    page.locator("#switches input").first.check()
    expect(page.locator("#chart .ytick").first).to_have_text("0")


def test_values_show_where_one_points(view: Viewer, ended: tuple[PageServer, ReplayResult]) -> None:
    page = view(ended[0].address)
    expect(page.locator("#chart .scatterlayer .trace")).to_have_count(len(LANES))
    page.locator("#chart").hover(position={"x": 600, "y": 150})
    hover = page.locator("#chart .hoverlayer .legend")
    expect(hover).to_contain_text("round ")
    for lane in LANES:
        expect(hover).to_contain_text(re.compile(re.escape(lane) + r" : [\d.]+"))


def test_late_labels_are_marked_when_they_come(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    stream.process([small(n) for n in range(20)])
    stream.process([unlabelled("late", {"w3": 1.0})])
    page = view(server.address)
    last = page.locator("#documents li").first
    expect(last.locator(".missed")).to_have_text("No labels yet.")
    stream.process([label("late", "t3", "unheard of")])
    expect(last.locator(".missed")).to_have_text("Also true: unheard of (new: not in the ranking)")
    expect(last.locator(".true .topic")).to_contain_text("t3")


def test_terms_say_why_and_a_lane_without_any_says_so(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    stream.process([small(n) for n in range(40)])
    page = view(server.address)
    best = stream.feed.sample.last_documents[-1].explained.rankings[0][0]
    assert best.terms
    why = page.locator("#documents li").first.locator(".why").first
    expect(why).to_contain_text(best.terms[0].term)
    page.select_option("#ranked-by", "frequency")
    assert page.locator("#explanation").inner_text() == (
        "This lane (frequency) has no weights for terms, so its rankings are shown without them."
    )
    assert page.locator("#documents .why").first.inner_text() == ""
