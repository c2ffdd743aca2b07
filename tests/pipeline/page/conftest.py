"""A stream and its page, and who looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from pipeline.page.server import PageServer
from tests.support.browser_fixture import PATIENCE_MS
from tests.support.page_stream import Stream

GONE = "net::ERR_"  # the server may end before the page that asks it

Viewer = Callable[..., Page]


@pytest.fixture
def stream() -> Stream:
    return Stream(total=100_000)


@pytest.fixture
def server(stream: Stream) -> Iterator[PageServer]:
    with PageServer(stream.feed) as server:
        yield server


@pytest.fixture
def view(browser: Browser) -> Iterator[Viewer]:
    """Opens pages; at the end none of them may have had an error, or have asked elsewhere."""
    problems: list[str] = []
    opened: list[Page] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and GONE not in message.text:
            problems.append(message.text)

    def open_page(address: str, width: int = 1200, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", heard)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(f"a dialog: {dialog.message}"))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(address) else problems.append(request.url)
            ),
        )
        page.goto(address)
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        page.context.close()
    assert problems == []
