"""Feature Focus index learning, and counting features by themselves (Madani et al. 2010).

An update touches the features of the document and nothing else: each adds to its connection with
the true class, whose weight is a share of the feature's own total, so that all its others lose.
"""

from __future__ import annotations

from learners.index.base import IndexLearner
from learners.options import Option


class FeatureFocus(IndexLearner):
    """Mistake-driven index learning: features are updated when a true class leads by too little."""

    norm = "l2"
    summary = "Feature Focus index learning (Madani, Connor & Greiner 2010)"
    options = (
        Option("margin", 0.0, "a lead of no more than this counts as wrong when learning", least=0),
        Option("w_min", 0.01, "connections lighter than this are dropped", least=0, most=1),
        Option("d_max", 25, "a feature votes with so many connections at most; 0 is all", least=0),
        Option("leak", True, "what is dropped stays in the total of its feature"),
        Option("rating", True, "features that were seen less than ten times vote with less"),
        Option("boolean", False, "every feature of a document has the value 1"),
        Option(
            "memory", 0.0, "the most that the total of a feature may be; 0 is no limit", least=0
        ),
    )
    always = False

    def __init__(
        self,
        margin: float = 0.0,
        w_min: float = 0.01,
        d_max: int = 25,
        leak: bool = True,
        rating: bool = True,
        boolean: bool = False,
        memory: float = 0.0,
    ) -> None:
        super().__init__()
        self.margin = margin
        self.w_min = w_min
        self.d_max = d_max
        self.leak = leak
        self.rating = rating
        self.boolean = boolean
        self.memory = memory


class Independent(IndexLearner):
    """Every feature by itself: the share of its documents that a class has (IND of the paper)."""

    summary = "the share of each class among the documents of a feature (IND, the same paper)"
    options = (Option("p_ind", 0.0, "shares below this have no vote", least=0, most=1),)

    def __init__(self, p_ind: float = 0.0) -> None:
        super().__init__()
        self.p_ind = p_ind
        self.least = p_ind
