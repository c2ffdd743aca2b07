"""The page marks changes, and shows averages over the last rounds."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pipeline.curves.recent import recent_points
from pipeline.page.server import PageServer
from tests.pipeline.page.conftest import Viewer
from tests.support.page_stream import Stream, small
from tests.support.page_texts import drawn

BROKEN = 1000


@pytest.fixture
def broken(stream: Stream) -> Stream:
    """A stream whose topics get other names."""
    stream.process([small(number) for number in range(BROKEN)])
    stream.process(
        [
            small(number)._replace(topics=(f"t{(number + 3) % 7}",))
            for number in range(BROKEN, BROKEN + 300)
        ]
    )
    return stream


def test_changes_are_marked_and_told(view: Viewer, broken: Stream, server: PageServer) -> None:
    changes = {lane.name: lane.curve.changes.kept for lane in broken.engine.lanes}
    rounds = sorted(change.round for kept in changes.values() for change in kept)
    assert rounds
    assert min(rounds) > BROKEN
    page = view(server.address)
    texts = page.locator("#changes li")
    expect(texts).to_have_count(len(rounds))
    assert "1 - average precision rose from" in texts.first.inner_text()
    marked = page.evaluate("document.getElementById('chart').layout.shapes.map((one) => one.x0)")
    assert sorted(marked) == rounds
    lines = page.locator("#chart .shapelayer path")
    expect(lines).to_have_count(len(rounds))
    page.get_by_label("time", exact=True).check()
    expect(lines).to_have_count(len(rounds))
    for lane, kept in changes.items():
        page.locator("#switches").get_by_text(lane, exact=True).click()
        rounds = rounds[len(kept) :]
        expect(texts).to_have_count(len(rounds))
    expect(page.locator("#changes")).to_be_hidden()


def test_the_mark_is_at_its_round(view: Viewer, broken: Stream, server: PageServer) -> None:
    page = view(server.address)
    expect(page.locator("#changes li").first).to_be_visible()
    round_ = broken.engine.lanes[0].curve.changes.kept[0].round
    expected = page.evaluate(
        "(round) => { const { xaxis } = document.getElementById('chart')._fullLayout;"
        " return xaxis._offset + xaxis.l2p(Math.log10(round)); }",  # a log axis
        round_,
    )
    chart = page.locator("#chart").bounding_box()
    line = page.locator("#chart .shapelayer path").first.bounding_box()
    assert chart is not None
    assert line is not None
    assert line["x"] - chart["x"] == pytest.approx(expected, abs=2)


def test_the_last_eighth(view: Viewer, broken: Stream, server: PageServer) -> None:
    page = view(server.address)
    expect(page.locator("#meaning")).to_contain_text("over all rounds so far")
    page.get_by_label("the last eighth").check()
    expect(page.locator("#meaning")).to_contain_text("over the last eighth of the rounds")
    for measure, scale in (("loss1", 100), ("average_precision", 1)):
        page.locator("#measure").select_option(measure)
        for lane, trace in zip(broken.engine.lanes, drawn(page), strict=True):
            points = list(recent_points(lane.curve))
            expected = [scale * (point.values[measure] or 0.0) for point in points]
            assert trace["y"] == pytest.approx(expected, abs=1e-6)
    page.reload()
    expect(page.get_by_label("the last eighth")).to_be_checked()


def test_no_changes(view: Viewer, stream: Stream, server: PageServer) -> None:
    stream.process([small(number) for number in range(50)])
    page = view(server.address)
    expect(page.locator("#lanes tbody tr").first).to_be_visible()
    expect(page.locator("#changes")).to_be_hidden()
