"""A table as HTML: our numbers, below them the paper's numbers and the differences."""

from __future__ import annotations

from pipeline.experiments.claim_outcomes import FAILED, HELD, OPEN, TIED
from pipeline.experiments.report.markup import Html, element, joined
from pipeline.experiments.report.paper_comparison import (
    BETTER,
    VERDICTS,
    WORSE,
    best,
    difference,
    judged,
    value,
    verdict_of,
)
from pipeline.experiments.report.results_schema import Column, Number, Row, Table

ARROWS = {1: ("↑", "higher is better"), -1: ("↓", "lower is better")}
VERDICT_CLASSES = {HELD: "held", TIED: "open", FAILED: "failed", OPEN: "open"}


def table_html(table: Table, label: str) -> Html:
    """The table, in a region that scrolls if it is too wide, and its notes below."""
    columns = table.shown_columns
    head = element("tr", element("td"), *(heading(column) for column in columns))
    bests = {column.key: best(table, column) for column in columns}
    room = {column.key: deviation_room(table, column) for column in columns}
    groups = (element("tbody", *row_html(row, columns, bests, room)) for row in table.rows)
    whole = element("table", element("thead", head), *groups, aria_labelledby=label)
    region = element(
        "div", whole, class_="scroll", tabindex=0, role="region", aria_labelledby=label
    )
    return joined(region, notes_html(table))


def heading(column: Column) -> Html:
    """The title of a column, with an arrow for the better direction."""
    arrow = ARROWS.get(column.better)
    if arrow is None:
        return element("th", column.title, scope="col")
    sign = element("span", arrow[0], class_="way", aria_hidden="true")
    words = element("span", f" ({arrow[1]})", class_="unseen")
    return element("th", column.title, " ", sign, words, scope="col", title=arrow[1])


def row_html(
    row: Row, columns: list[Column], bests: dict[str, float | None], room: dict[str, int]
) -> list[Html]:
    """The line with our numbers; if the paper has numbers, a line with them and the differences."""
    ours = []
    for column in columns:
        number = row.ours.get(column.key)
        rounded = value(number, column)
        is_best = row.contends and rounded is not None and rounded == bests[column.key]
        ours.append(number_html(number, column, room[column.key], "b" if is_best else "span"))
    lines = [element("tr", element("th", row.label, scope="row"), *ours, class_="ours")]
    if any(number is not None for number in row.paper.values()):
        papers = [number_html(row.paper.get(c.key), c, room[c.key]) for c in columns]
        differences = [difference_html(row, column, room[column.key]) for column in columns]
        for name, cells in (("paper", papers), ("difference", differences)):
            lines.append(element("tr", element("th", name, scope="row"), *cells, class_=name))
    return lines


def shown(number: float, column: Column, sign: str = "") -> str:
    """A number with the digits of its column, and a minus sign as wide as a plus."""
    return f"{number:{sign},.{column.digits}f}".replace("-", "\N{MINUS SIGN}")


def number_html(number: Number | None, column: Column, room: int, tag: str = "span") -> Html:
    """A number with its deviation, padded to `room` characters so that numbers are aligned."""
    known = value(number, column)
    if known is None:
        return element("td", element("span", "n.a.", class_="none"))
    deviation = deviation_html(deviation_text(number, column), room)
    if known == 0 and number is not None and (number.value or column.starred_below or 0) > 0:
        text = f"<{shown(10**-column.digits, column)}"  # a p value is never 0
    else:
        text = shown(known, column)
    return element("td", element(tag, text), deviation, stars_html(number, column))


def stars_html(number: Number | None, column: Column) -> Html | None:
    """Two stars for a significant p value, as in the paper, or a blank of the same width."""
    level, known = column.starred_below, number.known if number is not None else None
    if level is None or known is None:
        return None
    if known < level:
        return joined(" ", element("span", "**", class_="stars", title=f"below {level:g}"))
    return joined(" ", element("i", "**", class_="stars", aria_hidden="true"))


def deviation_text(number: Number | None, column: Column) -> str:
    """The deviation of a number, if its column shows deviations."""
    if number is None or number.deviation is None or not column.with_deviation:
        return ""
    return f"±{shown(number.deviation, column)}"


def deviation_room(table: Table, column: Column) -> int:
    """The length of the longest deviation in a column."""
    numbers = (side.get(column.key) for row in table.rows for side in (row.ours, row.paper))
    return max((len(deviation_text(number, column)) for number in numbers), default=0)


def deviation_html(text: str, room: int) -> Html | None:
    """A deviation, padded with invisible characters to `room` characters."""
    if not room:
        return None
    missing = "0" * (room - len(text))
    filler = element("i", missing, aria_hidden="true") if missing else None
    return joined(" ", element("span", text, filler, class_="deviation"))


def difference_html(row: Row, column: Column, room: int) -> Html:
    """Our number minus the paper's, with a sign and a colour."""
    gap = difference(row, column)
    if gap is None:
        return element("td")
    meaning = judged(gap, column)
    text = shown(gap + 0.0, column, "+" if gap else "")
    words = (
        element("span", f" {meaning} than the paper", class_="unseen")
        if meaning in (BETTER, WORSE)
        else None
    )
    return element("td", element("span", text, words, class_=meaning), deviation_html("", room))


def notes_html(table: Table) -> Html | None:
    """The notes below a table; claims are shown with their outcomes."""
    if not table.notes:
        return None
    return element("ul", *(note_html(note) for note in table.notes), class_="notes")


def note_html(note: str) -> Html:
    """A note, or a claim with its outcome."""
    verdict = verdict_of(note)
    if verdict is None:
        return element("li", note)
    word, rest = verdict
    badge = element("span", VERDICTS[word], class_=f"verdict {VERDICT_CLASSES[word]}")
    return element("li", badge, " ", rest, class_="claim")
