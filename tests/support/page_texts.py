"""What a person would read off the page."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect


def figure(page: Page, title: str) -> Locator:
    return page.locator("#figures div", has_text=title).locator("dd span")


def wait_for_documents(page: Page, documents: int) -> None:
    expect(figure(page, "Documents ranked")).to_have_text(f"{documents:,}")


def drawn(page: Page) -> list[dict[str, Any]]:
    """What plotly was given to draw, lane by lane."""
    traces: list[dict[str, Any]] = page.evaluate(
        "document.getElementById('chart').data"
        ".map(({x, y, name, visible}) => ({x, y, name, visible}))"
    )
    return traces


def visible(page: Page) -> list[bool]:
    return [trace["visible"] for trace in drawn(page)]
