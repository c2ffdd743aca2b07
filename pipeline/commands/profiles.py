"""`wirerank profiles`: how text can become terms and weights, and what it is worth."""

from __future__ import annotations

from typing import Annotated

import typer

from learners.options import OptionError
from pipeline.commands import options
from pipeline.commands.completion import complete_lane, complete_profile, complete_source
from pipeline.commands.failure import fail
from pipeline.commands.field_options import read_fields
from pipeline.commands.options import DEFAULTS
from pipeline.corpora import SourceError
from pipeline.errors import UsageError
from pipeline.events.fields import FieldMapping
from pipeline.printable import printable
from pipeline.text.profile import DEFAULT_PROFILE, INGREDIENTS, PROFILES, canonical_profile

HEADER = ("profile", "AvgP", "OneErr %", "loss1 %", "terms", "tokenizing us", "total us")


def profiles_command(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Replay these sources with each profile, and compare the rankings.",
            autocompletion=complete_source,
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROFILE",
            help="A profile to compare; repeat for several. Default: news, the other profiles, and "
            "news with one ingredient changed at a time. A single one is changed like this too.",
            autocompletion=complete_profile,
        ),
    ] = None,
    lane: Annotated[
        str,
        typer.Option(
            metavar="SPEC", help="The lane that ranks and learns.", autocompletion=complete_lane
        ),
    ] = "soft-arow",
    limit: options.Limit = 0,
    format_: options.Format = DEFAULTS.format,
    fields: options.Fields = None,
) -> None:
    """List profiles of text, or compare them on your own sources.

    `news:stem=german,letters=3-5` is the profile `news` with two other ingredients. The comparison
    is a table in Markdown. Times are of the processor, per document.
    """
    if not sources:
        list_profiles()
        return
    try:
        mapping = read_fields(fields)
        for source in sources:
            compare(source, profile or ["news"], lane, limit, format_, mapping)
    except (UsageError, OptionError, SourceError) as error:
        fail(printable(str(error)))


def compare(
    source: str,
    profiles: list[str],
    lane: str,
    limit: int,
    format_: str,
    fields: FieldMapping | None = None,
) -> None:
    """Print the table of a source, row by row."""
    # Slow to import, and not needed for the list.
    from pipeline.replay.profile_comparison import (  # noqa: PLC0415
        check_lane,
        compare_profiles,
        read_documents,
        with_alternatives,
    )

    chosen = [canonical_profile(one) for one in profiles]
    if len(chosen) == 1:
        chosen = with_alternatives(chosen[0])
    check_lane(lane)
    documents = read_documents(source, limit, format_, fields)
    typer.echo(f"{printable(source)}: {len(documents.events):,} events, lane {printable(lane)}\n")
    width = max(map(len, chosen)) + 2
    typer.echo(f"| {HEADER[0].ljust(width)} | {' | '.join(HEADER[1:])} |")
    typer.echo(f"|{'-' * (width + 2)}|{'---:|' * (len(HEADER) - 1)}")
    for result in compare_profiles(documents, dict.fromkeys(chosen), lane):
        cells = (
            shown(result.average_precision, 4).rjust(len(HEADER[1])),
            shown(result.one_error, 2, 100).rjust(len(HEADER[2])),
            shown(result.loss1, 2, 100).rjust(len(HEADER[3])),
            f"{result.terms:,}".rjust(len(HEADER[4])),
            f"{result.tokenizing_us:.0f}".rjust(len(HEADER[5])),
            f"{result.total_us:.0f}".rjust(len(HEADER[6])),
        )
        typer.echo(f"| {f'`{result.profile}`'.ljust(width)} | {' | '.join(cells)} |")
    typer.echo("")


def shown(value: float | None, digits: int, scale: float = 1) -> str:
    """Return a measure as text."""
    return "n.a." if value is None else f"{scale * value:.{digits}f}"


def list_profiles() -> None:
    """Print the profiles and the ingredients that can be written behind a name."""
    for name, ingredients in PROFILES.items():
        listed = ",".join(f"{key}={value}" for key, value in ingredients.items())
        note = " (the default)" if name == DEFAULT_PROFILE else ""
        typer.echo(f"{name}{note}: {listed or 'every ingredient as below'}")
    typer.echo("\ningredients, each with its value in profiles that do not name it:")
    rows = [
        (f"  {option.name}={option.default}", option.help, f"({option.rule})")
        for option in INGREDIENTS
    ]
    width = max(len(first) for first, *_ in rows)
    for first, meaning, rule in rows:
        typer.echo(f"{first.ljust(width)}  {meaning} {rule}")
