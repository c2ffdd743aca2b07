"""The experiments there are, by name."""

from __future__ import annotations

from pipeline.experiments.experiment import Experiment
from pipeline.experiments.feature_focus_text import FeatureFocusText
from pipeline.experiments.feature_focus_words import FeatureFocusWords
from pipeline.experiments.prank_movielens import PRankMovieLens
from pipeline.experiments.prank_synthetic import PRankSynthetic
from pipeline.experiments.svm_map import SvmMap

EXPERIMENTS: dict[str, type[Experiment]] = {
    experiment.name: experiment
    for experiment in (FeatureFocusText, FeatureFocusWords, PRankSynthetic, PRankMovieLens, SvmMap)
}
