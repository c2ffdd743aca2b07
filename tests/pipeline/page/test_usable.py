"""The page can be used by keyboard, on a phone, in light and in dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pipeline.curves.confidence import ROUNDS
from pipeline.events.event import Event
from pipeline.page.server import PageServer
from tests.pipeline.page.conftest import Viewer
from tests.support.page_stream import Stream, small
from tests.support.page_texts import visible, wait_for_documents

# What to press when the focus has come to each control.
KEYS = {
    "Measure": "ArrowDown",
    "all rounds": "ArrowRight",
    "rounds": "ArrowRight",
    "mmp:loss=1": "Shift",
    "perceptron": "Space",
    "frequency": "Shift",
    "The curves as a table": "Enter",
    "Compare": "ArrowDown",
    "Ranked by": "ArrowDown",
    "Pause the list": "Enter",
}
FOCUSED = """() => {
  const element = document.activeElement, style = getComputedStyle(element);
  const around = element.labels?.[0];
  const name = around?.textContent || element.ariaLabel || element.textContent;
  return [element.tagName, name.trim(), style.outlineStyle, parseFloat(style.outlineWidth)];
}"""
BEYOND = """() => [...document.querySelectorAll("main *, header *")]
  .filter((element) => !element.closest(".scroll, svg, .unseen"))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 80))"""
# Numbers of the page itself that stand on more than one line; texts of documents may break.
BROKEN = """() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const broken = [];
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const element = text.parentElement;
    if (element.closest("svg, select, .unseen, .about, .topic, .terms i, th, label")) continue;
    if (element.closest(".pairs td:is(:nth-child(4), :nth-child(6))")) continue;
    for (const number of text.data.matchAll(/[\\d\u2212][\\d.,:]*/g)) {
      const range = document.createRange();
      range.setStart(text, number.index);
      range.setEnd(text, number.index + number[0].length);
      const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (tops.size > 1) broken.push(`${number[0]} in ${text.data}`);
    }
  }
  return broken;
}"""
CONTRASTS = (Path(__file__).parent / "contrasts.js").read_text()


def test_everything_can_be_done_with_the_keyboard(
    view: Viewer, stream: Stream, server: PageServer
) -> None:
    stream.process([small(n) for n in range(40)])
    page = view(server.address)
    wait_for_documents(page, 40)
    reached = []
    for _ in range(20):
        page.keyboard.press("Tab")
        kind, label, outline, width = page.evaluate(FOCUSED)
        if kind == "BODY":
            break
        assert (outline, width >= 2) == ("solid", True), label
        reached.append((kind, label))
        page.keyboard.press(KEYS[label])
    assert reached == [
        ("SELECT", "Measure"),
        ("INPUT", "all rounds"),
        ("INPUT", "rounds"),
        ("INPUT", "mmp:loss=1"),
        ("INPUT", "perceptron"),
        ("INPUT", "frequency"),
        ("SUMMARY", "The curves as a table"),
        ("DIV", "The curves as a table"),
        ("SELECT", "Compare"),
        ("SELECT", "Ranked by"),
        ("BUTTON", "Pause the list"),
    ]
    expect(page.locator("#meaning")).to_contain_text("loss2")
    expect(page.get_by_label("the last eighth")).to_be_checked()
    expect(page.get_by_label("time")).to_be_checked()
    assert visible(page) == [True, False, True]
    expect(page.locator("#values-table")).to_be_visible()
    expect(page.locator("#pairs caption")).to_have_text("mmp:loss=1 against the others")
    expect(page.locator("#ranked-by")).to_have_value("perceptron")
    hold = page.get_by_role("button", name="Pause the list")
    expect(hold).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("width", [320, 375, 768, 1100])
def test_no_width_needs_sideways_scrolling(view: Viewer, width: int) -> None:
    stream = Stream(
        ["mmp:loss=1", "perceptron", f"mmp:loss=3,name={'long' * 30}"], source="x" * 300
    )
    stream.process([small(n) for n in range(150)])
    long = Event("i" * 1024, {"f" * 255: 1.0, "g" * 255: 2.0}, ("t" * 255, "t1"), None, None)
    stream.process([long, long, Event("none", {"x": 1.0}, (), None, None)])
    with PageServer(stream.feed) as server:
        page = view(server.address, width=width)
        wait_for_documents(page, 153)
        page.get_by_text("The curves as a table").click()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(BEYOND) == []


@pytest.mark.parametrize("width", [320, 1100, 1280])
def test_no_number_is_broken_over_two_lines(view: Viewer, width: int) -> None:
    lanes = [f"mmp:loss={loss},margin=0.5,norm=l2,average=true" for loss in (1, 2, 3)]
    stream = Stream(lanes, total=400_000)
    for group in stream.engine.lane_groups:  # as if they had been compared for long
        group.differences.tallies[..., ROUNDS] = 400_000.0
    stream.process([small(n) for n in range(150)])
    with PageServer(stream.feed) as server:
        page = view(server.address, width=width)
        wait_for_documents(page, 150)
        expect(page.locator("#pairs tbody tr").first).to_contain_text("400,150")
        assert page.evaluate(BROKEN) == []


def test_nothing_is_logged_to_the_console(browser: Browser, server: PageServer) -> None:
    """Neither errors nor warnings: the page keeps to its own Content-Security-Policy."""
    page = browser.new_page()
    logged: list[str] = []
    page.on("console", lambda message: logged.append(message.text))
    page.goto(server.address)
    expect(page.locator("#state")).to_have_text("running")
    expect(page.locator("#chart .main-svg").first).to_be_visible()
    page.close()
    assert logged == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_light_and_in_dark(
    view: Viewer, stream: Stream, server: PageServer, scheme: str
) -> None:
    stream.process([small(n) for n in range(150)])
    page = view(server.address, scheme=scheme)
    wait_for_documents(page, 150)
    page.get_by_role("button", name="Pause the list").click()
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 100
    assert any(tag == "text" for _, _, tag, _ in contrasts)  # the chart's own texts among them
    assert [seen for seen in contrasts if seen[0] < seen[1]] == []
    page.locator("#chart").hover(position={"x": 600, "y": 150})
    lines = page.locator("#chart .spikeline")
    expect(lines).to_have_count(2)  # dots, on a seam that must not glare
    card = page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")
    assert card in [line.evaluate("e => getComputedStyle(e).stroke") for line in lines.all()]
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(245, 246, 247)") == (scheme == "light")
