"""Twin of `learners/prototypes/kernel_mmp.py`."""

from __future__ import annotations

from collections.abc import Sequence

from learners.slow.arithmetic import Document
from learners.slow.mmp import SlowMMP
from learners.slow.support_set import SlowSupports


class SlowKernelMMP(SlowMMP):
    """MMP whose model is the list of its updates."""

    def __init__(
        self,
        loss: int = 1,
        margin: float = 0.0,
        average: bool = False,
        budget: int = 1000,
    ) -> None:
        super().__init__(loss, margin, average)
        self.model = SlowSupports(budget)

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """Score the known topics, by the mean of the models if `average`."""
        if self.average and self.rounds:
            return self.model.mean_scores(document, len(known), self.rounds)
        return self.model.scores(document, len(known))

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """One round: correct the model as it stands."""
        scores = self.model.scores(document, len(known))
        tau = self.moves(scores, {known.index(topic) for topic in topics})
        if any(tau):
            self.model.add(document, tau, self.rounds)
        self.rounds += 1
