"""`wirerank learn`: one learner worker."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from consumers.assignment import assigned_shard, learner_fields, learner_name, learner_number
from consumers.commands.configuration import configured, stream_named
from consumers.commands.options import (
    ConfigFile,
    LogFormatOption,
    LogLevelOption,
    StreamName,
    Supervised,
)
from consumers.commands.serving import learn_and_serve
from consumers.commands.worker import ServedWorker, work
from consumers.config import read_config
from consumers.logs import LogFormat, LogLevel, log_settings, set_up_logging
from consumers.settings import PageSettings
from consumers.supervisor_link import SupervisorLink
from pipeline.commands import options
from pipeline.commands.failure import fail
from pipeline.commands.live_page import check_page, page_server
from pipeline.errors import UsageError
from pipeline.page.feed import PageFeed

if TYPE_CHECKING:
    from consumers.learner.live_page import LearnerPage

log = logging.getLogger(__name__)


def learn_command(
    path: ConfigFile,
    stream: StreamName = None,
    lane: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Only the lane of this name; no other worker may run it then."
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N", help="One shard of --lane, e.g. 0/3 if the lane has shards = 3."
        ),
    ] = None,
    page: options.Page = False,
    page_port: options.PagePort = 0,
    serve: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            metavar="PORT",
            help="Serve what this learner learns over HTTP, as `wirerank serve` does. 0 takes any "
            "free port.",
        ),
    ] = None,
    log_level: LogLevelOption = LogLevel.INFO,
    log_format: LogFormatOption = LogFormat.TEXT,
    supervised: Supervised = False,
) -> None:
    """Run one learner: read blocks, rank, learn and publish.

    Without --lane the learner runs all lanes of the stream that have no shards.
    """
    supervisor = SupervisorLink() if supervised else None
    from consumers.learner.auto_trim import AutoTrim, trims  # noqa: PLC0415 - slow to import
    from consumers.learner.lane_owner import LaneOwner  # noqa: PLC0415
    from consumers.learner.worker import LearnerWorker  # noqa: PLC0415

    config = configured(path)
    settings = stream_named(config, stream)
    try:
        assignment = assigned_shard(settings, lane, shard)
    except UsageError as error:
        fail(str(error))
    name = learner_name(settings.name, lane, assignment)
    fields = learner_fields(settings.name, lane, assignment)
    set_up_logging(name, log_level, log_format, fields)
    if not supervised:
        log_settings(config)
    if serve is not None:
        if assignment:
            fail(
                "--serve needs whole lanes: one shard cannot rank alone. Serve the snapshots of "
                "all shards with: wirerank serve FOLDER"
            )
        worker = [str(path), "--stream", settings.name]
        worker += ["--log-level", log_level, "--log-format", log_format]
        worker += ["--lane", lane] if lane else []
        worker += ["--page", "--page-port", str(page_port)] if page else []
        learn_and_serve(config, settings, lane, serve, worker)
    title = settings.name if lane is None else f"{settings.name}, {lane} alone"
    with live_page(title, page, page_port, config.page) as shown:
        number = learner_number(settings, lane, assignment)
        served = ServedWorker(config, settings, "learner", str(number), name)
        metrics = served.metrics.learner_metrics(assignment)
        only = None if assignment else lane
        owner = LaneOwner()
        auto_trim = None
        if trims(settings, only, assignment):
            read = partial(read_config, path, os.environ)
            auto_trim = AutoTrim(read, settings, served.metrics.log_metrics())
        work(
            config,
            settings,
            served,
            supervisor,
            lambda: LearnerWorker(
                config,
                settings,
                served.metrics,
                metrics,
                shown,
                owner,
                only,
                assignment,
                auto_trim,
            ),
            has_page=page,
        )


@contextmanager
def live_page(
    title: str, asked: bool, port: int, settings: PageSettings | None = None
) -> Iterator[LearnerPage]:
    """The page of a learner if it is asked for; it stays up when the worker is restarted."""
    from consumers.learner.live_page import LearnerPage  # noqa: PLC0415 - slow to import

    check_page(asked, port)
    if not asked:
        yield LearnerPage()
        return
    feed = PageFeed(title, counted="records")
    try:
        where = settings or PageSettings()
        server = page_server()(feed, port, where.host, where.access())
    except (UsageError, ValueError) as error:
        fail(str(error))
    with server:
        log.info("live page: %s", server.address)
        yield LearnerPage(feed)
