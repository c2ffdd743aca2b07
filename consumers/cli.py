"""The Kafka side of the command line: `wirerank tokenize`, `learn`, `run` and `replay --kafka`."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import pipeline.commands.app
from consumers.assignment import assigned_shard, learner_name, learner_number, tokenizer_name
from consumers.config import (
    Config,
    ConfigError,
    StreamSettings,
    kafka_settings,
    read_config,
)
from consumers.logs import LogFormat, LogLevel, log_settings, set_up_logging
from pipeline.commands import options
from pipeline.commands.app import app, check_page, page_server
from pipeline.commands.app import main as run_command_line
from pipeline.commands.outcome import fail
from pipeline.errors import UsageError
from pipeline.page.feed import PageFeed
from pipeline.replay.playback import Played, PlaySettings
from pipeline.replay.watch import Watch

if TYPE_CHECKING:
    from consumers.learner.live_page import LearnerPage
    from consumers.worker_loop import Worker
    from consumers.worker_metrics import WorkerMetrics

ConfigFile = Annotated[
    Path, typer.Argument(help="The configuration file; deploy/wirerank.toml is an example.")
]
StreamName = Annotated[
    str | None, typer.Option(help="The stream to work on; needed if the configuration has several.")
]
LogLevelOption = Annotated[
    LogLevel,
    typer.Option("--log-level", help="Log messages of this level and above.", case_sensitive=False),
]
LogFormatOption = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        help="Write log lines as text, or as JSON: one object per line.",
        case_sensitive=False,
    ),
]
Supervised = Annotated[bool, typer.Option(hidden=True, help="`run` has logged the settings.")]

log = logging.getLogger(__name__)


def configured(path: Path) -> Config:
    """Read the configuration, or end with a message that says what is wrong with it."""
    try:
        return read_config(path, os.environ)
    except ConfigError as error:
        fail(str(error))


def stream_named(config: Config, name: str | None) -> StreamSettings:
    """The stream with this name; without a name, the only stream."""
    names = [stream.name for stream in config.streams]
    if name is None and len(names) == 1:
        return config.streams[0]
    if name not in names:
        fail(f"--stream must be one of {', '.join(names)}. Got {name!r}.")
    return config.streams[names.index(name)]


@app.command("tokenize")
def tokenize_command(
    path: ConfigFile,
    stream: StreamName = None,
    instance: Annotated[
        str, typer.Option(help="A name that no other tokenizer of the stream on this machine has.")
    ] = "0",
    log_level: LogLevelOption = LogLevel.INFO,
    log_format: LogFormatOption = LogFormat.TEXT,
    supervised: Supervised = False,
) -> None:
    """Run a tokenizer: read documents, write blocks. Start several to share the work."""
    from consumers.tokenizer.worker import TokenizerWorker  # noqa: PLC0415 - slow to import

    config = configured(path)
    settings = stream_named(config, stream)
    set_up_logging(tokenizer_name(settings.name, instance), log_level, log_format)
    if not supervised:
        log_settings(config)
    member = f"{socket.gethostname()}-{instance}"
    served = serve_metrics(config, settings, "tokenizer", instance)
    metrics = served.tokenizer_metrics()
    work(config, settings, lambda: TokenizerWorker(config, settings, member, served, metrics))


@app.command("learn")
def learn_command(
    path: ConfigFile,
    stream: StreamName = None,
    lane: Annotated[
        str | None,
        typer.Option(help="Only the lane of this name; no other worker may run it then."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N", help="One shard of --lane, e.g. 0/3 if the lane has shards = 3."
        ),
    ] = None,
    page: options.Page = False,
    page_port: options.PagePort = 0,
    log_level: LogLevelOption = LogLevel.INFO,
    log_format: LogFormatOption = LogFormat.TEXT,
    supervised: Supervised = False,
) -> None:
    """Run a learner: read blocks, rank, learn and publish, for all lanes of a stream or one."""
    from consumers.learner.worker import LearnerWorker  # noqa: PLC0415 - slow to import

    config = configured(path)
    settings = stream_named(config, stream)
    try:
        assignment = assigned_shard(settings, lane, shard)
    except UsageError as error:
        fail(str(error))
    set_up_logging(learner_name(settings.name, lane, assignment), log_level, log_format)
    if not supervised:
        log_settings(config)
    title = settings.name if lane is None else f"{settings.name}, {lane} alone"
    with live_page(title, page, page_port) as shown:
        number = learner_number(settings, lane, assignment)
        served = serve_metrics(config, settings, "learner", str(number))
        metrics = served.learner_metrics(assignment)
        only = None if assignment else lane
        work(
            config,
            settings,
            lambda: LearnerWorker(config, settings, served, metrics, shown, only, assignment),
        )


@contextmanager
def live_page(title: str, asked: bool, port: int) -> Iterator[LearnerPage]:
    """The page of a learner if it is asked for; it stays up when the worker is restarted."""
    from consumers.learner.live_page import LearnerPage  # noqa: PLC0415 - slow to import

    check_page(asked, port)
    if not asked:
        yield LearnerPage()
        return
    feed = PageFeed(title, counted="records")
    try:
        server = page_server()(feed, port)
    except UsageError as error:
        fail(str(error))
    with server:
        log.info("live page: %s", server.address)
        yield LearnerPage(feed)


def serve_metrics(
    config: Config, stream: StreamSettings, role: Literal["learner", "tokenizer"], instance: str
) -> WorkerMetrics:
    """Serve the metrics of a worker at its port; ends with a message if the port cannot be used."""
    from consumers.worker_metrics import WorkerMetrics  # noqa: PLC0415 - slow to import

    try:
        port = config.metrics.port_of(config.streams.index(stream), role, instance)
        metrics = WorkerMetrics(config.metrics, stream, port)
    except (ConfigError, UsageError) as error:
        fail(str(error))
    log.info("metrics = %s", metrics.url)
    return metrics


def work(config: Config, stream: StreamSettings, new_worker: Callable[[], Worker]) -> None:
    """Run a worker until it is asked to stop, or until it fails in a way that needs a person."""
    from consumers import worker_loop as workers  # noqa: PLC0415 - slow to import
    from consumers.kafka.topics import ensure_topics  # noqa: PLC0415
    from consumers.supervisor import NEEDS_A_PERSON  # noqa: PLC0415

    def prepared() -> Worker:
        ensure_topics(config.kafka, stream)
        return new_worker()

    try:
        workers.keep_working(prepared, workers.stopped_by_signals())
    except workers.FATAL as error:
        log.error("%s", error)
        raise typer.Exit(NEEDS_A_PERSON) from None
    except Exception:
        log.critical("the worker failed in a way that was not foreseen", exc_info=True)
        raise typer.Exit(1) from None


@app.command("run")
def run_workers_command(
    path: ConfigFile,
    tokenizers: Annotated[int, typer.Option(min=1, max=64, help="Tokenizers per stream.")] = 1,
    page: Annotated[
        bool, typer.Option("--page", help="Serve a live page for each stream on this machine.")
    ] = False,
    page_port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            help="The port of the first stream's page; each further stream takes the next port. 0 "
            "takes any free ports.",
        ),
    ] = 0,
    log_level: LogLevelOption = LogLevel.INFO,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Run all workers of a configuration on this machine, each in a process of its own."""
    from consumers.supervisor import children, supervise  # noqa: PLC0415 - slow to import
    from consumers.worker_loop import stopped_by_signals  # noqa: PLC0415

    config = configured(path)
    pages = page_ports(len(config.streams), page, page_port)
    set_up_logging("supervisor", log_level, log_format)
    log_settings(config)
    logging_options = ["--supervised", "--log-level", log_level, "--log-format", log_format]
    workers = children(config, path, tokenizers, pages, logging_options)
    raise typer.Exit(supervise(workers, stopped_by_signals()))


def page_ports(streams: int, asked: bool, first: int) -> list[int]:
    """The port of each stream's page, if pages are asked for.

    Ends with a message if a page cannot be served at its port.
    """
    check_page(asked, first)
    if not asked:
        return []
    ports = [first and first + place for place in range(streams)]
    if max(ports) > 65_535:
        fail(
            f"--page-port {first} leaves no port for each of {streams} streams: the highest port "
            "is 65535. Choose a lower one, or 0."
        )
    try:
        page_server()
        from pipeline.page.server import listening_socket  # noqa: PLC0415 - an extra

        for port in ports:
            listening_socket(port).close()
    except UsageError as error:
        fail(str(error))
    return ports


def play_into_kafka(settings: PlaySettings, watch: Watch) -> Played:
    """Play a source into a Kafka topic, for `wirerank replay --kafka`."""
    from consumers.player.player import play  # noqa: PLC0415 - slow to import

    try:
        kafka = kafka_settings(settings.bootstrap, os.environ)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    return play(settings, kafka, watch)


pipeline.commands.app.kafka_player = play_into_kafka


def main() -> None:
    """Run the command line with all its commands."""
    run_command_line()
