"""Draws the pictures of the README from the real thing: `make pictures`.

A replay is started as a person would start it, at a terminal, with `--page` and `--plot`. When it
has ended, headless chromium takes the picture of the live page. Both pictures get a palette, which
makes them small.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from PIL import Image
from playwright.sync_api import expect, sync_playwright

FOLDER = Path(__file__).parent
SOURCE = "synthetic:20000"
WIRERANK = (sys.executable, "-m", "pipeline")
WIDTH, HEIGHT = 1180, 900  # wide enough for the tables, narrow enough to be read at 900 pixels
COLOURS = 256
TIMEOUT_MS = 300_000
LAST_SHOWN = "#comparison"  # the page is cut below this section


def main() -> None:
    """Draw both pictures."""
    with tempfile.TemporaryDirectory() as folder:
        plot = Path(folder) / "curves.png"
        save(replay_seen_by_browser(plot), FOLDER / "live-page.png")
        save(plot.read_bytes(), FOLDER / "learning-curves.png")


def replay_seen_by_browser(plot: Path) -> bytes:
    """Replay the source, write its plot, and return a picture of its page after the last round."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("make pictures needs chromium, which is not there. Try: apt install chromium")
    main_end, terminal = os.openpty()  # at a terminal the page stays until Ctrl-C
    command = [*WIRERANK, "replay", SOURCE, "--page", "--plot", str(plot)]
    with (
        subprocess.Popen(  # noqa: S603 - our own command
            command, stdin=terminal, stdout=subprocess.DEVNULL, stderr=terminal
        ) as run,
        os.fdopen(main_end, "rb", 0) as shown,
        sync_playwright() as playwright,
    ):
        os.close(terminal)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(address_in(shown))
        waits = Event()
        Thread(target=read_on, args=[shown, waits], daemon=True).start()
        expect(page.locator("#state")).to_have_text("ended", timeout=TIMEOUT_MS)
        expect(page.locator("#chart .scatterlayer .trace")).not_to_have_count(0)
        last = page.locator(LAST_SHOWN).bounding_box()
        bottom = HEIGHT if last is None else last["y"] + last["height"] + 16
        page.set_viewport_size({"width": WIDTH, "height": round(bottom)})
        picture = page.screenshot()
        browser.close()
        waits.wait(TIMEOUT_MS / 1000)
        run.send_signal(signal.SIGINT)
        run.wait()
    return picture


def address_in(shown: io.FileIO) -> str:
    """Read what the replay writes until it says where its page is."""
    for line in shown:
        if found := re.search(rb"(http://\S+)", line):
            return found[1].decode()
    sys.exit("The replay ended without saying where its page is.")


def read_on(shown: io.FileIO, waits: Event) -> None:
    """Read on, so that the replay never blocks; set `waits` when it waits for Ctrl-C."""
    with suppress(OSError):  # the terminal is gone
        for line in shown:
            if b"Ctrl-C" in line:
                waits.set()


def save(picture: bytes, path: Path) -> None:
    """Write a picture with a palette, which makes it a third of its size."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    few = image.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path}: {image.width} x {image.height}, {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
