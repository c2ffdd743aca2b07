"""Specs of lanes: `mmp:loss=1,margin=0.1` names a learner and its options.

The name of a lane is its spec as written, unless the spec has `name=...`. `norm=l2` scales every
vector to length one before the lane sees it, and `shards=3` divides its topics over three threads.
With `assign=micro` the lane also assigns topics, `order=probability` ranks the first topics by
their probabilities, and `risk=0.1` marks documents for review.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from learners.decisions.decided import CANDIDATES
from learners.decisions.decider import Decider
from learners.decisions.goals import parse_goal
from learners.decisions.reordering import HEAD
from learners.frequency import Frequency
from learners.index.feature_focus import FeatureFocus
from learners.index.independent import Independent
from learners.learner import Learner
from learners.options import Option, OptionError, Value
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
from learners.scores import LabelKind
from learners.sharding.exchange import Exchange
from learners.sharding.local_shards import Shards
from learners.sharding.parts import new_part
from learners.sharding.shard import Shard
from learners.svm_map.stacker import Stacker

LEARNERS: dict[str, type[Learner]] = {
    "arow": AROW,
    "committee": Committee,
    "feature-focus": FeatureFocus,
    "frequency": Frequency,
    "independent": Independent,
    "mmp": MMP,
    "multiclass-perceptron": MulticlassPerceptron,
    "perceptron": Perceptron,
    "prank": PRank,
    "rocchio": Rocchio,
    "soft-arow": SoftAROW,
    "svm-map": Stacker,
    "widrow-hoff": WidrowHoff,
}

LANE_OPTIONS = (
    Option("name", "", "name of the lane in rankings, curves and metrics (default: the spec)"),
    Option("norm", "none", "l2: scale every vector to length one", choices=("none", "l2")),
)
DECISION_OPTIONS = (
    Option("assign", "", "assign topics: f1, micro, macro, precision:P or recall:R (default: no)"),
    Option(
        "risk",
        0.0,
        "mark documents for review, so that sets of the others have a mean F1 of 1 - risk",
        least=0.0,
        most=1.0,
    ),
    Option(
        "order",
        "score",
        f"rank topics by score, or the first {HEAD} by the probability that assign gives them",
        choices=("score", "probability"),
    ),
)
SHARDING_OPTIONS = (
    Option(
        "shards",
        1,
        "divide the topics over this many threads; the results stay the same",
        least=1,
        most=64,
    ),
)


def options_of(learner: str) -> tuple[Option, ...]:
    """All options that a lane with this learner can have."""
    kind = LEARNERS[learner]
    more = () if kind.unshardable else SHARDING_OPTIONS
    if kind.label_kind() is LabelKind.TOPICS:
        more = (*DECISION_OPTIONS, *more)
    usual = {"norm": kind.norm}
    shared = [replace(o, default=usual.get(o.name, o.default)) for o in LANE_OPTIONS]
    return (*kind.options, *shared, *more)


@dataclass(frozen=True, slots=True)
class LaneSpec:
    """A lane as its spec describes it."""

    name: str
    learner: str
    options: dict[str, Value]
    norm: str
    shards: int = 1
    combines: tuple[str, ...] = ()  # the lanes that it combines, once they are known: `resolved`
    assign: str = ""  # the goal of the sets of topics that it assigns; empty: it assigns none
    risk: float = 0.0
    order: str = "score"

    @property
    def settings(self) -> dict[str, Value]:
        """Everything that its model depends on, with defaults filled in."""
        declared = LEARNERS[self.learner].options
        given = {option.name: self.options.get(option.name, option.default) for option in declared}
        if self.combines:
            given["of"] = f"[{','.join(self.combines)}]"
        return {"learner": self.learner, "norm": self.norm, **given, **self.decision_settings}

    @property
    def decision_settings(self) -> dict[str, Value]:
        """The options of its decisions; none if it assigns no topics."""
        if not self.assign:
            return {}
        order: dict[str, Value] = {"order": self.order} if self.by_probability else {}
        return {"assign": self.assign, "risk": self.risk, **order}

    @property
    def by_probability(self) -> bool:
        """Whether the first topics of its rankings are in order of their probabilities."""
        return self.order == "probability"

    def new_decider(self) -> Decider | None:
        """What assigns topics, if the lane does that."""
        return Decider(parse_goal(self.assign), self.risk) if self.assign else None

    @property
    def is_ordinal(self) -> bool:
        """Whether it learns ranks, not topics."""
        return LEARNERS[self.learner].label_kind() is LabelKind.RANKS

    @property
    def is_stacker(self) -> bool:
        """Whether it learns from the scores of other lanes."""
        return LEARNERS[self.learner].combines_lanes

    @property
    def has_sparse_model(self) -> bool:
        """Whether its memory does not grow with terms times topics."""
        return LEARNERS[self.learner].has_sparse_model

    def build(self) -> Learner:
        """A new learner with these options."""
        if self.shards > 1:
            return Shards(self.whole_learner, self.shards)
        return self.whole_learner()

    def new_shard(self, exchange: Exchange, top: int) -> Shard:
        """One shard of a new learner with these options; rankings need the best `top` topics."""
        if self.assign and top:
            top = max(top, CANDIDATES)
        return Shard(new_part(self.whole_learner(), exchange), exchange, top)

    def whole_learner(self) -> Learner:
        """A new learner with these options that is not divided."""
        kind = LEARNERS[self.learner]
        if kind is MMP and self.options.get("kernel", "linear") != "linear":
            kind = KernelMMP
        return kind(**self.options)

    def check_divisible(self) -> None:
        """Raise an OptionError if this lane cannot be divided into shards."""
        learner = self.whole_learner()
        if learner.unshardable:
            able = ", ".join(name for name, kind in LEARNERS.items() if not kind.unshardable)
            raise OptionError(
                f"{self.learner} cannot be divided into shards: {learner.unshardable} "
                f"Learners that can be divided: {able}."
            )


def parse_spec(text: str) -> LaneSpec:
    """Read a lane's spec.

    Examples
    --------
    >>> parse_spec("mmp:loss=3,norm=l2,name=champion")
    LaneSpec(name='champion', learner='mmp', options={'loss': 3}, norm='l2', shards=1, \
combines=(), assign='', risk=0.0, order='score')
    >>> parse_spec("mmp:loss=4")
    Traceback (most recent call last):
    ...
    learners.options.OptionError: The 'loss' option of mmp must be one of 1, 2, 3. Got '4'.

    """
    learner, _, rest = text.strip().partition(":")
    if learner not in LEARNERS:
        known = ", ".join(LEARNERS)
        raise OptionError(f"There is no learner {learner!r}. Known: {known}; e.g. mmp:loss=1.")
    declared = {option.name: option for option in (*options_of(learner), *SHARDING_OPTIONS)}
    given: dict[str, Value] = {}
    for part in filter(None, split_options(rest)):
        key, equals, value = part.partition("=")
        key = key.strip()
        if key in declared and not equals:
            meaning = declared[key].help
            raise OptionError(
                f"The {key!r} option of {learner} needs a value, {key}=...: {meaning}."
            )
        if key not in declared:
            known = ", ".join(option.name for option in options_of(learner))
            raise OptionError(f"{learner} has no option {key!r}. Write key=value, with: {known}.")
        if key in given:
            raise OptionError(f"{learner} has the option {key!r} twice in {text!r}.")
        given[key] = declared[key].read(value.strip(), learner)
    name, norm = (
        str(given.pop("name", text.strip())),
        str(given.pop("norm", LEARNERS[learner].norm)),
    )
    assign, risk = str(given.pop("assign", "")), float(given.pop("risk", 0.0))
    order = str(given.pop("order", "score"))
    check_decisions(assign, risk, order)
    shards = int(given.pop("shards", 1))
    spec = LaneSpec(name, learner, given, norm, shards, assign=assign, risk=risk, order=order)
    if spec.shards > 1:
        spec.check_divisible()
    return spec


def check_decisions(assign: str, risk: float, order: str) -> None:
    """Raise an OptionError if the options of a lane's decisions do not fit."""
    if assign:
        parse_goal(assign)
    elif risk > 0.0:
        raise OptionError(
            "The 'risk' option needs the option 'assign': only a lane that assigns topics can say "
            "which documents to review; e.g. assign=micro,risk=0.1."
        )
    elif order == "probability":
        raise OptionError(
            "The option 'order=probability' needs the option 'assign': only a lane that assigns "
            "topics knows how likely they are; e.g. assign=micro,order=probability."
        )


