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
from consumers.assignment import instance_of, share_of
from consumers.config import (
    Config,
    ConfigError,
    StreamSettings,
    kafka_settings,
    read_config,
)
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
    from consumers.worker_metrics import Observed

ConfigFile = Annotated[Path, typer.Argument(help="The configuration; deploy/wirerank.toml is one.")]
StreamName = Annotated[
    str | None, typer.Option(help="The stream to work on, if the configuration has several.")
]


def configured(path: Path) -> Config:
    """Read the configuration, or end with what is wrong with it; say the settings in force."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what matters is said by us
    try:
        config = read_config(path, os.environ)
    except ConfigError as error:
        fail(str(error))
    logging.getLogger(__name__).info("settings: %s", config)
    return config


def stream_of(config: Config, name: str | None) -> StreamSettings:
    """The stream that is meant."""
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
        str, typer.Option(help="Which of several tokenizers this is: any name, but its own.")
    ] = "0",
) -> None:
    """Work as a tokenizer: documents in, blocks out. Start as many as there is work for."""
    from consumers.tokenizer.worker import TokenizerWorker  # noqa: PLC0415 - slow to import

    config = configured(path)
    mine = stream_of(config, stream)
    member = f"{socket.gethostname()}-{instance}"
    observed = observe(config, mine, "tokenizer", instance)
    metrics = observed.tokenizer()
    work(config, mine, lambda: TokenizerWorker(config, mine, member, observed, metrics))


@app.command("learn")
def learn_command(
    path: ConfigFile,
    stream: StreamName = None,
    lane: Annotated[
        str | None,
        typer.Option(help="Only this lane, by its name; no other worker may have it then."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N", help="One shard of --lane, e.g. 0/3: of a lane that has shards = 3."
        ),
    ] = None,
    page: options.Page = False,
    page_port: options.PagePort = 0,
) -> None:
    """Work as a learner: blocks in, rankings out, with all lanes of a stream or one of them."""
    from consumers.learner.worker import LearnerWorker  # noqa: PLC0415 - slow to import

    config = configured(path)
    mine = stream_of(config, stream)
    share = share_of(mine, lane, shard)
    title = mine.name if lane is None else f"{mine.name}, {lane} alone"
    with live_page(title, page, page_port) as shown:
        observed = observe(config, mine, "learner", str(instance_of(mine, lane, share)))
        metrics = observed.learner(share)
        only = None if share else lane
        work(
            config,
            mine,
            lambda: LearnerWorker(config, mine, observed, metrics, shown, only, share),
        )


@contextmanager
def live_page(title: str, asked: bool, port: int) -> Iterator[LearnerPage]:
    """The page of a learner if it is asked for; it stays while workers come and go."""
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
        logging.getLogger(__name__).info("live page: %s", server.address)
        yield LearnerPage(feed)


def observe(
    config: Config, stream: StreamSettings, role: Literal["learner", "tokenizer"], instance: str
) -> Observed:
    """Serve the metrics of a worker at its port, or end with why that cannot be."""
    from consumers.worker_metrics import Observed  # noqa: PLC0415 - slow to import

    try:
        port = config.metrics.port_of(config.streams.index(stream), role, instance)
        observed = Observed(config.metrics, stream, port)
    except (ConfigError, UsageError) as error:
        fail(str(error))
    logging.getLogger(__name__).info("metrics = %s", observed.url)
    return observed


def work(config: Config, stream: StreamSettings, new_worker: Callable[[], Worker]) -> None:
    """Run a worker until it is asked to stop, or needs somebody to look."""
    from consumers import worker_loop as workers  # noqa: PLC0415 - slow to import
    from consumers.kafka.topics import ensure_topics  # noqa: PLC0415
    from consumers.supervisor import NEEDS_A_PERSON  # noqa: PLC0415

    def prepared() -> Worker:
        ensure_topics(config.kafka, stream)
        return new_worker()

    try:
        workers.keep_working(prepared, workers.stopped_by_signals())
    except workers.FATAL as error:
        fail(str(error), NEEDS_A_PERSON)


@app.command("run")
def run_workers_command(
    path: ConfigFile,
    tokenizers: Annotated[int, typer.Option(min=1, max=64, help="Tokenizers a stream.")] = 1,
    page: Annotated[
        bool, typer.Option("--page", help="Serve a live page of each learner to browsers here.")
    ] = False,
    page_port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            help="The port of the first stream's page, the next stream has the next port, and so "
            "on; 0 takes free ones.",
        ),
    ] = 0,
) -> None:
    """Run all workers of a configuration on this machine, each as a process of its own."""
    from consumers.supervisor import children, supervise  # noqa: PLC0415 - slow to import
    from consumers.worker_loop import stopped_by_signals  # noqa: PLC0415

    config = configured(path)
    pages = page_ports(len(config.streams), page, page_port)
    raise typer.Exit(supervise(children(config, path, tokenizers, pages), stopped_by_signals()))


def page_ports(streams: int, asked: bool, first: int) -> list[int]:
    """The port of each stream's page, if pages are asked for; ends if they cannot be served."""
    check_page(asked, first)
    if not asked:
        return []
    ports = [first and first + place for place in range(streams)]
    if max(ports) > 65_535:
        fail(f"--page-port {first} leaves no port for each of {streams} streams: the last is 65535")
    try:
        page_server()
        from pipeline.page.server import listening_socket  # noqa: PLC0415 - an extra

        for port in ports:
            listening_socket(port).close()
    except UsageError as error:
        fail(str(error))
    return ports


def play_into_kafka(settings: PlaySettings, watch: Watch) -> Played:
    """Play a source into a topic, for `wirerank replay --kafka`."""
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
