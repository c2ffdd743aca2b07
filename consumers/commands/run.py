"""`wirerank run`: all workers of a configuration."""

from __future__ import annotations

import logging
from itertools import repeat
from typing import Annotated

import typer

from consumers.commands.configuration import configured
from consumers.commands.options import ConfigFile, LogFormatOption, LogLevelOption
from consumers.commands.serving import LOOPBACK, check_ports
from consumers.logs import LogFormat, LogLevel, log_settings, set_up_logging
from pipeline.commands.failure import fail
from pipeline.commands.live_page import check_page
from pipeline.metrics.scrape_target import remove_abandoned

log = logging.getLogger(__name__)


def run_workers_command(
    path: ConfigFile,
    tokenizers: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Tokenizers per stream.")
    ] = 1,
    page: Annotated[
        bool, typer.Option("--page", help="Serve a live page for each stream.")
    ] = False,
    page_port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            metavar="PORT",
            help="The port of the first stream's page; each further stream takes the next port. 0 "
            "takes any free ports.",
        ),
    ] = 0,
    serve: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            metavar="PORT",
            help="Serve what each stream learns over HTTP, as `wirerank serve` does: the first "
            "stream at this port, each further one at the next. 0 takes any free ports.",
        ),
    ] = None,
    hung_after: Annotated[
        float,
        typer.Option(
            min=5.0,
            metavar="SECONDS",
            help="Restart a worker that gives no sign of life for this long.",
        ),
    ] = 120.0,
    log_level: LogLevelOption = LogLevel.INFO,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Run all workers of a configuration on this machine.

    Each worker is a process of its own, which is started again if it dies or hangs.
    """
    from consumers.run_lock import AlreadyRunningError, RunLock  # noqa: PLC0415 - slow to import
    from consumers.supervisor import (  # noqa: PLC0415
        NEEDS_AN_OPERATOR,
        children,
        serving_child,
        supervise,
    )
    from consumers.worker_loop import stopped_by_signals  # noqa: PLC0415

    config = configured(path)
    if config.metrics.same_port and config.metrics.port:
        fail(
            "metrics.same_port = true is for workers that have an address each, but `run` starts "
            "several workers at one address: leave it out, or set metrics.port = 0."
        )
    pages = page_ports(len(config.streams), page, page_port, config.page.host)
    set_up_logging("supervisor", log_level, log_format, {"role": "supervisor"})
    log_settings(config)
    logging_options = ["--supervised", "--log-level", log_level, "--log-format", log_format]
    workers = children(config, path, tokenizers, pages, logging_options)
    if serve is not None:
        ports = ports_from(serve, len(config.streams), "--serve")
        check_ports(ports)
        workers += map(serving_child, repeat(config), config.streams, ports)
    lock = RunLock(config)
    stop = stopped_by_signals()
    try:
        lock.acquire()
    except AlreadyRunningError as error:
        log.error("%s", error)
        raise typer.Exit(NEEDS_AN_OPERATOR) from None
    if config.metrics.targets_folder is not None:
        remove_abandoned(config.metrics.targets_folder, [s.name for s in config.streams])
    code = supervise(workers, stop, hung_after, lock.descriptors)
    lock.release()
    raise typer.Exit(code)


def page_ports(streams: int, asked: bool, first: int, host: str = LOOPBACK) -> list[int]:
    """The port of each stream's page, if pages are asked for.

    Ends with a message if a page cannot be served at its port.
    """
    check_page(asked, first)
    if not asked:
        return []
    ports = ports_from(first, streams, "--page-port")
    check_ports(ports, host)
    return ports


def ports_from(first: int, streams: int, option: str) -> list[int]:
    """A port for each stream; ends with a message if there are too few."""
    ports = [first and first + place for place in range(streams)]
    if max(ports) > 65_535:
        fail(
            f"{option} {first} leaves no port for each of {streams} streams: the highest port "
            "is 65535. Choose a lower one, or 0."
        )
    return ports
