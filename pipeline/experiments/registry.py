"""The experiments there are, by name."""

from __future__ import annotations

from pipeline.experiments.experiment import Experiment
from pipeline.experiments.feature_focus_text import FeatureFocusText
from pipeline.experiments.feature_focus_words import FeatureFocusWords
from pipeline.experiments.mmp_rcv1 import MmpRcv1
from pipeline.experiments.mmp_reuters21578 import MmpReuters21578
from pipeline.experiments.prank_movielens import PRankMovieLens
from pipeline.experiments.prank_synthetic import PRankSynthetic
from pipeline.experiments.svm_map import SvmMap

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
