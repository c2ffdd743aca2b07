"""`wirerank corpora`: the known corpora, and how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands.completion import complete_fetchable
from pipeline.commands.failure import fail
from pipeline.commands.plain_command import PlainCommand
from pipeline.commands.terminal import TerminalProgress
from pipeline.corpora import SourceError, catalogue

corpora_app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="List the known corpora, or fetch one."
)


@corpora_app.callback(invoke_without_command=True)
def corpora_command(context: typer.Context) -> None:
    """List the known corpora, or fetch one.

    The list shows for each corpus how to name it as a SOURCE, what it needs, and its terms of use.
    """
    if context.invoked_subcommand is not None:
        return
    for corpus in catalogue.CORPORA:
        typer.echo(corpus.source)
        rows = [("  what", corpus.title), ("  needs", corpus.needs), ("  terms", corpus.terms)]
        rows += [("  options", corpus.options)] if corpus.options else []
        rows += [("  ceilings", corpus.ceilings)] if corpus.ceilings else []
        rows += [("  home", corpus.homepage)] if corpus.homepage else []
        rows += [("  fetch", f"wirerank corpora fetch {corpus.name}")] if corpus.archive else []
        for row in rows:
            typer.echo(f"{row[0]:<11}{row[1]}")


@corpora_app.command("fetch", cls=PlainCommand)
def fetch_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The corpus to fetch; the list shows which can be fetched.",
            autocompletion=complete_fetchable,
        ),
    ],
    into: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to store it in.")] = Path(
        "corpora"
    ),
) -> None:
    """Fetch a corpus from its home page and verify its checksum."""
    progress = TerminalProgress()
    try:
        corpus = catalogue.find(name)
        progress.say(f"terms of use: {corpus.terms}")
        into.mkdir(parents=True, exist_ok=True)
        progress.begin(corpus.size)
        path = catalogue.fetch(corpus, into, lambda received, _: progress.advance(received))
    except (SourceError, OSError) as error:
        progress.end()
        fail(str(error), 1)
    progress.end()
    typer.echo(f"{name}:{path}")
