"""IND, the baseline of Madani, Connor & Greiner (2010): every feature by itself.

The share of a class is the part of the feature's documents that carry the class: with n_fc the
documents with feature f and class c, and n_f the documents with feature f, ::

    w_fc = n_fc / n_f

Values of features are ignored. A share below `p_ind` does not vote.
"""

from __future__ import annotations

from learners.index.base import IndexLearner
from learners.options import Option


class Independent(IndexLearner):
    """Every feature by itself: it votes with the share of its documents that carry a class.

    Examples
    --------
    >>> from learners import Independent
    >>> model = Independent().declare_topics(["grain", "ship"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.learn_one({"wheat": 1.0, "port": 1.0}, ["grain", "ship"])
    >>> model.rank_one({"wheat": 1.0, "port": 1.0})
    [('grain', 2.0), ('ship', 1.5)]

    """

    summary = "the share of each class among the documents of a feature (IND, the same paper)"
    options = (Option("p_ind", 0.0, "shares below this do not vote", least=0, most=1),)

    def __init__(self, p_ind: float = 0.0) -> None:
        super().__init__()
        self.p_ind = p_ind
        self.least_share = p_ind
