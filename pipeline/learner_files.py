"""Save learners that were trained from Python, and load them again.

A file is a container: named arrays and JSON, with a checksum. Nothing in it is executed or
unpickled, so loading a file from a stranger is safe. Everything in it is checked before a kernel
sees it. (The model of a replay is another file: it holds a whole engine.)
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from learners.foreign_matrix import MAX_COLUMNS
from learners.learner import Learner
from learners.named_learner import NamedLearner, Names
from learners.options import OptionError
from learners.prototypes.kernel_mmp import KernelMMP
from learners.rankings import Name
from learners.specs import LANE_OPTIONS, LEARNERS, LaneSpec
from pipeline.errors import UsageError
from pipeline.snapshots.content import damage_of, text, whole
from pipeline.storage.container import Arrays, ContainerReader, DamagedError, pack_into
from pipeline.storage.output_files import GROUP, replacing

KIND, VERSION = b"WRLN", 1
LABEL_TYPES = {"U": "str", "O": "object", "i": "int64", "u": "int64", "f": "float64", "b": "bool"}


class SavingError(UsageError):
    """A learner cannot be saved; the message says why, and what to do."""


def save(model: Any, path: str | PathLike[str]) -> None:  # noqa: ANN401 - see the message
    """Write a learner, or a fitted estimator of `learners.estimators`, to a file.

    Examples
    --------
    >>> import tempfile
    >>> from learners import MMP
    >>> model = MMP().declare_topics(["grain", "ship"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/newswire.model")
    ...     loaded = load(f"{folder}/newswire.model")
    >>> loaded.rank_one({"wheat": 1.0})
    [('grain', 1.0), ('ship', -1.0)]

    """
    learner = getattr(model, "learner_", model)
    if not isinstance(learner, NamedLearner):
        raise SavingError(
            f"A {type(model).__name__} cannot be saved. Expected a learner such as learners.MMP, "
            "or an estimator of learners.estimators after fit."
        )
    content = describe_learner(learner)
    if learner is not model:
        content["estimator"] = describe_estimator(model)
    try:
        orjson.dumps(content)
    except orjson.JSONEncodeError as error:
        raise SavingError(f"A name of a term, topic or class cannot be saved: {error}.") from None
    with replacing(Path(path), GROUP, flush=True) as file:
        pack_into(file, KIND, VERSION, content, dict(learner.state()))


def load(path: str | PathLike[str]) -> Any:  # noqa: ANN401 - a learner, or an estimator
    """Read a learner or an estimator that `save` wrote; it ranks and learns as before.

    Raises `DamagedError` if the file is not one that `save` writes.
    """
    name = str(path)
    with Path(path).open("rb") as file:
        reader = ContainerReader(file, KIND, VERSION, name)
        arrays = {key: reader.array(key) for key in reader.entries}
    with damage_of(name):
        learner = read_learner(reader.content, arrays)
        if "estimator" not in reader.content:
            return learner
        return read_estimator(dict(reader.content["estimator"]), learner, name)


def describe_learner(learner: NamedLearner) -> dict[str, Any]:
    """Everything of a learner that is not an array."""
    names, kind = learner.names, "mmp" if isinstance(learner, KernelMMP) else None
    for key, value in LEARNERS.items():
        kind = key if value is type(learner) else kind
    if kind is None:
        raise SavingError(
            f"A {type(learner).__name__} cannot be saved: only these learners can, and no classes "
            f"derived from them: {', '.join(LEARNERS)}."
        )
    return {
        "learner": kind,
        "options": {o.name: plain(getattr(learner, o.name)) for o in learner.options},
        "norm": learner.norm,
        "columns": names.columns,
        "terms": [name_to_save(term) for term in names.terms],
        "topics": [name_to_save(topic) for topic in names.topics],
    }


def read_learner(content: dict[str, Any], arrays: Arrays) -> NamedLearner:
    """A learner with this description and state, after a check of both."""
    kind = text(content["learner"])
    if kind not in LEARNERS:
        raise ValueError(f"there is no learner {kind!r:.80}")
    declared = {option.name: option for option in LEARNERS[kind].options}
    given = dict(content["options"])
    for name in given.keys() - declared.keys():
        raise OptionError(f"{kind} has no option {name!r:.80}")
    options = {name: declared[name].check(value, kind) for name, value in given.items()}
    (norm,) = (option for option in LANE_OPTIONS if option.name == "norm")
    spec = LaneSpec(kind, kind, options, str(norm.check(content["norm"], kind)))
    learner: Learner = spec.build()
    if not isinstance(learner, NamedLearner):
        raise ValueError(f"{kind} cannot be used by itself")
    learner.norm = spec.norm
    columns = content["columns"]
    names = learner.names
    names.columns = None if columns is None else whole(columns, MAX_COLUMNS)
    names.terms, names.topics = numbered(content["terms"]), numbered(content["topics"])
    check_names(names)
    learner.restore(arrays)
    learner.check_references(names.term_count, learner.ranks or len(names.topics))
    return learner


def check_names(names: Names) -> None:
    """Raise ValueError if terms have both names and columns."""
    if names.columns is not None and names.terms:
        raise ValueError("the terms have names, and they are columns of a matrix too")


def numbered(values: object) -> dict[Name, int]:
    """Different names, each with its number."""
    if not isinstance(values, list):
        raise TypeError(f"expected a list of names, found {type(values).__name__}")
    for value in values:
        if type(value) not in (str, int):
            raise TypeError(f"expected a name, found {type(value).__name__}")
    numbers: dict[Name, int] = {value: number for number, value in enumerate(values)}
    if len(numbers) != len(values):
        raise ValueError("a name occurs twice")
    return numbers


def name_to_save(name: Name) -> str | int:
    """A name as JSON knows it; SavingError if it is neither a text nor an integer."""
    value = plain(name)
    if isinstance(value, str):
        return str(value)
    if type(value) is int:
        return value
    raise SavingError(
        f"The name {name!r:.80} cannot be saved: it is a {type(name).__name__}, and only texts and "
        "integers can be saved."
    )


def plain(value: Any) -> Any:  # noqa: ANN401 - a number or text of numpy
    """A number of numpy as a number of Python."""
    return value.item() if isinstance(value, np.generic) else value


def describe_estimator(model: Any) -> dict[str, Any]:  # noqa: ANN401 - scikit-learn has no types
    """Everything of an estimator besides its learner."""
    from learners import estimators  # noqa: PLC0415 - an extra, and slow to import

    name = type(model).__name__
    if name not in estimators.__all__ or type(model) is not getattr(estimators, name):
        raise SavingError(f"A {name} cannot be saved: it is not one of learners.estimators.")
    names = getattr(model, "feature_names_in_", None)
    return {
        "class": name,
        "parameters": {key: plain(value) for key, value in model.get_params().items()},
        "classes": [plain(label) for label in model.classes_],
        "type": LABEL_TYPES[model.classes_.dtype.kind],
        "features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "multilabel": bool(getattr(model, "multilabel_", False)),
    }


def read_estimator(content: dict[str, Any], learner: NamedLearner, name: str) -> Any:  # noqa: ANN401
    """An estimator with this description and learner."""
    from learners import estimators  # noqa: PLC0415 - an extra, and slow to import

    kind = text(content["class"])
    if kind not in estimators.__all__ or content["type"] not in LABEL_TYPES.values():
        raise DamagedError(f"{name} is damaged: unknown estimator or type of classes")
    model = getattr(estimators, kind)(**dict(content["parameters"]))
    classes = np.array(list(content["classes"]), dtype=content["type"])
    expected = learner.ranks or len(learner.names.topics)
    if classes.ndim != 1 or max(len(classes), 2 if learner.ranks else 0) != expected:
        raise ValueError(f"there are {len(classes)} classes, expected {expected}")
    model.classes_, model.learner_ = classes, learner
    model.n_features_in_ = whole(content["features"], MAX_COLUMNS)
    if not learner.ranks:
        model.multilabel_ = content["multilabel"] is True
    if content["feature_names"] is not None:
        model.feature_names_in_ = np.array(list(map(text, content["feature_names"])), dtype=object)
    return model
