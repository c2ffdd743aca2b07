"""The section of one experiment: what was run, its pictures, its tables, its settings."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePath

from pipeline.experiments.report.experiment_folders import Attachment, ExperimentFolder, Picture
from pipeline.experiments.report.html_tables import table_html
from pipeline.experiments.report.markup import Html, element, joined
from pipeline.experiments.report.results_schema import Results
from pipeline.experiments.report.settings_section import exact_settings, setting_text

LONG_TABLE = 24  # rows; longer ones are closed until somebody opens them
TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".csv": "text/csv;charset=utf-8"}


def section(found: ExperimentFolder, anchor: str) -> Html:
    """All that is known of one experiment."""
    results = found.results
    if results is None:
        return unfinished(found, anchor)
    badges = element("span", "quick run", class_="badge") if results.quick else None
    title = element(
        "h2", sentence(results.title or results.experiment), " ", badges, id=f"{anchor}-title"
    )
    name = element("code", results.experiment)
    where = (
        None
        if found.folder == results.experiment
        else joined(" in ", element("code", found.folder))
    )
    return element(
        "section",
        title,
        element("p", results.paper, class_="cited") if results.paper else None,
        element("p", name, where, class_="name"),
        quick_note(results),
        progress_note(found),
        facts(results),
        remarks(results),
        pictures(found, anchor),
        tables(found, anchor),
        exact_settings(results),
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )  # fmt: skip


def unfinished(found: ExperimentFolder, anchor: str) -> Html:
    """An experiment without results: how far it is, or why it cannot be shown."""
    name = found.progress.experiment if found.progress else found.folder
    text = in_words(found) if not found.problem else f"{found.folder}/{found.problem}."
    return element(
        "section",
        element("h2", name, id=f"{anchor}-title"),
        element("p", element("code", found.folder), class_="name"),
        element("p", text, class_="warning"),
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )


def in_words(found: ExperimentFolder) -> str:
    """How far a run is that has not ended."""
    progress = found.progress
    if progress is None:
        return "not run"
    of = "an unknown number of" if progress.parts is None else f"{progress.parts:,}"
    return (
        f"Not finished: {progress.done:,} of {of} parts done. The same command goes on from there."
    )


def progress_note(found: ExperimentFolder) -> Html | None:
    """That a longer run has begun since the results were written."""
    progress, results = found.progress, found.results
    if progress is None or results is None or not progress.parts or not results.parts:
        return None
    if progress.parts <= len(results.parts):
        return None
    text = f"A longer run has begun: {progress.done:,} of its {progress.parts:,} parts are done. "
    return element("p", text, "What follows is of the run before it.", class_="warning")


def quick_note(results: Results) -> Html | None:
    """That the numbers are not for comparing."""
    if not results.quick:
        return None
    text = "A quick run, on a part of the data: it shows that everything works. "
    return element(
        "p", text, "Its numbers are not to be compared with the paper's.", class_="warning"
    )


def facts(results: Results) -> Html:
    """When and how it was run, in short."""
    run = results.run
    versions = run.wirerank or [
        version for version in (results.versions.get("wirerank"),) if version
    ]
    rows: list[tuple[str, str | None]] = [
        ("Finished", when(run.finished)),
        ("Time it took", None if run.seconds is None else duration(run.seconds)),
        ("Seed", text_of(results.settings.get("seed"))),
        ("Splits or repetitions", text_of(results.settings.get("splits"))),
        ("Wirerank", ", ".join(versions) or None),
        ("Machine", run.machine),
    ]
    shown = [
        element("div", element("dt", name), element("dd", text))
        for name, text in rows
        if text is not None
    ]
    return element("dl", *shown, class_="facts")


def text_of(value: object) -> str | None:
    """A setting as text."""
    return None if value is None else setting_text(value)


def when(moment: str | None) -> str | None:
    """A date and time for people; what is none stays as it is."""
    if moment is None:
        return None
    try:
        return f"{datetime.fromisoformat(moment).astimezone(UTC):%-d %B %Y, %H:%M UTC}"
    except (ValueError, OverflowError):
        return moment


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(0.42), duration(75), duration(5400), duration(200_000)
    ('0.4 s', '1 min 15 s', '1 h 30 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"


def remarks(results: Results) -> Html | None:
    """How it differs from the paper."""
    if not results.remarks:
        return None
    items = (element("li", remark) for remark in results.remarks)
    return joined(
        element("h3", "How it differs from the paper"), element("ul", *items, class_="remarks")
    )


def pictures(found: ExperimentFolder, anchor: str) -> Html | None:
    """The pictures; each has its title in it."""
    if not found.pictures:
        return None
    shown = (figure(one, f"{anchor}-figure-{n}") for n, one in enumerate(found.pictures, 1))
    return joined(element("h3", "Figures"), *shown)


def figure(picture: Picture, anchor: str) -> Html:
    """A picture in the page. As an image, an SVG runs no script and asks for nothing."""
    drawing, file = picture.drawing, picture.file
    # Not numbered: that might be taken for the paper's numbers.
    caption = element("figcaption", element("code", drawing.name))
    if file.problem:
        missing = element("p", f"Not in this page: {file.problem}.", class_="warning")
        return element("figure", missing, caption, id=anchor)
    title = drawing.title or drawing.name
    image = element("img", src=data_address(file), alt=f"{title}. {drawing.text}".strip())
    scroll = element("div", image, class_="scroll", tabindex=0, role="region", aria_label=title)
    return element("figure", scroll, caption, id=anchor)


def tables(found: ExperimentFolder, anchor: str) -> Html | None:
    """The tables, each with its numbers to download."""
    results = found.results
    if results is None or not results.tables:
        return None
    files = {file.name: file for file in found.numbers}
    shown = []
    for number, (name, table) in enumerate(results.tables.items(), 1):
        label = f"{anchor}-table-{number}"
        link = download(files.pop(f"{name}.csv", None))
        title = element("h4", table.title, id=label)
        content = table_html(table, label)
        if len(table.rows) > LONG_TABLE:
            summary = element("summary", f"{len(table.rows)} rows")
            content = element("details", summary, content, class_="long")
        shown.append(joined(element("div", title, link, class_="over"), content))
    rest = [link for file in files.values() if (link := download(file))]
    curves = (
        element("p", "The curves as numbers: ", *spaced(rest), class_="curves") if rest else None
    )
    return joined(element("h3", "Tables"), *shown, curves)


def spaced(pieces: list[Html]) -> Iterator[str]:
    """Pieces with blanks between them."""
    for piece in pieces:
        yield piece
        yield " "


def download(file: Attachment | None) -> Html | None:
    """A link that saves a file out of the page; of one that is not in it, where it is."""
    if file is None:
        return None
    if file.problem:
        return element("span", f"not in this page: {file.problem}", class_="left-out")
    return element("a", file.name, href=data_address(file), download=file.name, class_="download")


def data_address(file: Attachment) -> str:
    """A file as an address that holds it."""
    kind = TYPES[PurePath(file.name).suffix]
    return f"data:{kind};base64,{base64.b64encode(file.content).decode()}"


def sentence(text: str) -> str:
    """A title with a capital."""
    return text[:1].upper() + text[1:]
