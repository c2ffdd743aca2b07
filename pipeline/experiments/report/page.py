"""The page as a whole: what it is, a summary, the contents, and a section for each experiment."""

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
from pipeline.experiments.report.sections import duration, in_words, section, sentence, when

COMPARED = {
    BETTER: ("better", BETTER),
    LEVEL: ("level", LEVEL),
    WORSE: ("worse", WORSE),
    UNJUDGED: ("not judged", UNJUDGED),
}
CLAIMED = {word: (words, VERDICT_CLASSES[word]) for word, words in VERDICTS.items()}
AGAINST, CLAIMS, RUN = "Against the paper's numbers", "Its claims", "Run"
STYLE = Path(__file__).with_name("page.css")
TITLE = "The papers' experiments, run again"


def page(found: Sequence[ExperimentFolder]) -> bytes:
    """The page: one file that needs no other, asks for nothing and runs nothing."""
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
    anchors = {id(one): f"experiment-{number}" for number, one in enumerate(found, 1)}
    body = element(
        "body",
        header(found),
        contents(found, anchors),
        element(
            "main",
            summary(found, anchors),
            *(section(one, anchors[id(one)]) for one in found),
        ),
        footer(),
    )
    return joined(Html("<!doctype html>\n"), element("html", head, body, lang="en"), "\n").encode()


def header(found: Sequence[ExperimentFolder]) -> Html:
    """What this is."""
    done = [one.results for one in found if one.results]
    papers = len({results.paper for results in done})
    parts = [
        f"{counted(len(done), 'experiment')} of {counted(papers, 'paper')}, "
        "with the papers' numbers beside ours."
    ]
    waiting = sum(1 for one in found if one.results is None and not one.problem)
    broken = sum(1 for one in found if one.problem)
    parts += [f"{waiting} not finished."] if waiting else []
    parts += [f"{broken} could not be read."] if broken else []
    return element(
        "header",
        element("p", "Wirerank", class_="brand"),
        element("h1", TITLE),
        element("p", " ".join(parts), class_="lead"),
    )


def counted(count: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "paper"), counted(2, "paper")
    ('1 paper', '2 papers')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def contents(found: Sequence[ExperimentFolder], anchors: dict[int, str]) -> Html:
    """A list of links to every section, and in it to the pictures and tables."""
    items = []
    for one in found:
        anchor = anchors[id(one)]
        inner = []
        if one.results is not None:
            inner = [
                (f"{anchor}-figure-{n}", picture.drawing.title or picture.drawing.name)
                for n, picture in enumerate(one.pictures, 1)
            ]
            tables = enumerate(one.results.tables.values(), 1)
            inner += [(f"{anchor}-table-{n}", table.title) for n, table in tables]
        link = element("a", name_of(one), href=f"#{anchor}")
        links = (element("li", element("a", title, href=f"#{to}")) for to, title in inner)
        more = element("ol", *links) if inner else None
        items.append(element("li", link, more))
    label = element("h2", "Contents", id="contents")
    top = element("li", element("a", "Summary", href="#summary"))
    return element("nav", label, element("ol", top, *items), aria_labelledby="contents")


def name_of(found: ExperimentFolder) -> str:
    """How an experiment is called in lists; its folder tells it from others of the same name."""
    name = (
        found.results.experiment
        if found.results
        else found.progress.experiment
        if found.progress
        else ""
    )
    return name if name == found.folder else f"{name} ({found.folder})" if name else found.folder


def summary(found: Sequence[ExperimentFolder], anchors: dict[int, str]) -> Html:
    """A line for each experiment, and how the tables are to be read."""
    label = "summary-title"
    titles = ("Experiment", AGAINST, CLAIMS, RUN)
    # Roles are said, since on a narrow screen the style makes blocks of lines and cells.
    head = (element("th", title, scope="col", role="columnheader") for title in titles)
    rows = (summary_row(one, anchors[id(one)]) for one in found)
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


def summary_row(found: ExperimentFolder, anchor: str) -> Html:
    """An experiment in short."""
    results = found.results
    name = element("a", name_of(found), href=f"#{anchor}")
    if results is None:
        text = f"{found.folder}/{found.problem}." if found.problem else in_words(found)
        warned = element("td", text, colspan=3, class_="warned", role="cell")
        header = element("th", name, scope="row", role="rowheader")
        return element("tr", header, warned, role="row")
    title = element("span", sentence(results.title), class_="what")
    quick = element("span", "quick run", class_="badge") if results.quick else None
    took = "" if results.run.seconds is None else f"took {duration(results.run.seconds)}"
    numbers = counts_html(compared(results), COMPARED, "no numbers of it to compare")
    verdicts = counts_html(claims(results), CLAIMED, "none looked at")
    run = joined(when(results.run.finished) or "n.a.", element("span", took, class_="what"))
    cells = ((AGAINST, numbers), (CLAIMS, verdicts), (RUN, run))
    return element(
        "tr",
        element("th", name, " ", quick, title, scope="row", role="rowheader"),
        *(element("td", cell, role="cell", data_label=label) for label, cell in cells),
        role="row",
    )


def counts_html(counts: Counter[str], kinds: Mapping[str, tuple[str, str]], otherwise: str) -> Html:
    """How many there are of each kind."""
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
    """How the tables are to be read."""
    return element(
        "p",
        "In the tables: ours, with ± the deviation over splits or repetitions; "
        "below it the paper's, and the difference, which is ours less the paper's: ",
        element("span", "blue where ours is better", class_=BETTER), ", ",
        element("span", "orange where it is worse", class_=WORSE),
        ", grey where neither way is better or both are level in the digits shown. ↑ and ↓ "
        "say whether more or less of a measure is better; the ",
        element("b", "best of ours"), " in such a column stands out. Without a number: n.a.",
        class_="legend",
    )  # fmt: skip


def footer() -> Html:
    """Who wrote the page."""
    text = (
        f"Written by Wirerank {version('wirerank')}. It is one file: it asks for no other and runs "
        "no script."
    )
    return element("footer", element("p", text))
