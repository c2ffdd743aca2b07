"""`--serve` of workers: a server beside them, which reads the snapshots that they write."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from pipeline.commands.failure import fail
from pipeline.commands.live_page import page_server
from pipeline.errors import UsageError

LOOPBACK = "127.0.0.1"


def learn_and_serve(
    config: Config, stream: StreamSettings, lane: str | None, port: int, worker: Sequence[str]
) -> None:
    """Run a learner with the given arguments and a server for what it learns, until the stop.

    Both are processes of their own, so that the learner never waits for requests.
    """
    from consumers.supervisor import Child, serving_child, supervise  # noqa: PLC0415 - slow
    from consumers.worker_loop import stopped_by_signals  # noqa: PLC0415

    check_ports([port])
    learner = Child(f"learner of stream {stream.name}", ["learn", *worker, "--supervised"])
    learner.is_finite = bool(stream.stop)
    server = serving_child(config, stream, port, lane)
    raise typer.Exit(supervise([learner, server], stopped_by_signals()))


def check_ports(ports: Sequence[int], host: str = LOOPBACK) -> None:
    """End with a message if nothing can be served at one of these ports."""
    try:
        page_server()
        from pipeline.page.server import listening_socket  # noqa: PLC0415 - an extra

        for port in ports:
            listening_socket(port, host).close()
    except UsageError as error:
        fail(str(error))
