"""The section of one experiment: what was run, its figures, its tables, its settings."""

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

LONG_TABLE = 24  # rows; a longer table is folded until the reader opens it
TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".csv": "text/csv;charset=utf-8"}


def section(folder: ExperimentFolder, anchor: str) -> Html:
    """The section of one experiment."""
    results = folder.results
    if results is None:
        return unfinished(folder, anchor)
    badges = element("span", "quick run", class_="badge") if results.quick else None
    title = element(
        "h2", capitalised(results.title or results.experiment), " ", badges, id=f"{anchor}-title"
    )
    name = element("code", results.experiment)
    where = (
        None if folder.name == results.experiment else joined(" in ", element("code", folder.name))
    )
    return element(
        "section",
        title,
        element("p", results.paper, class_="cited") if results.paper else None,
        element("p", name, where, class_="name"),
        quick_note(results),
        progress_note(folder),
        facts(results),
        remarks(results),
        pictures(folder, anchor),
        tables(folder, anchor),
        exact_settings(results),
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )  # fmt: skip


def unfinished(folder: ExperimentFolder, anchor: str) -> Html:
    """The section of an experiment without results: its progress, or why it cannot be shown."""
    name = folder.progress.experiment if folder.progress else folder.name
    text = progress_text(folder) if not folder.problem else f"{folder.name}/{folder.problem}."
    return element(
        "section",
        element("h2", name, id=f"{anchor}-title"),
        element("p", element("code", folder.name), class_="name"),
        element("p", text, class_="warning"),
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )


def progress_text(folder: ExperimentFolder) -> str:
    """The progress of an unfinished run."""
    progress = folder.progress
    if progress is None:
        return "not run"
    of = "an unknown number of" if progress.parts is None else f"{progress.parts:,}"
    return (
        f"Not finished: {progress.done:,} of {of} parts done. Run the same command again to "
        "continue."
    )


def progress_note(folder: ExperimentFolder) -> Html | None:
    """A note that a longer run has begun since the results were written."""
    progress, results = folder.progress, folder.results
    if progress is None or results is None or not progress.parts or not results.parts:
        return None
    if progress.parts <= len(results.parts):
        return None
    text = f"A longer run has begun: {progress.done:,} of its {progress.parts:,} parts are done. "
    return element("p", text, "The results below are those of the previous run.", class_="warning")


def quick_note(results: Results) -> Html | None:
    """A note that the numbers of a quick run cannot be compared with the paper's."""
    if not results.quick:
        return None
    text = "This was a quick run on a part of the data; it only shows that everything works. "
    return element("p", text, "Do not compare its numbers with the paper's.", class_="warning")


def facts(results: Results) -> Html:
    """When and how the experiment was run, in short."""
    run = results.run
    versions = run.wirerank or [
        version for version in (results.versions.get("wirerank"),) if version
    ]
    rows: list[tuple[str, str | None]] = [
        ("Finished", when(run.finished)),
        ("Duration", None if run.seconds is None else duration(run.seconds)),
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
    """A date and time in readable form; any other text is returned unchanged."""
    if moment is None:
        return None
    try:
        return f"{datetime.fromisoformat(moment).astimezone(UTC):%-d %B %Y, %H:%M UTC}"
    except (ValueError, OverflowError):
        return moment


def duration(seconds: float) -> str:
    """A duration in readable form.

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
    """The remarks on how the experiment differs from the paper."""
    if not results.remarks:
        return None
    items = (element("li", remark) for remark in results.remarks)
    return joined(
        element("h3", "Differences from the paper"), element("ul", *items, class_="remarks")
    )


def pictures(folder: ExperimentFolder, anchor: str) -> Html | None:
    """The figures; each of them contains its title."""
    if not folder.pictures:
        return None
    shown = (figure(one, f"{anchor}-figure-{n}") for n, one in enumerate(folder.pictures, 1))
    return joined(element("h3", "Figures"), *shown)


def figure(picture: Picture, anchor: str) -> Html:
    """A figure as an image; an SVG that is shown as an image runs no script and loads nothing."""
    drawing, file = picture.drawing, picture.file
    # Without a number, which could be taken for the number of a figure of the paper.
    caption = element("figcaption", element("code", drawing.name))
    if file.problem:
        missing = element("p", f"Not in this page: {file.problem}.", class_="warning")
        return element("figure", missing, caption, id=anchor)
    title = drawing.title or drawing.name
    image = element("img", src=data_address(file), alt=f"{title}. {drawing.text}".strip())
    scroll = element("div", image, class_="scroll", tabindex=0, role="region", aria_label=title)
    return element("figure", scroll, caption, id=anchor)


def tables(folder: ExperimentFolder, anchor: str) -> Html | None:
    """The tables, each with a link to download its numbers."""
    results = folder.results
    if results is None or not results.tables:
        return None
    files = {file.name: file for file in folder.numbers}
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
        element("p", "The curves as CSV files: ", *spaced(rest), class_="curves") if rest else None
    )
    return joined(element("h3", "Tables"), *shown, curves)


def spaced(pieces: list[Html]) -> Iterator[str]:
    """The pieces, each followed by a space."""
    for piece in pieces:
        yield piece
        yield " "


def download(file: Attachment | None) -> Html | None:
    """A link that saves a file from the page; for a missing file, the reason."""
    if file is None:
        return None
    if file.problem:
        return element("span", f"not in this page: {file.problem}", class_="left-out")
    return element("a", file.name, href=data_address(file), download=file.name, class_="download")


def data_address(file: Attachment) -> str:
    """A `data:` address that contains the file."""
    kind = TYPES[PurePath(file.name).suffix]
    return f"data:{kind};base64,{base64.b64encode(file.content).decode()}"


def capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
