"""What a document costs: processor time, bytes and memory, as a function of the load.

The coefficients are in `costs.json`, with the machine on which they were measured. `make bench`
(part `costs`) measures and fits them again. `wirerank plan --measure` fits those of text and lanes
on the machine of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import orjson

from learners.decisions.decided import CANDIDATES
from learners.specs import LEARNERS, LaneSpec, parse_spec
from learners.threads import MIN_COLUMNS, MIN_WORK
from pipeline.errors import UsageError
from pipeline.planning.formula import Formula, Load, Sample, fit
from pipeline.text.features import TERM_BYTES

SHIPPED = Path(__file__).with_name("costs.json")
VERSION = 1
PROGRAM_BYTES = 300e6  # of a worker without any model, as measured by the soak
BUFFER_BYTES = 200e6  # blocks on their way, and 64 MiB of scores
USUAL_TERM_BYTES = 10  # the characters of a term
SNAPSHOT_SECONDS = 60.0  # default of snapshots.every_seconds
TOP_BYTES = 24.0  # of a place in a ranking, compressed
SET_BYTES = 60.0  # of a set and its probabilities, compressed
USUAL_TOP, PLACE_BYTES = 10, 12.0  # places that shards exchange for a ranking, and their bytes
MOST_SHARDS = 64  # that a lane can have

# The features that a formula may have, by the first words of its name.
FEATURES_OF: dict[str, tuple[str, ...]] = {
    "tokenizer": ("1", "t"),
    "vocabulary": ("1", "t"),
    "event bytes": ("1", "t", "t t"),
    "log bytes": ("1", "t", "1/B", "t/B", "t/B^0.25"),
    "lane": ("1", "t", "K", "K t"),
    "sets": ("1", "K"),
    "shard": ("1", "t", "K", "K/N", "K t/N", "N", "1/B"),
    "shard bytes": ("1", "t", "K", "K/N", "1/B"),
    "exchanges": ("1", "B"),
    "tokenizer client": ("1", "1/B"),
    "worker client": ("1", "1/B"),
    "broker": ("1", "1/B"),
    "exchange client": ("1", "N", "P", "N P"),
    "exchange broker": ("1", "N", "N N", "N P", "N N P"),
    "exchange latency": ("1",),
    "ranking bytes": ("1",),
    "thread serial share": ("1",),
}
# Of a lane whose terms are connected with few topics each.
SPARSE_FEATURES = ("1", "t", "K", "t K^0.25")
DIVIDED = ("K", "K t")  # the part of a lane's time that threads divide
# Of these the unit is not microseconds, so the speed of a machine does not matter.
UNSCALED = ("bytes", "exchanges", "share")


def features_of(name: str) -> tuple[str, ...]:
    """The features of a formula; a name may end with a learner: `shard bytes mmp`."""
    what, _, learner = name.rpartition(" ")
    if what == "lane" and LEARNERS[learner].has_sparse_model:
        return SPARSE_FEATURES
    return FEATURES_OF[name] if name in FEATURES_OF else FEATURES_OF[what]


@dataclass(frozen=True, slots=True)
class Costs:
    """All formulas, and the facts of the machine on which they were measured."""

    machine: Mapping[str, str]
    formulas: Mapping[str, Formula]

    def at(self, name: str, load: Load) -> float:
        """The value of a formula for a load."""
        return self.formulas[name].at(load)

    def tokenizer_us(self, load: Load) -> float:
        """Core time per document in a tokenizer."""
        return self.at("tokenizer", load) + self.at("tokenizer client", load)

    def worker_us(self, load: Load) -> float:
        """Core time per document that every learner worker or shard has beside its lanes."""
        return self.at("vocabulary", load) + self.at("worker client", load)

    def lane_us(self, spec: LaneSpec, load: Load) -> float:
        """Core time per document of an undivided lane."""
        return self._formula(spec).at(load) * growth(spec) + self._sets_us(spec, load)

    def shard_us(self, spec: LaneSpec, load: Load) -> float:
        """Core time per document in one of `load.shards` shards, without the exchange."""
        if load.shards == 1:
            return self.lane_us(spec, load)
        measured = self.formulas.get(f"shard {spec.learner}")
        if measured is None:
            measured, own = self._formula(spec), load._replace(topics=load.topics / load.shards)
        else:
            own = load
        return measured.at(own) * growth(spec) + self._sets_us(spec, load)

    def elapsed_us(self, spec: LaneSpec, load: Load, threads: int) -> float:
        """Time by the clock per document of a lane or shard whose columns some threads divide."""
        whole = self.shard_us(spec, load)
        own = load._replace(topics=load.topics / load.shards, shards=1)
        threads = min(threads, int(own.topics // MIN_COLUMNS))
        pairs = 2 * own.topics * own.terms * own.block  # a document is ranked, and learned
        if threads <= 1 or not has_columns(spec) or pairs < MIN_WORK:
            return whole
        columns = {n: c for n, c in self._formula(spec).coefficients.items() if n in DIVIDED}
        divisible = min(whole, Formula(columns).at(own) * growth(spec))
        serial = min(1.0, self.at("thread serial share", load))
        return whole - divisible * (1 - serial) * (1 - 1 / threads)

    def exchanges(self, spec: LaneSpec, load: Load) -> float:
        """Exchanges per block of a lane with shards, at least one."""
        if load.shards == 1:
            return 0.0
        return max(1.0, self._shared("exchanges", spec).at(load))

    def payload(self, spec: LaneSpec, load: Load) -> float:
        """Bytes that one shard sends in one exchange."""
        exchanges = self.exchanges(spec, load)
        if not exchanges:
            return 0.0
        each = self._shared("shard bytes", spec).at(load) + set_bytes(spec, load)
        return each * load.block / exchanges

    def exchange_us(self, load: Load) -> float:
        """Time by the clock of one exchange between shards that are ready, brokers idle."""
        return (
            self.at("exchange client", load)
            + self.at("exchange broker", load)
            + self.at("exchange latency", load)
        )

    def ranking_bytes(self, spec: LaneSpec, top: int) -> float:
        """Bytes of a published ranking of a lane."""
        ranking = self.at("ranking bytes", Load()) + TOP_BYTES * (top - USUAL_TOP)
        return ranking + (SET_BYTES if spec.assign else 0.0)

    def _sets_us(self, spec: LaneSpec, load: Load) -> float:
        """Core time per document to assign topics: every shard does it, for all of them.

        Costs of earlier versions lack it; then it counts as 0.
        """
        return self.at("sets", load) if spec.assign and "sets" in self.formulas else 0.0

    def _formula(self, spec: LaneSpec) -> Formula:
        if "kernel" in spec.options and spec.options["kernel"] != "linear":
            raise UsageError(
                f"The costs of lane {spec.name} are not known: with a kernel they depend on the "
                "number of instances. Measure it with `wirerank bench --lane`."
            )
        try:
            return self.formulas[f"lane {spec.learner}"]
        except KeyError:
            known = ", ".join(name[5:] for name in self.formulas if name.startswith("lane "))
            raise UsageError(
                f"These costs have no measurement of {spec.learner}. They have: {known}."
            ) from None

    def _shared(self, what: str, spec: LaneSpec) -> Formula:
        """A formula of the learner's shards, or that of the most similar learner measured."""
        for learner in (spec.learner, "perceptron", "mmp"):
            if f"{what} {learner}" in self.formulas:
                return self.formulas[f"{what} {learner}"]
        raise UsageError(f"These costs have no measurement of the shards of {spec.learner}.")

    def scaled(self, measured: Mapping[str, Formula], machine: Mapping[str, str]) -> Costs:
        """These costs with formulas of another machine; the other times are scaled to its speed.

        A lane's shards are scaled like the lane, everything else like the tokenizer.
        """
        usual = Load(topics=1000, terms=120, block=100)
        ratios = {name: f.at(usual) / self.at(name, usual) for name, f in measured.items()}
        formulas = {}
        for name, formula in self.formulas.items():
            learner = name.rpartition(" ")[2]
            ratio = ratios.get(f"lane {learner}", ratios.get("tokenizer", 1.0))
            unscaled = any(word in name.split() for word in UNSCALED)
            formulas[name] = formula if unscaled else formula.times(ratio)
        return Costs(machine, {**formulas, **measured})

    def content(self) -> dict[str, object]:
        """The costs as a JSON object."""
        formulas = {name: formula.content() for name, formula in sorted(self.formulas.items())}
        return {"version": VERSION, "machine": dict(self.machine), "formulas": formulas}

    def write(self, path: Path) -> None:
        """Write the costs to a file."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        path.write_bytes(orjson.dumps(self.content(), option=options))


def read_costs(path: Path = SHIPPED) -> Costs:
    """Read costs; a UsageError if the file does not have them."""
    try:
        content = orjson.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except orjson.JSONDecodeError:
        raise UsageError(f"{path} is not JSON. `wirerank plan --measure` writes costs.") from None
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise UsageError(f"{path} does not hold costs of this version ({VERSION}).")
    formulas, machine = content.get("formulas"), content.get("machine")
    if not isinstance(formulas, dict) or not isinstance(machine, dict):
        raise UsageError(f"{path} does not hold costs: it lacks formulas or machine.")
    read = {str(name): Formula.from_content(each, str(name)) for name, each in formulas.items()}
    missing = [name for name in FEATURES_OF if name not in (*read, *PER_LEARNER, *LATER)]
    if missing:
        raise UsageError(f"{path} lacks the formula {missing[0]!r}.")
    return Costs({str(key): str(value) for key, value in machine.items()}, read)


PER_LEARNER = ("lane", "shard", "shard bytes", "exchanges")
LATER = ("sets",)  # formulas that files of earlier versions lack


def fit_all(samples: Mapping[str, list[Sample]]) -> dict[str, Formula]:
    """A formula for each set of measurements; sets without measurements have none."""
    return {name: fit(each, features_of(name)) for name, each in samples.items() if each}


def set_bytes(spec: LaneSpec, load: Load) -> float:
    """Bytes that a shard sends more for a document if its lane assigns topics: more candidates."""
    own = load.topics / load.shards
    return PLACE_BYTES * (min(CANDIDATES, own) - min(USUAL_TOP, own)) if spec.assign else 0.0


def has_columns(spec: LaneSpec) -> bool:
    """Whether the time of a lane goes into one column per topic, which threads can divide."""
    return not (spec.is_ordinal or spec.is_stacker or spec.has_sparse_model)


def can_be_divided(spec: LaneSpec) -> bool:
    """Whether a lane can have shards."""
    return not LEARNERS[spec.learner].unshardable


@cache
def _usual_bytes(learner: str) -> int:
    return parse_spec(learner).build().max_bytes(1000, 100)


def growth(spec: LaneSpec) -> float:
    """How much larger a model is with these options than with defaults; time grows likewise.

    >>> growth(parse_spec("mmp:average=true"))
    2.0
    """
    if not has_columns(spec):
        return 1.0
    return max(1.0, whole(spec).build().max_bytes(1000, 100) / _usual_bytes(spec.learner))


def whole(spec: LaneSpec) -> LaneSpec:
    """The lane without shards."""
    return replace(spec, shards=1)


def model_bytes(spec: LaneSpec, terms: int, topics: int) -> int:
    """The most memory of a model, or of a shard's part of it."""
    return whole(spec).build().max_bytes(terms, topics)


def worker_bytes(lanes: Iterable[LaneSpec], terms: int, topics: int) -> float:
    """The memory of a learner worker, or of a shard with this many topics."""
    models = sum(model_bytes(lane, terms, topics) for lane in lanes)
    return PROGRAM_BYTES + BUFFER_BYTES + models + (TERM_BYTES + USUAL_TERM_BYTES) * terms