def split_options(text: str) -> list[str]:
    """Split a text at commas outside of brackets, in time linear in its length.

    Examples
    --------
    >>> split_options("of=[mmp,arow],refit=6")
    ['of=[mmp,arow]', 'refit=6']

    """
    parts = []
    end, inside = len(text), False
    for at in range(len(text) - 1, -1, -1):
        if text[at] in "[]":
            inside = text[at] == "]"
        elif text[at] == "," and not inside:
            parts.append(text[at + 1 : end])
            end = at
    return [text[:end], *reversed(parts)]


def resolved(specs: Sequence[LaneSpec]) -> list[LaneSpec]:
    """The lanes of a stream; those that combine others have the names of these in `combines`.

    Examples
    --------
    >>> lanes = [parse_spec(text) for text in ("mmp", "rocchio", "svm-map", "svm-map:of=[mmp]")]
    >>> [lane.combines for lane in resolved(lanes)]
    [(), (), ('mmp', 'rocchio'), ('mmp',)]

    """
    able = [spec.name for spec in specs if not (spec.is_stacker or spec.is_ordinal)]
    return [
        replace(spec, combines=combined_by(spec, able))
        if spec.is_stacker and not spec.combines
        else spec
        for spec in specs
    ]


def helpers_of(lanes: Sequence[LaneSpec], every: Sequence[LaneSpec]) -> list[LaneSpec]:
    """The lanes of a stream that some of `lanes` combine, without being among `lanes`."""
    names = {lane.name for lane in lanes}
    needed = {name for lane in lanes for name in lane.combines} - names
    return [lane for lane in every if lane.name in needed]


