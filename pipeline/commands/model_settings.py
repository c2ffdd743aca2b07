"""The settings of a run that resumes a model: those of the model, unless options are given."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pipeline.models.model import Model
from pipeline.replay.settings import ReplaySettings


def with_model(settings: ReplaySettings, model: Model, given: Collection[str]) -> ReplaySettings:
    """Return the settings with those of the model for every option that is not `given`.

    Options that are given stay, and the run refuses those that differ from the model.
    """
    engine, saved = settings.engine, model.engine
    # A profile that is given brings its own weights, and is refused if it is not that of the model.
    weights = (engine if "profile" in given else saved).features
    features = replace(
        weights,
        max_terms=(engine if "max_terms" in given else saved).features.max_terms,
        min_df=(engine if "min_df" in given else saved).features.min_df,
    )
    return replace(
        settings,
        lanes=settings.lanes if "lane" in given else (),
        format=settings.format if "format_" in given else model.input.format,
        fields=settings.fields if "fields" in given else model.input.fields,
        profile=settings.profile if "profile" in given else model.input.profile,
        engine=replace(
            engine,
            features=features,
            max_topics=(engine if "max_topics" in given else saved).max_topics,
            max_pending=(engine if "max_pending" in given else saved).max_pending,
            max_pending_bytes=(engine if "max_pending_bytes" in given else saved).max_pending_bytes,
        ),
    )
