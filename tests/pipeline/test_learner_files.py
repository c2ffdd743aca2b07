"""Learners that are saved and loaded: nothing changes, and a wrong file is refused or harmless."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learners import MMP, FeatureFocus, Frequency, Perceptron, Stacker
from learners.specs import parse_spec
from pipeline.learner_files import KIND, VERSION, SavingError, load, save
from pipeline.storage.container import DamagedError, pack, unpack
from tests.learners.test_by_hand import (
    ORDINAL_SPECS,
    made_up_documents,
    matrix_of,
    same_state,
)
from tests.learners.test_twins import SPECS
from tests.support.mutations import ODD_VALUES, mutated_arrays

FAMILIES = (
    "mmp:average=true", "mmp:kernel=poly2", "arow", "soft-arow", "committee:size=2",
    "rocchio:refresh=5", "feature-focus", "frequency", "prank:ranks=3,average=true",
    "multiclass-perceptron:ranks=3",
)  # fmt: skip


def trained(spec: str, documents: int = 40, columns: bool = False) -> Any:  # noqa: ANN401
    learner: Any = parse_spec(spec).build()
    texts, labels = made_up_documents(9, documents)
    if learner.ranks:
        labels = [None if t is None else min(learner.ranks, 1 + len(t)) for t in labels]
    learner.learn_only(matrix_of(texts) if columns else texts, labels)
    return learner


def use(learner: Any, columns: bool = False) -> Any:  # noqa: ANN401
    """Rank and learn more; return what was ranked."""
    texts, labels = made_up_documents(10)
    if learner.ranks:
        labels = [None if t is None else min(learner.ranks, 1 + len(t)) for t in labels]
    return list(learner.learn_many(matrix_of(texts) if columns else texts, labels))


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("spec", [*SPECS, *ORDINAL_SPECS])
def test_a_loaded_learner_goes_on(spec: str, columns: bool, tmp_path: Path) -> None:
    learner = trained(spec, columns=columns)
    learner.norm = "l2"
    save(learner, tmp_path / "model")
    loaded = load(str(tmp_path / "model"))
    assert type(loaded) is type(learner)
    assert loaded.names == learner.names
    assert same_state(loaded, learner)
    assert str(use(loaded, columns)) == str(use(learner, columns))
    assert same_state(loaded, learner)
    assert {o.name: getattr(loaded, o.name) for o in loaded.options} == {
        o.name: getattr(learner, o.name) for o in learner.options
    }


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        save(trained("mmp"), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_names_are_texts_or_integers(tmp_path: Path) -> None:
    model = MMP()
    model.learn_one({np.str_("wheat"): 1.0, 7: 2.0}, [np.int64(3), "grain"])
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").names == model.names
    for term, topic in ((("a", "pair"), "grain"), ("wheat", 1.5), ("wheat", True)):
        odd = MMP()
        odd.learn_one({term: 1.0}, [topic])
        with pytest.raises(SavingError, match="only texts and integers can be saved"):
            save(odd, tmp_path / "odd")
    surrogate = MMP()
    surrogate.learn_one({"\ud800": 1.0}, ["grain"])
    with pytest.raises(SavingError, match="cannot be saved"):
        save(surrogate, tmp_path / "odd")
    assert not (tmp_path / "odd").exists()


def test_what_cannot_be_saved_says_so(tmp_path: Path) -> None:
    class Own(Perceptron):
        pass

    with pytest.raises(SavingError, match="no classes derived from them"):
        save(Own(), tmp_path / "model")
    for other in (Stacker(), {"a": 1}):
        with pytest.raises(SavingError, match="Expected a learner such as"):
            save(other, tmp_path / "model")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(trained("mmp"), path)
    data = path.read_bytes()
    for broken, message in (
        (data[:9], "is cut off"),
        (data[:-1], "checksum"),
        (b"WRSN" + data[4:], "wrong file type; it is a snapshot or the model of a replay"),
        (b"", "is cut off"),
    ):
        path.write_bytes(broken)
        with pytest.raises(DamagedError, match=message):
            load(path)


@pytest.mark.parametrize("spec", FAMILIES)
def test_wrong_content_is_refused_or_harmless(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(trained(spec), path)
    content, arrays = unpack(path.read_bytes(), KIND, VERSION, "model")
    refused = 0
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for key in content:
        changes += [({**content, key: value}, arrays) for value in ODD_VALUES]
        changes.append(({k: v for k, v in content.items() if k != key}, arrays))
    for option in content["options"]:
        for value in ODD_VALUES:
            changes.append(({**content, "options": {**content["options"], option: value}}, arrays))
    for name, array in arrays.items():
        changes += [(content, {**arrays, name: changed}) for _, changed in mutated_arrays(array)]
    for changed_content, changed_arrays in changes:
        path.write_bytes(pack(KIND, VERSION, changed_content, changed_arrays))
        try:
            loaded = load(path)
        except DamagedError:
            refused += 1
            continue
        if not loaded.names.columns:
            use(loaded)  # with NUMBA_BOUNDSCHECK=1, an index out of range is an error
    assert refused > len(changes) / 2


def test_estimators_are_saved_with_their_classes(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="pip install 'wirerank[sklearn]'")
    from learners.estimators import AROWClassifier, MMPClassifier, PRankClassifier

    X = np.abs(np.random.default_rng(0).normal(size=(30, 4)))
    names = np.array(["grain", "ship", "trade"])[np.arange(30) % 3]
    for model, y in (
        (MMPClassifier(loss=2, epochs=2), names),
        (AROWClassifier(), (X > 0.5).astype(int)),
        (PRankClassifier(), np.arange(30) % 3 * 2.0),
        (PRankClassifier(), np.zeros(30, bool)),
    ):
        save(model.fit(X, y), tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert loaded.get_params() == model.get_params()
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert np.array_equal(loaded.classes_, model.classes_)
        for one in (loaded, model):
            one.partial_fit(X, y)
        assert np.array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(SavingError, match="Expected a learner"):
        save(MMPClassifier(), tmp_path / "model")


def test_saving_is_offered_by_the_package(tmp_path: Path) -> None:
    import pipeline

    model = FeatureFocus()
    model.learn_one({"wheat": 1.0}, "grain")
    pipeline.save(model, tmp_path / "model")
    loaded = pipeline.load(tmp_path / "model")
    assert loaded.rank_one({"wheat": 1.0}) == model.rank_one({"wheat": 1.0})
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pipeline.nothing  # noqa: B018
    assert Frequency().topics == []
