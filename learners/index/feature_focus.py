"""Feature Focus index learning (Madani, Connor & Greiner 2010).

Learning is driven by mistakes. The margin of a true class is its score less the best score of a
wrong class; a class that is not retrieved has the score 0. If the margin is at most `margin`, every
feature f of the document adds its value v_f to its total and to its connection with the true
class::

    w'_fc += v_f    w'_f += v_f    w_fc = w'_fc / w'_f

So the connection with the true class gains, and all other connections of the feature lose. A
connection with a share w_fc below `w_min` is dropped, so a feature has at most 1 / w_min of them.

Madani, Connor & Greiner (2010): Learning When Concepts Abound. Journal of Machine Learning
Research.
"""

from __future__ import annotations

from learners.index.base import IndexLearner
from learners.options import Option


class FeatureFocus(IndexLearner):
    """Mistake-driven index learning: features are updated when a true class leads by too little.

    Examples
    --------
    >>> from learners import FeatureFocus
    >>> model = FeatureFocus(rating=False, boolean=True).declare_topics(["grain", "ship"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.learn_one({"wheat": 1.0, "port": 1.0}, ["ship"])
    >>> model.rank_one({"wheat": 1.0, "port": 1.0})  # wheat is split between the two
    [('ship', 1.5), ('grain', 0.5)]

    """

    norm = "l2"
    summary = "Feature Focus index learning (Madani, Connor & Greiner 2010)"
    options = (
        Option("margin", 0.0, "learn a label that leads by no more than this", least=0),
        Option("w_min", 0.01, "drop connections with a smaller share than this", least=0, most=1),
        Option("d_max", 25, "number of connections of a feature that vote; 0 is all", least=0),
        Option("leak", True, "the weight of a dropped connection stays in its feature's total"),
        Option("rating", True, "features that were seen less than ten times have smaller votes"),
        Option("boolean", False, "every feature of a document has the value 1"),
        Option("memory", 0.0, "upper limit of the total of a feature; 0 is no limit", least=0),
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
