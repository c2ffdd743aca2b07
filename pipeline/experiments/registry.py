"""All experiments, by name."""

from __future__ import annotations

from pipeline.experiments.experiment import Experiment
from pipeline.experiments.index_learning.feature_focus_text import FeatureFocusText
from pipeline.experiments.index_learning.feature_focus_words import FeatureFocusWords
from pipeline.experiments.ordinal_ranking.prank_movielens import PRankMovieLens
from pipeline.experiments.ordinal_ranking.prank_synthetic import PRankSynthetic
from pipeline.experiments.query_ranking.svm_map import SvmMap
from pipeline.experiments.topic_ranking.mmp_rcv1 import MmpRcv1
from pipeline.experiments.topic_ranking.mmp_reuters21578 import MmpReuters21578

EXPERIMENTS: dict[str, type[Experiment]] = {
    experiment.name: experiment
    for experiment in (
        MmpReuters21578,
        MmpRcv1,
        FeatureFocusText,
        FeatureFocusWords,
        PRankSynthetic,
        PRankMovieLens,
        SvmMap,
    )
}
