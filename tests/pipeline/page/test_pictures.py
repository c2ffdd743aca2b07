"""Screenshots: whoever reads the curves off the picture finds the numbers of the report."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from learners.arrays import Longs
from learners.measures import MEASURES
from pipeline.page.feed import PageFeed
from pipeline.page.server import PageServer
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from pipeline.reports.report import RANK_COLUMNS, RETRIEVAL_COLUMNS, TOPIC_COLUMNS, Report
from tests.pipeline.page.conftest import Viewer
from tests.support.page_stream import as_file, ranked

SOURCE = "synthetic:1500"
LANES = ("mmp:loss=1", "feature-focus", "frequency")
ORDINAL = ("prank:ranks=5", "widrow-hoff:ranks=5,rate=0.01", "multiclass-perceptron:ranks=5")
RANK_MEASURES = tuple(key for _, key, *_ in RANK_COLUMNS)
SCALES = {key: scale for _, key, scale, _ in (*TOPIC_COLUMNS, *RETRIEVAL_COLUMNS, *RANK_COLUMNS)}
PIXELS = 3  # how far a reading may be off: a tick's text is not set to the pixel

# Of every tick of the vertical axis what is written there and how far down; and the colour that the
# lane's switch is marked with.
TICKS = """() => [...document.querySelectorAll("#chart .ytick text")].map((text) => {
  const box = text.getBoundingClientRect(), chart = document.getElementById("chart");
  return [text.textContent, box.top + box.height / 2 - chart.getBoundingClientRect().top];
})"""
COLOUR = "(i) => getComputedStyle(document.querySelectorAll('#switches .swatch')[i]).borderTopColor"


class Ended(NamedTuple):
    """A replay that is over: its page, its report, and the measures of its lanes."""

    server: PageServer
    report: Report
    measures: Sequence[str]


def played(source: str, lanes: Sequence[str], measures: Sequence[str], at: Path) -> Iterator[Ended]:
    feed = PageFeed(source)
    with PageServer(feed) as server:
        settings = ReplaySettings(source, tuple(lanes), dead_letters=at / "dead.jsonl")
        yield Ended(server, replay(settings, Progress(), feed).report, measures)


@pytest.fixture(scope="module", params=["topics", "ranks"])
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ended]:
    at = tmp_path_factory.mktemp("pictures")
    if request.param == "topics":
        yield from played(SOURCE, LANES, MEASURES, at)
    else:
        source = as_file([ranked(n * n) for n in range(1500)], at / "ranks.jsonl")
        yield from played(source, ORDINAL, RANK_MEASURES, at)


def show_only(page: Page, lane: str, lanes: Sequence[str]) -> None:
    for name in lanes:
        page.get_by_role("checkbox", name=name, exact=True).set_checked(name == lane)
    drawn = page.locator("#chart .scatterlayer .trace")
    expect(drawn).to_have_count(1)


def screenshot(page: Page) -> Longs:
    """The pixels of the chart: rows x columns x red, green and blue."""
    picture = Image.open(io.BytesIO(page.locator("#chart").screenshot())).convert("RGB")
    return np.asarray(picture, np.int64)


def end_of_line(pixels: Longs, colour: str) -> float | None:
    """The distance of the line of this colour from the top at its right end; None without one."""
    wanted = [int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    distance = np.abs(pixels - wanted).sum(axis=2)
    rows, columns = np.nonzero(distance < 30)
    return float(rows[columns == columns.max()].mean()) if len(rows) else None


def ticks(page: Page) -> list[tuple[float, float]]:
    """The numbers at the axis and how far down they stand, from the top."""
    plain = str.maketrans("\N{MINUS SIGN}", "-", ",")
    actual = [(float(text.translate(plain)), y) for text, y in page.evaluate(TICKS)]
    return sorted(actual, key=lambda tick: tick[1])


def read_off(at: list[tuple[float, float]], y: float, logarithmic: bool) -> tuple[float, float]:
    """The values that somebody who errs by some pixels would read between the axis's numbers."""
    (top, above), *_, (bottom, below) = at
    if logarithmic:
        top, bottom = math.log10(top), math.log10(bottom)

    def value(pixel: float) -> float:
        reading = bottom + (below - pixel) * (top - bottom) / (below - above)
        return 10**reading if logarithmic else float(reading)

    return value(y + PIXELS), value(y - PIXELS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_says_what_the_report_says(view: Viewer, ended: Ended, scheme: str) -> None:
    server, report, measures = ended
    lanes = list(report)
    page = view(server.address, scheme=scheme)
    expect(page.locator("#state")).to_have_text("ended")
    colours = [page.evaluate(COLOUR, i) for i in range(len(lanes))]
    assert len(set(colours)) == len(lanes)
    for measure in measures:
        page.select_option("#measure", measure)
        for i, lane in enumerate(lanes):
            show_only(page, lane, lanes)
            pixels = screenshot(page)
            y = end_of_line(pixels, colours[i])
            assert y is not None, f"{lane} has no line"
            assert end_of_line(pixels, colours[i - 1]) is None, "a lane that is off has a line"
            at = ticks(page)
            assert len(at) >= 2
            assert all(one > next_ for (one, _), (next_, _) in pairwise(at)), at
            low, high = read_off(at, y, measure in ("loss2", "loss3", "coverage"))
            reported = report[lane][measure] * SCALES[measure]
            assert low <= reported <= high, (measure, lane, at)
