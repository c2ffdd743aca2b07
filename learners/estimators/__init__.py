"""The learners as estimators of scikit-learn, which comes with the extra `sklearn`.

Importing `learners` does not import scikit-learn; importing this package does.
"""

try:
    import sklearn  # noqa: F401 - only to say what to install if it is missing
except ImportError as error:
    raise ImportError(
        "learners.estimators needs scikit-learn, which is not installed: "
        "pip install 'wirerank[sklearn]'"
    ) from error

from learners.estimators.ordinal import (
    MulticlassPerceptronClassifier,
    PRankClassifier,
    WidrowHoffClassifier,
)
from learners.estimators.topics import (
    AROWClassifier,
    CommitteeClassifier,
    FeatureFocusClassifier,
    FrequencyClassifier,
    IndependentClassifier,
    MMPClassifier,
    PerceptronClassifier,
    RankingClassifier,
    RocchioClassifier,
    SoftAROWClassifier,
)

__all__ = [
    "AROWClassifier",
    "CommitteeClassifier",
    "FeatureFocusClassifier",
    "FrequencyClassifier",
    "IndependentClassifier",
    "MMPClassifier",
    "MulticlassPerceptronClassifier",
    "PRankClassifier",
    "PerceptronClassifier",
    "RankingClassifier",
    "RocchioClassifier",
    "SoftAROWClassifier",
    "WidrowHoffClassifier",
]
