"""The page to try a model, in a browser: ranking by keyboard, reasons, and no script of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from playwright.sync_api import Page, expect

from tests.pipeline.page.conftest import Viewer, view
from tests.support.command_line import wirerank
from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

__all__ = ["view"]
MARKUP = "<img src=x onerror=alert(1)>"
SETS = "soft-arow:assign=micro,order=probability,risk=0.1,name=sets"
LANES = ("perceptron", f"mmp:name={MARKUP}", SETS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    folder: Path = tmp_path_factory.mktemp("served")
    events = [
        {
            "id": n,
            "text": "wheat harvest" if n % 2 else "oil price",
            "topics": [MARKUP, "grain"][n % 2 :],
        }
        for n in range(20)
    ]
    source, model = folder / "events.jsonl", folder / "m.model"
    source.write_bytes(b"\n".join(map(orjson.dumps, events)))
    lanes = [option for spec in LANES for option in ("--lane", spec)]
    result = wirerank("replay", str(source), *lanes, "--save", str(model), "--quiet")
    assert result.exit_code == 0, result.output
    with ModelServer(model, "--processes", "1") as server:
        yield server


def rows(page: Page) -> list[str]:
    return page.locator("td:first-child").all_inner_texts()


def test_a_text_is_ranked_by_keyboard_and_shown_with_reasons(
    server: ModelServer, view: Viewer
) -> None:
    page = view(f"http://127.0.0.1:{server.port}/")
    page.keyboard.type("wheat harvest of the year")  # the field has the focus
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("table")
    assert page.locator("h2").count() == len(LANES)
    plain = {row.removesuffix(" (assigned)") for row in rows(page)}
    assert plain == {"grain", MARKUP}  # as text; a dialog would fail the test
    assert "wheat" in page.locator("table").first.inner_text()
    page.select_option("#lane", "perceptron")
    page.fill("#top", "1")
    page.focus("button")
    page.keyboard.press("Enter")
    expect(page.locator("h2")).to_have_count(1)
    assert rows(page) == ["grain"]


def test_a_lane_that_assigns_topics_says_which(server: ModelServer, view: Viewer) -> None:
    page = view(f"http://127.0.0.1:{server.port}/")
    page.fill("textarea", "wheat harvest of the year")
    page.select_option("#lane", "sets")
    with page.expect_response("**/v1/rank") as answered:
        page.click("button")
    (event,) = answered.value.json()["rankings"]
    expect(page.locator("th")).to_contain_text(["Topic", "Score", "Probability", "Terms"])
    likely = [f"{place['probability']:.3f}" for place in event["ranking"]]
    expect(page.locator("td:nth-child(3)")).to_have_text(likely)
    assert event["assigned"] == ["grain"]
    expect(page.locator("td", has_text="(assigned)")).to_have_text("grain (assigned)")
    about = page.locator("#rankings p")
    review = "somebody should review it" if event["review"] else "no review needed"
    expect(about.first).to_have_text(
        f"Assigned: grain; certainty {event['certainty']:.3f}; {review}."
    )
    expect(about.last).to_contain_text("in the order of their probabilities")
    page.select_option("#lane", "perceptron")
    page.click("button")
    expect(about).to_have_count(0)
    expect(page.locator("th", has_text="Probability")).to_have_count(0)
