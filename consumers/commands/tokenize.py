"""`wirerank tokenize`: one tokenizer worker."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from consumers.assignment import tokenizer_name
from consumers.commands.configuration import configured, stream_named
from consumers.commands.options import (
    ConfigFile,
    LogFormatOption,
    LogLevelOption,
    StreamName,
    Supervised,
)
from consumers.commands.worker import ServedWorker, work
from consumers.kafka_names import tokenizer_client_id
from consumers.logs import LogFormat, LogLevel, log_settings, set_up_logging
from consumers.supervisor_link import SupervisorLink


def tokenize_command(
    path: ConfigFile,
    stream: StreamName = None,
    instance: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="A name that no other tokenizer of the stream on this machine has."
        ),
    ] = "0",
    log_level: LogLevelOption = LogLevel.INFO,
    log_format: LogFormatOption = LogFormat.TEXT,
    supervised: Supervised = False,
) -> None:
    """Run one tokenizer: read documents, write blocks.

    Start several tokenizers to share the work of a stream.
    """
    supervisor = SupervisorLink() if supervised else None
    from consumers.tokenizer.worker import TokenizerWorker  # noqa: PLC0415 - slow to import
    from consumers.tokenizer.written_offsets import WrittenOffsets  # noqa: PLC0415

    config = configured(path)
    settings = stream_named(config, stream)
    name = tokenizer_name(settings.name, instance)
    fields = {"role": "tokenizer", "stream": settings.name, "instance": instance}
    set_up_logging(name, log_level, log_format, fields)
    if not supervised:
        log_settings(config)
    member = tokenizer_client_id(socket.gethostname(), instance, supervised)
    served = ServedWorker(config, settings, "tokenizer", instance, name)
    metrics = served.metrics.tokenizer_metrics()
    written = WrittenOffsets()
    work(
        config,
        settings,
        served,
        supervisor,
        lambda: TokenizerWorker(config, settings, member, served.metrics, metrics, written),
    )
