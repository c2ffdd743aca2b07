"""The whole page: a header, the contents, a summary, and a section per experiment."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from pipeline.experiments.report.experiment_folders import ExperimentFolder
from pipeline.experiments.report.html_tables import VERDICT_CLASSES
from pipeline.experiments.report.markup import Html, element, joined
from pipeline.experiments.report.paper_comparison import (
    BETTER,
    LEVEL,
    UNJUDGED,
    VERDICTS,
    WORSE,
    claims,
    compared,
)
from pipeline.experiments.report.sections import (
    capitalised,
    duration,
    progress_text,
    section,
    when,
)

COMPARED = {
    BETTER: ("better", BETTER),
    LEVEL: ("level", LEVEL),
    WORSE: ("worse", WORSE),
    UNJUDGED: ("not judged", UNJUDGED),
}
CLAIMED = {word: (words, VERDICT_CLASSES[word]) for word, words in VERDICTS.items()}
AGAINST, CLAIMS, RUN = "Compared with the paper's numbers", "The paper's claims", "Run"
STYLE = Path(__file__).with_name("page.css")
TITLE = "The papers' experiments, repeated"


def page(folders: Sequence[ExperimentFolder]) -> bytes:
    """The page: one file without scripts that loads nothing else."""
    style = STYLE.read_text()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{TITLE}, by Wirerank"),
        element("style", Html(style)),
    )
    anchors = {id(folder): f"experiment-{number}" for number, folder in enumerate(folders, 1)}
    body = element(
        "body",
        header(folders),
        contents(folders, anchors),
        element(
            "main",
            summary(folders, anchors),
            *(section(folder, anchors[id(folder)]) for folder in folders),
        ),
        footer(),
    )
    return joined(Html("<!doctype html>\n"), element("html", head, body, lang="en"), "\n").encode()


def header(folders: Sequence[ExperimentFolder]) -> Html:
    """The title, and how many experiments the page shows."""
    done = [folder.results for folder in folders if folder.results]
    papers = len({results.paper for results in done})
    parts = [
        f"{counted(len(done), 'experiment')} from {counted(papers, 'paper')}: "
        "our numbers beside the papers'."
    ]
    waiting = sum(1 for folder in folders if folder.results is None and not folder.problem)
    broken = sum(1 for folder in folders if folder.problem)
    parts += [f"{waiting} not finished."] if waiting else []
    parts += [f"{broken} could not be read."] if broken else []
    return element(
        "header",
        element("p", "Wirerank", class_="brand"),
        element("h1", TITLE),
        element("p", " ".join(parts), class_="lead"),
    )


def counted(count: int, what: str) -> str:
    """A number with its noun, in the plural where needed.

    >>> counted(1, "paper"), counted(2, "paper")
    ('1 paper', '2 papers')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def contents(folders: Sequence[ExperimentFolder], anchors: dict[int, str]) -> Html:
    """Links to all sections, and to the figures and tables in them."""
    items = []
    for folder in folders:
        anchor = anchors[id(folder)]
        inner = []
        if folder.results is not None:
            inner = [
                (f"{anchor}-figure-{n}", picture.drawing.title or picture.drawing.name)
                for n, picture in enumerate(folder.pictures, 1)
            ]
            tables = enumerate(folder.results.tables.values(), 1)
            inner += [(f"{anchor}-table-{n}", table.title) for n, table in tables]
        link = element("a", name_of(folder), href=f"#{anchor}")
        links = (element("li", element("a", title, href=f"#{to}")) for to, title in inner)
        more = element("ol", *links) if inner else None
        items.append(element("li", link, more))
    label = element("h2", "Contents", id="contents")
    top = element("li", element("a", "Summary", href="#summary"))
    return element("nav", label, element("ol", top, *items), aria_labelledby="contents")


def name_of(folder: ExperimentFolder) -> str:
    """The name of an experiment in lists, with its folder where the two differ."""
    source = folder.results or folder.progress
    if source is None:
        return folder.name
    name = source.experiment
    return name if name == folder.name else f"{name} ({folder.name})"


def summary(folders: Sequence[ExperimentFolder], anchors: dict[int, str]) -> Html:
    """A row per experiment, and an explanation of the tables."""
    label = "summary-title"
    titles = ("Experiment", AGAINST, CLAIMS, RUN)
    # Explicit roles, because the style turns rows and cells into blocks on a narrow screen.
    head = (element("th", title, scope="col", role="columnheader") for title in titles)
    rows = (summary_row(folder, anchors[id(folder)]) for folder in folders)
    table = element(
        "table",
        element("thead", element("tr", *head, role="row"), role="rowgroup"),
        element("tbody", *rows, role="rowgroup"),
        role="table",
        class_="summary",
        aria_labelledby=label,
    )
    title = element("h2", "Summary", id=label)
    return element("section", title, table, legend(), id="summary", aria_labelledby=label)


def summary_row(folder: ExperimentFolder, anchor: str) -> Html:
    """An experiment in one row."""
    results = folder.results
    name = element("a", name_of(folder), href=f"#{anchor}")
    if results is None:
        text = f"{folder.name}/{folder.problem}." if folder.problem else progress_text(folder)
        warned = element("td", text, colspan=3, class_="warned", role="cell")
        header = element("th", name, scope="row", role="rowheader")
        return element("tr", header, warned, role="row")
    title = element("span", capitalised(results.title), class_="what")
    quick = element("span", "quick run", class_="badge") if results.quick else None
    took = "" if results.run.seconds is None else f"took {duration(results.run.seconds)}"
    numbers = counts_html(compared(results), COMPARED, "the paper has no numbers to compare with")
    verdicts = counts_html(claims(results), CLAIMED, "none checked")
    run = joined(when(results.run.finished) or "n.a.", element("span", took, class_="what"))
    cells = ((AGAINST, numbers), (CLAIMS, verdicts), (RUN, run))
    return element(
        "tr",
        element("th", name, " ", quick, title, scope="row", role="rowheader"),
        *(element("td", cell, role="cell", data_label=label) for label, cell in cells),
        role="row",
    )


def counts_html(counts: Counter[str], kinds: Mapping[str, tuple[str, str]], otherwise: str) -> Html:
    """A list of how many there are of each kind."""
    shown = [
        element("li", element("b", f"{counts[kind]:,}"), f" {words}", class_=mark)
        for kind, (words, mark) in kinds.items()
        if counts[kind]
    ]
    return (
        element("ul", *shown, class_="counts")
        if shown
        else element("span", otherwise, class_="none")
    )


def legend() -> Html:
    """An explanation of the tables."""
    return element(
        "p",
        "How to read the tables: each row shows our number, with ± its standard deviation over "
        "splits or repetitions. Below it are the paper's number and the difference, our number "
        "minus the paper's: ",
        element("span", "blue where ours is better", class_=BETTER), ", ",
        element("span", "orange where ours is worse", class_=WORSE),
        ", grey where neither direction is better or the two are equal in the digits shown. "
        "↑ means higher is better, ↓ means lower is better; the ",
        element("b", "best of our numbers"),
        " in such a column is bold. n.a. means that there is no number.",
        class_="legend",
    )  # fmt: skip


def footer() -> Html:
    """The version of Wirerank that wrote the page."""
    text = (
        f"Written by Wirerank {version('wirerank')}. The page is a single file: it loads nothing "
        "else and runs no script."
    )
    return element("footer", element("p", text))
