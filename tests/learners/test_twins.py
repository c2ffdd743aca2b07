"""Every learner does, to the last bit, what its plain-Python twin does."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import pytest
from numba.core.registry import CPUDispatcher

from learners.learner import Learner
from learners.ordinal.base import OrdinalLearner
from learners.prototypes.mmp import follow_mmp
from learners.scores import Scores
from learners.slow.arithmetic import Document
from learners.slow.arow import SlowArow
from learners.slow.committee import SlowCommittee
from learners.slow.feature_focus import SlowFeatureFocus, SlowIndependent
from learners.slow.frequency import SlowFrequency
from learners.slow.kernel_mmp import SlowKernelMMP
from learners.slow.mmp import SlowMMP
from learners.slow.perceptron import SlowPerceptron
from learners.slow.rocchio import SlowRocchio
from learners.slow.soft_arow import SlowSoftArow
from learners.specs import LEARNERS, parse_spec
from learners.svm_map.stacker import Stacker
from tests.support.random_streams import Stream, random_stream


class Twin(Protocol):
    def score(self, document: Document, known: list[str]) -> list[float]: ...
    def learn(self, document: Document, topics: tuple[str, ...], known: list[str]) -> None: ...


def slow_mmp(kernel: str = "linear", budget: int = 1000, **options: Any) -> Twin:  # noqa: ANN401
    return SlowMMP(**options) if kernel == "linear" else SlowKernelMMP(budget=budget, **options)


TWINS: dict[str, Callable[..., Twin]] = {
    "arow": SlowArow,
    "committee": SlowCommittee,
    "feature-focus": SlowFeatureFocus,
    "independent": SlowIndependent,
    "frequency": SlowFrequency,
    "mmp": slow_mmp,
    "perceptron": SlowPerceptron,
    "rocchio": SlowRocchio,
    "soft-arow": SlowSoftArow,
}

SPECS = [
    *(f"mmp:loss={loss}{more}" for loss in (1, 2, 3) for more in ("", ",margin=0.5,average=true")),
    "mmp:loss=1,margin=2",
    "mmp:loss=3,average=true",
    "mmp:kernel=linear,budget=3",
    *(f"mmp:loss={loss},kernel=poly2{more}" for loss in (1, 2, 3) for more in ("", ",budget=7")),
    "mmp:loss=2,kernel=poly2,budget=5,average=true,margin=0.5",
    "mmp:loss=3,kernel=poly2,budget=1,average=true",
    "mmp:kernel=poly2,average=true",
    "perceptron",
    "perceptron:margin=0.5",
    "perceptron:average=true",
    "rocchio:refresh=1",
    "rocchio:refresh=7",
    "frequency",
    "feature-focus",
    "feature-focus:margin=0.3,w_min=0.2,d_max=2",
    "feature-focus:w_min=0.15,leak=false,rating=false",
    "feature-focus:margin=0.5,boolean=true,w_min=0,d_max=0",
    "feature-focus:margin=0.1,w_min=0.1,memory=3",
    "arow",
    "arow:rho=0.1,positive=1,bias=0",
    "arow:rho=3,positive=0.5,bias=2",
    "soft-arow",
    "soft-arow:rho=0.1,positive=1,bias=0,smooth=0",
    "soft-arow:rho=3,positive=0.5,bias=2,smooth=0.2",
    "committee",
    "committee:size=1",
    "committee:size=3,seed=7",
    "independent",
    "independent:p_ind=0.3",
]


def twin_scores(spec: str, stream: Stream) -> dict[int, list[float]]:
    parsed = parse_spec(spec)
    twin: Twin = TWINS[parsed.learner](**parsed.options)
    emitted = {}
    for happening in stream.happenings:
        document = stream.documents[happening.row]
        if happening.topics is None:
            emitted[happening.row] = twin.score(document, happening.known)
        else:
            twin.learn(document, happening.topics, happening.known)
    return emitted


def follow(learner: Learner, stream: Stream, cuts: list[int]) -> dict[int, list[float]]:
    """Run the stream in the pieces that `cuts` make."""
    emitted = {}
    bounds = [0, *sorted(cuts), len(stream.happenings)]
    for start, stop in pairwise(bounds):
        segment = stream.segment(start, stop)
        scores = Scores.expect(learner.new_scores(len(segment.rows), segment.topics))
        learner.follow(segment, scores)
        rows, table = stream.rows(start, stop), scores.table()
        for happening in stream.happenings[start:stop]:
            if happening.topics is None:
                place = rows.index(happening.row)
                emitted[happening.row] = table[place, : len(happening.known)].tolist()
    return emitted


def test_every_learner_has_a_twin() -> None:
    elsewhere = (OrdinalLearner, Stacker)  # test_ordinal.py, test_stacker.py
    of_topics = {name for name, kind in LEARNERS.items() if not issubclass(kind, elsewhere)}
    assert TWINS.keys() == of_topics
    assert {parse_spec(spec).learner for spec in SPECS} == of_topics


def test_kernels_are_compiled() -> None:
    """With numba's JIT disabled the twins would be compared with themselves, so to speak."""
    assert isinstance(follow_mmp, CPUDispatcher)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("whole_numbers", [False, True])
def test_learner_equals_its_twin(spec: str, whole_numbers: bool) -> None:
    for seed in range(12):
        stream = random_stream(seed, whole_numbers=whole_numbers)
        rng = random.Random(seed)
        cuts = [rng.randrange(len(stream.happenings)) for _ in range(rng.randrange(9))]
        assert follow(parse_spec(spec).build(), stream, cuts) == twin_scores(spec, stream), seed
