"""Online rankers on plain arrays: no input or output, no Kafka, no metrics.

Every learner is a class here. `DictLearner` lets you try one by hand; `learners.specs` builds them
from texts such as `mmp:loss=1`.
"""

from learners.frequency import Frequency
from learners.index.feature_focus import FeatureFocus
from learners.index.independent import Independent
from learners.learner import Learner
from learners.ordinal.multiclass_perceptron import MulticlassPerceptron
from learners.ordinal.prank import PRank
from learners.ordinal.widrow_hoff import WidrowHoff
from learners.prototypes.arow import AROW
from learners.prototypes.committee import Committee
from learners.prototypes.kernel_mmp import KernelMMP
from learners.prototypes.mmp import MMP
from learners.prototypes.perceptron import Perceptron
from learners.prototypes.rocchio import Rocchio
from learners.prototypes.soft_arow import SoftAROW
from learners.svm_map.stacker import Stacker

__all__ = [
    "AROW",
    "MMP",
    "Committee",
    "FeatureFocus",
    "Frequency",
    "Independent",
    "KernelMMP",
    "Learner",
    "MulticlassPerceptron",
    "PRank",
    "Perceptron",
    "Rocchio",
    "SoftAROW",
    "Stacker",
    "WidrowHoff",
]