def combined_by(stacker: LaneSpec, able: Sequence[str]) -> tuple[str, ...]:
    """The names of the lanes that a stacker combines, out of those that can be combined."""
    known = ", ".join(able) or "none"
    of = str(stacker.options.get("of", ""))
    if not of:
        if not able:
            raise OptionError(
                f"Lane {stacker.name} combines other topic lanes, but there are none. Add some, "
                "e.g. mmp:loss=1 and perceptron."
            )
        return tuple(able)
    names = names_in(of[1:-1], able) if of[0] == "[" and of[-1] == "]" else None
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"The 'of' option of lane {stacker.name} must list different topic lanes of the "
            f"stream, as [lane,...]. These can be combined: {known}. Got {of!r}."
        )
    return names


def names_in(text: str, able: Sequence[str]) -> tuple[str, ...] | None:
    """The names in a text with commas between them; a name may contain commas.

    None if one is unknown, or occurs twice.
    """
    text = text.strip()
    for name in sorted(able, key=len, reverse=True):
        if text == name:
            return (name,)
        if text.startswith(f"{name},"):
            others = names_in(text[len(name) + 1 :], [other for other in able if other != name])
            if others is not None:
                return (name, *others)
    return None


def differing_options(
    settings: Mapping[str, Value], others: Mapping[str, Value]
) -> Iterator[tuple[str, Value, Value]]:
    """Yield each option that differs between the settings of two lanes, with its values.

    An option of decisions that settings lack has its default.
    """
    usual = {option.name: option.default for option in DECISION_OPTIONS if option.default != ""}
    for key in dict.fromkeys((*settings, *others)):
        value, other = (given.get(key, usual.get(key, "none")) for given in (settings, others))
        if value != other:
            yield key, value, other
