"""The Kafka side of `wirerank replay --kafka`."""

from __future__ import annotations

import os

from consumers.config import ConfigError, kafka_settings
from pipeline.errors import UsageError
from pipeline.replay.playback import Played, PlaySettings
from pipeline.replay.watch import Watch


def play_into_kafka(settings: PlaySettings, watch: Watch) -> Played:
    """Play a source into a Kafka topic, for `wirerank replay --kafka`."""
    from consumers.player.player import play  # noqa: PLC0415 - slow to import

    try:
        kafka = kafka_settings(settings.bootstrap, os.environ)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    return play(settings, kafka, watch)
