"""What holds where an option is not given: lanes and ceilings, by the source.

A text has tens of thousands of classes and millions of terms. Lanes that keep a weight for every
pair of them would not fit into any memory, so such a source is for index lanes unless somebody says
otherwise, and the size that it needs is made only for these. Ratings and grades have no
topics to learn: their lanes are ordinal.
"""

from __future__ import annotations

from collections.abc import Sequence

from learners.specs import parse_spec
from pipeline.corpora import ranks_for, size_for
from pipeline.engine.engine import EngineSettings
from pipeline.replay.settings import DEFAULT_LANES
from pipeline.text.features import FeatureSettings

INDEX_LANES = ("feature-focus", "frequency")
RANK_LEARNERS = ("prank", "widrow-hoff", "multiclass-perceptron")
STARS = 5
RANK_LANES = tuple(f"{learner}:ranks={STARS}" for learner in RANK_LEARNERS)
USUAL = EngineSettings()


def choose_lanes(source: str, given: Sequence[str] | None) -> tuple[str, ...]:
    """The lanes that were asked for, or those that suit the source."""
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
    min_df: int,
    max_topics: int | None,
    max_pending: int,
) -> EngineSettings:
    """The engine's settings; a ceiling that is not given is the usual one, or the source's own."""
    terms, topics = USUAL.features.max_terms, USUAL.max_topics
    size = size_for(source)
    if size and all(parse_spec(lane).has_sparse_model for lane in lanes):
        terms, topics = max(terms, size.terms), max(topics, size.topics)
    terms = terms if max_terms is None else max_terms
    topics = topics if max_topics is None else max_topics
    return EngineSettings(FeatureSettings(max_terms=terms, min_df=min_df), topics, max_pending)
