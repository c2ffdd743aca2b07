"""`wirerank serve`: rank documents over HTTP with a model."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from learners.options import MOST
from pipeline.access import MAX_TOKEN_CHARACTERS, checked_token
from pipeline.commands import options
from pipeline.commands.completion import complete_profile
from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.printable import printable
from pipeline.storage.container import DamagedError

TOKEN_VARIABLE = "WIRERANK_SERVE_TOKEN"  # noqa: S105 - the name of a variable


def serve_command(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A model that `wirerank replay --save` has written, a snapshot, or the folder in "
            "which the workers of a stream keep their snapshots. A newer one is taken up.",
        ),
    ],
    lane: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Load this lane only; repeat for several. Default: all."),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="The address to listen on; others than loopback need a token."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 takes a free one.")
    ] = 8080,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Answer only clients that send the token in this file. The variable "
            f"{TOKEN_VARIABLE} does the same.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use TLS with the certificate in this file (PEM)."),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The key of --tls-cert, if it is not there.")
    ] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Answer only clients with a certificate of this authority (PEM)."
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            min=0, max=MOST, metavar="N", help="Topics per ranking, unless a request says it."
        ),
    ] = 10,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE",
            help="How text becomes terms. Default: as for the model.",
            autocompletion=complete_profile,
        ),
    ] = None,
    refresh: Annotated[
        float,
        typer.Option(
            min=0.1, max=86400, metavar="SECONDS", help="Look for a newer model this often."
        ),
    ] = 5.0,
    processes: Annotated[
        int,
        typer.Option(
            min=0, max=512, metavar="N", help="Answer in N processes; 0 takes one per core."
        ),
    ] = 0,
    max_body_bytes: Annotated[
        int, typer.Option(min=1, max=1 << 30, metavar="N", help="Refuse larger requests.")
    ] = 4 << 20,
    max_documents: Annotated[
        int,
        typer.Option(min=1, max=1_000_000, metavar="N", help="Refuse longer lists of documents."),
    ] = 1000,
    max_waiting: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="N",
            help="Let at most N requests wait per process; others get 429.",
        ),
    ] = 1000,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=3600,
            metavar="SECONDS",
            help="Refuse a request whose body takes longer, or that waits longer.",
        ),
    ] = 10.0,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for MODEL if it is not there yet.")
    ] = False,
    supervised: Annotated[
        bool, typer.Option(hidden=True, help="`run` has started this process.")
    ] = False,
    targets_folder: Annotated[
        Path | None, typer.Option(hidden=True, help="Where Prometheus finds servers of a stream.")
    ] = None,
    stream: Annotated[str, typer.Option(hidden=True, help="The stream of this server.")] = "",
    worker: Annotated[str, typer.Option(hidden=True, help="The name of this server.")] = "",
    quiet: options.Quiet = False,
) -> None:
    """Rank documents over HTTP with a model.

    Nothing is learned. The contract is at /openapi.json, and a page to try the model at /.
    """

    def say(line: str) -> None:
        if not quiet:
            typer.echo(printable(line), err=True)

    missing = [name for name in ("starlette", "uvicorn") if not find_spec(name)]
    if missing:
        fail(f"serve needs {', '.join(missing)}. Install it with: pip install 'wirerank[page]'")
    from learners.cores import usable_cores  # noqa: PLC0415 - slow to import
    from pipeline.serving.server import ServeSettings, TargetSettings, serve  # noqa: PLC0415

    target = None if targets_folder is None else TargetSettings(targets_folder, stream, worker)
    try:
        settings = ServeSettings(
            model=model, lanes=tuple(lane or ()), host=host, port=port,
            token=read_token(token_file), tls_certfile=tls_cert, tls_keyfile=tls_key,
            client_cafile=client_ca, top=top, profile=profile, refresh_seconds=refresh,
            processes=processes or usable_cores(), max_body_bytes=max_body_bytes,
            max_documents=max_documents, max_waiting=max_waiting, timeout_seconds=timeout,
            wait=wait, target=target,
        )  # fmt: skip
        serve(settings, say)
    except UsageError as error:
        fail(str(error))
    except DamagedError as error:
        fail(f"{error}.", 1)


def read_token(path: Path | None) -> bytes | None:
    """Return the token in a file or in the environment; no message shows it."""
    if path is not None:
        origin = str(path)
        try:
            with path.open("rb") as file:
                token = file.read(MAX_TOKEN_CHARACTERS + 2)
        except OSError as error:
            raise UsageError(f"The token in {path} cannot be read: {error.strerror}.") from None
    elif TOKEN_VARIABLE in os.environ:
        origin = TOKEN_VARIABLE
        token = os.fsencode(os.environ[TOKEN_VARIABLE])
    else:
        return None
    return checked_token(token, origin)
