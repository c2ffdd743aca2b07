"""The page as a browser shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from pipeline.experiments.report.experiment_folders import find_experiments
from pipeline.experiments.report.page import page as page_of
from tests.support.hostile_experiment import SVG, HostileTiny
from tests.support.tiny_experiment import run_tiny

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with harmless and hostile results."""
    folder = tmp_path_factory.mktemp("experiments")
    run_tiny(folder / "tiny")
    run_tiny(folder / "hostile", HostileTiny)
    (folder / "hostile" / "picture-comparison.svg").write_bytes(SVG)
    (folder / "broken").mkdir()
    (folder / "broken" / "results.json").write_bytes(b"{")
    out = folder / "report.html"
    out.write_bytes(page_of(find_experiments(folder)))
    return out.as_uri()


SHOWN = "[...document.querySelectorAll('figure .scroll')].map(o => [o.clientWidth, o.scrollWidth])"


@pytest.mark.parametrize("width", [1200, 400])
def test_pictures_are_seen_as_a_whole(width: int, address: str, browser: Browser) -> None:
    """On a narrow screen a tapped figure becomes large and scrolls by itself."""
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(address)
    before = page.evaluate(SHOWN)
    assert len(before) == 2
    assert all(inside == whole for inside, whole in before)
    page.locator("figure .scroll").first.click()
    enlarged = page.evaluate(SHOWN)[0]
    assert enlarged == (before[0] if width == 1200 else [before[0][0], 48 * 16])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("h1").click()
    assert page.evaluate(SHOWN) == before
    page.close()


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_run_nothing_is_asked_for_nothing_sticks_out(
    width: int, scheme: str, address: str, browser: Browser, tmp_path: Path
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    assert page.evaluate("window.hit") is None
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    loaded = page.evaluate("[...document.images].map(one => one.naturalWidth > 0)")
    assert loaded == [True, True]
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The style is the page's own, and its policy lets it be.
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(15, 19, 24)" if scheme == "dark" else "rgb(246, 247, 248)")
    with page.expect_download() as download:
        page.locator("a[download='comparison.csv']").first.click()
    download.value.save_as(tmp_path / "saved.csv")
    assert (tmp_path / "saved.csv").read_text().startswith("row,measure,ours,")
    context.close()
    assert problems == []
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    assert [url for url in asked if url.startswith("file")] == [address]
