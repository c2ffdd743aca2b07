"""The page follows a stream, for as long as it lasts."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from pipeline.page.feed import LAST_DOCUMENTS
from pipeline.page.samples import ReadProgress
from pipeline.page.server import PageServer
from tests.pipeline.page.conftest import Viewer
from tests.support.page_stream import LANES, Stream, small
from tests.support.page_texts import drawn, figure, visible, wait_for_documents


def test_updates_come_while_the_stream_runs_to_several_viewers(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    first = view(server.address)
    expect(first.locator("#no-documents")).to_be_visible()
    stream.process([small(n) for n in range(50)])
    wait_for_documents(first, 50)
    expect(first.locator("#state")).to_have_text("running")
    second = view(server.address, scheme="dark")
    for start in (50, 100, 150):
        stream.process([small(n) for n in range(start, start + 50)])
        for page in (first, second):
            wait_for_documents(page, start + 50)
    assert drawn(first) == drawn(second)
    assert drawn(first)[0]["x"] == [
        point.round for point in stream.engine.lanes[0].curve.all_points()
    ]
    assert (
        first.locator("#through-text").inner_text().startswith("200 of 100,000 (0 %), 99,800 left")
    )
    ids = first.locator("#documents .id").all_inner_texts()
    assert ids[:2] == ["d199", "d198"]


def test_a_reload_in_mid_stream_shows_everything_and_keeps_the_choice(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    stream.process([small(n) for n in range(200)])
    page = view(server.address)
    page.select_option("#measure", "average_precision")
    page.get_by_label("perceptron").uncheck()
    page.get_by_label("time").check()
    stream.process([small(n) for n in range(200, 260)])
    page.reload()
    wait_for_documents(page, 260)
    assert page.locator("#measure").input_value() == "average_precision"
    expect(page.get_by_label("perceptron")).not_to_be_checked()
    expect(page.get_by_label("time")).to_be_checked()
    traces = drawn(page)
    assert visible(page) == [True, False, True]
    assert len(traces[0]["x"]) == len(list(stream.engine.lanes[0].curve.all_points()))


def test_a_lost_connection_is_said_and_taken_up_again(stream: Stream, browser: object) -> None:
    """Not by `view`, which holds every failed request against the page."""

    assert isinstance(browser, Browser)
    stream.process([small(n) for n in range(40)])
    with PageServer(stream.feed) as server:
        port = int(server.address.rsplit(":", 1)[1].strip("/"))
        page = browser.new_page()
        page.goto(server.address)
        wait_for_documents(page, 40)
    expect(page.locator("#state")).to_have_text("connection lost")
    expect(page.locator("#note")).to_contain_text("The page shows the last known state")
    wait_for_documents(page, 40)
    other = Stream(["perceptron"])  # another run in the place of the first
    other.process([small(n) for n in range(7)])
    with PageServer(other.feed, port):
        expect(page.locator("#state")).to_have_text("running")
        wait_for_documents(page, 7)
        assert page.locator("#switches label").all_inner_texts() == ["perceptron"]
        assert len(drawn(page)[0]["x"]) == 7
    page.close()


def test_a_lane_that_joins_appears_to_who_is_looking(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    late = Stream(["mmp:loss=3"])
    for one in (stream, late):
        one.process([small(n) for n in range(60)])
    stream.feed.idle(ReadProgress(60, 80, behind=("mmp:loss=3",)))
    page = view(server.address)
    expect(figure(page, "Lanes catching up")).to_have_text("1")
    stream.engine.merge(late.engine, ["mmp:loss=3", *LANES])
    stream.feed.begin(stream.engine, ReadProgress(60, 80))
    expect(page.locator("#switches label")).to_have_text(["mmp:loss=3", *LANES])
    expect(figure(page, "Lanes catching up")).to_have_count(0)
    stream.process([small(n) for n in range(60, 80)])
    wait_for_documents(page, 80)
    for trace, lane in zip(drawn(page), stream.engine.lanes, strict=True):
        assert trace["x"] == [point.round for point in lane.curve.all_points()]
    expect(page.locator("#pairs tbody tr")).to_have_count(3)


def test_holding_the_list_keeps_it_readable(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    stream.process([small(n) for n in range(20)])
    page = view(server.address)
    expect(page.locator("#documents li")).to_have_count(LAST_DOCUMENTS)
    hold = page.get_by_role("button", name="Pause the list")
    hold.click()
    expect(hold).to_have_attribute("aria-pressed", "true")
    stream.process([small(n) for n in range(20, 40)])
    wait_for_documents(page, 40)
    assert page.locator("#documents .id").first.inner_text() == "d19"
    hold.click()
    expect(page.locator("#documents .id").first).to_have_text("d39")


def test_a_hundred_thousand_rounds_without_growing(view: Viewer) -> None:
    stream = Stream(["mmp:loss=1", "perceptron"], total=100_000)
    sizes: list[int] = []
    with PageServer(stream.feed) as server:
        page = view(server.address)
        page.on(
            "response",
            lambda response: (
                sizes.append(int(response.headers.get("content-length", 0)))
                if "/updates" in response.url
                else None
            ),
        )
        nodes = []
        for stage in range(5):
            for start in range(stage * 20_000, (stage + 1) * 20_000, 1000):
                stream.process([small(n) for n in range(start, start + 1000)], seconds=0.5)
            wait_for_documents(page, (stage + 1) * 20_000)
            nodes.append(page.evaluate("document.querySelectorAll('*').length"))
        assert len(drawn(page)[0]["x"]) < 128 + 64 * 10
    assert max(nodes) < 1_060
    assert max(nodes[1:]) - min(nodes[1:]) < 60  # ticks of the axes come and go
    # A page that is slow at first gets the many points of the first rounds at once.
    assert max(sizes[-3:]) < 60_000
