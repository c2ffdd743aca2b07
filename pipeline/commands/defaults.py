"""Default lanes and ceilings, which depend on the source.

A text has tens of thousands of classes and millions of terms. A lane with a weight for every pair
of class and term would not fit into memory. So the default lanes of such a source are index lanes,
and only index lanes get ceilings of that size. Ratings and grades have no topics, so their default
lanes are ordinal.
"""

from __future__ import annotations

from collections.abc import Sequence

from learners.specs import parse_spec
from pipeline.corpora import ranks_for, size_for
from pipeline.engine.engine import EngineSettings
from pipeline.replay.settings import DEFAULT_LANES
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.profile import DEFAULT_PROFILE, parse_profile

INDEX_LANES = ("feature-focus", "frequency")
RANK_LEARNERS = ("prank", "widrow-hoff", "multiclass-perceptron")
STARS = 5
RANK_LANES = tuple(f"{learner}:ranks={STARS}" for learner in RANK_LEARNERS)
ENGINE_DEFAULTS = EngineSettings()


def choose_lanes(source: str, given: Sequence[str] | None) -> tuple[str, ...]:
    """The lanes that were given, or the default lanes of the source."""
    if given:
        return tuple(given)
    if source.startswith("movielens:"):
        return RANK_LANES
    if ranks := ranks_for(source):
        return tuple(f"{learner}:ranks={ranks}" for learner in RANK_LEARNERS)
    return INDEX_LANES if size_for(source) else DEFAULT_LANES


def engine_settings(
    source: str,
    lanes: Sequence[str],
    max_terms: int | None,
    min_df: int | None,
    max_topics: int | None,
    max_pending: int,
    max_pending_bytes: int,
    profile: str = DEFAULT_PROFILE,
) -> EngineSettings:
    """The settings of the engine.

    A ceiling that is None takes its default for the source, and `min_df` that of the profile.
    """
    terms, topics = ENGINE_DEFAULTS.features.max_terms, ENGINE_DEFAULTS.max_topics
    size = size_for(source)
    if size and all(parse_spec(lane).has_sparse_model for lane in lanes):
        terms, topics = max(terms, size.terms), max(topics, size.topics)
    terms = terms if max_terms is None else max_terms
    topics = topics if max_topics is None else max_topics
    features = FeatureSettings.of(parse_profile(profile), terms, min_df)
    return EngineSettings(features, topics, max_pending, max_pending_bytes)
