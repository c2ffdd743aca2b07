"""The fixture `browser`: a real one, Debian's chromium, driven by playwright; for the session."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

PATIENCE_MS = 60_000  # a browser beside other tests on two cores can be slow


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from tests.conftest import missing

    chromium = shutil.which("chromium")
    if chromium is None:
        missing("chromium", "apt install chromium")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        # No sandbox: it does not work for root, which tests in containers are run by.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
