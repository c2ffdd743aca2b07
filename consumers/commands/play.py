"""The Kafka side of `wirerank replay --kafka`."""

from __future__ import annotations

import os

from consumers.config import kafka_settings
from consumers.settings import ConfigError
from pipeline.errors import UsageError
from pipeline.replay.playback import PlaybackResult, PlaybackSettings
from pipeline.replay.progress import Progress


def play_into_kafka(settings: PlaybackSettings, progress: Progress) -> PlaybackResult:
    """Play a source into a Kafka topic, for `wirerank replay --kafka`."""
    from consumers.player.player import play  # noqa: PLC0415 - slow to import

    try:
        kafka = kafka_settings(settings.bootstrap, os.environ)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    return play(settings, kafka, progress)
