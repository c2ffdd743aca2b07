"""`wirerank experiment prank-synthetic` and `prank-movielens` against a dense computation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from pipeline.corpora import open_source
from pipeline.experiments.ordinal_ranking import prank_movielens, prank_synthetic
from pipeline.experiments.ordinal_ranking.rank_sequences import kept_rounds
from tests.reference.dense_ordinal import Dense, Floats, products_of_two
from tests.support.command_line import wirerank
from tests.support.ranked_streams import papers_data

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")
pytest.importorskip("scipy", reason="pip install 'wirerank[experiments]'")
ROUNDS = 150


def run(name: str, out: Path, *more: str) -> dict[str, Any]:
    result = wirerank("experiment", name, "--quick", "--out", str(out), *more)
    assert result.exit_code == 0, result.output
    results: dict[str, Any] = orjson.loads((out / "results.json").read_bytes())
    for time in ("seconds", "finished"):  # all else is the same every time
        del results["run"][time]
    return results


def dense_losses(learner: Dense, vectors: Floats, ranks: list[int]) -> list[int]:
    collected = []
    for x, y in zip(vectors, ranks, strict=True):
        collected.append(abs(learner.predict(x)[0] - y))
        learner.learn(x, y)
    return collected


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prank_synthetic, "QUICK_ROUNDS", ROUNDS)
    monkeypatch.setattr(prank_synthetic, "QUICK_HELD_OUT", 2)


@pytest.mark.usefixtures("short")
def test_synthetic_losses_are_those_of_a_dense_computation(tmp_path: Path) -> None:
    results = run("prank-synthetic", tmp_path, "--splits", "2", "--seed", "3")

    def plain(kind: str, use: int, number: int, **options: Any) -> list[int]:  # noqa: ANN401
        points, ranks = papers_data([3, use, number], ROUNDS)
        return dense_losses(Dense(kind, 5, 6, **options), products_of_two(points), ranks.tolist())

    rates = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    tried = {
        rate: [float(np.mean(plain("widrow-hoff", 1, n, rate=rate))) for n in range(2)]
        for rate in rates
    }
    for rate, ends in tried.items():
        kept = [results["parts"][f"held-out sequence {n}"]["losses"][f"wh {rate}"] for n in (1, 2)]
        assert [loss for (loss,) in kept] == pytest.approx(ends)
    best = min(rates, key=lambda rate: np.mean(tried[rate]))
    rounds = kept_rounds(ROUNDS, prank_synthetic.SHOWN)
    for number in range(2):
        part = results["parts"][f"sequence {number + 1}"]
        assert part["chosen"] == {"wh": best}
        for key, losses in (
            ("prank", plain("prank", 0, number)),
            ("average", plain("prank", 0, number, average=True)),
            ("mcp", plain("multiclass-perceptron", 0, number)),
            ("wh", plain("widrow-hoff", 0, number, rate=best)),
            ("wh-bound", plain("widrow-hoff", 0, number, rate=1 / 18)),
        ):
            assert part["summed_losses"][key] == [np.cumsum(losses)[np.array(rounds) - 1].tolist()]
    sums = [results["parts"][f"sequence {n}"]["summed_losses"]["prank"][0][-1] for n in (1, 2)]
    first = results["tables"]["loss-synthetic"]["rows"][0]
    assert first["label"] == "PRank"
    assert first["ours"]["round_100"]["value"] > 0
    claims = results["tables"]["claims-synthetic"]["rows"]
    assert claims[0]["ours"]["lower"]["value"] == pytest.approx(np.mean(sums) / ROUNDS)
    for name in ("curves-synthetic.png", "curves-synthetic.svg", "curves-synthetic.csv"):
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.usefixtures("short")
def test_going_on_gives_the_same_as_one_run(tmp_path: Path) -> None:
    whole = run("prank-synthetic", tmp_path / "whole", "--splits", "3")
    run("prank-synthetic", tmp_path / "again", "--splits", "2")
    (tmp_path / "again" / "parts" / "sequence-1.json").unlink()
    again = run("prank-synthetic", tmp_path / "again", "--splits", "3")
    assert again == whole
    names = sorted(path.name for path in (tmp_path / "whole").iterdir() if path.is_file())
    assert "curves-synthetic.svg" in names
    names.remove("results.json")  # it has the times of the run, and was compared
    for name in names:
        one, other = (tmp_path / folder / name for folder in ("whole", "again"))
        assert one.read_bytes() == other.read_bytes(), name
    result = wirerank("experiment", "prank-synthetic", "--out", str(tmp_path / "again"))
    assert result.exit_code == 2
    assert "rounds differ" in result.stderr


def test_synthetic_data_need_no_data() -> None:
    result = wirerank("experiment", "prank-synthetic", "--quick", "--data", ".")
    assert result.exit_code == 2
    assert "makes its own data; leave out --data" in result.stderr


def write_ratings(folder: Path, viewers: int, films: int, rated: int) -> Path:
    """Ratings of viewers with two tastes, in the format of MovieLens 100K."""
    folder.mkdir()
    # With this seed no averaged score is on an averaged threshold, where the dense computation,
    # which takes the mean of a list of models, would be at the mercy of its rounding.
    rng = np.random.default_rng(7)
    good = rng.integers(1, 6, (2, films))
    lines: list[str] = []
    for viewer in range(1, viewers + 1):
        for film in rng.permutation(films)[: rated + viewer].tolist():
            stars = int(np.clip(good[viewer % 2, film] + rng.integers(-1, 2), 1, 5))
            lines.append(f"{viewer}\t{film + 1}\t{stars}\t{880000000 + len(lines)}\n")
    (folder / "u.data").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ratings(tmp_path_factory.mktemp("data") / "ml-100k", 9, 150, 97)


def test_movielens_losses_are_those_of_a_dense_computation(ratings: Path, tmp_path: Path) -> None:
    results = run("prank-movielens", tmp_path, "--data", str(ratings.parent), "--splits", "4")
    assert results["remarks"][-1] == (
        "Fewer than 5 viewers have rated 200 films, so that part is left out."
    )
    eligible = range(3, 10)  # viewer 3 has rated 100 films, and viewer 2 one less
    order = np.random.default_rng([0, 100]).permutation(eligible).tolist()
    held_out, measured = order[:1], order[1:5]  # a fifth of seven

    def sequence(viewer: int) -> tuple[Floats, list[int]]:
        source = open_source(f"movielens:{ratings},user={viewer},least=100")
        events = {int(e["id"].split("-")[1]): e for e in map(orjson.loads, source)}
        films = np.random.default_rng([0, 100, viewer]).permutation(sorted(events))[:100]
        others = [str(other) for other in eligible if other != viewer]
        vectors = [[events[f]["features"].get(o, 0.0) for o in others] for f in films.tolist()]
        return np.array(vectors), [events[f]["rank"] for f in films.tolist()]

    def plain(viewer: int, kind: str, constant: bool = False, scale: float = 1.0,
              **options: Any) -> list[int]:  # noqa: ANN401  # fmt: skip
        vectors, ranks = sequence(viewer)
        vectors = vectors * scale
        if constant:
            vectors = np.hstack([vectors, np.ones((100, 1))])
        return dense_losses(Dense(kind, 5, vectors.shape[1], **options), vectors, ranks)

    ((held_part, held),) = ((k, v) for k, v in results["parts"].items() if "held-out" in k)
    assert held_part == "least 100 held-out viewers 1 to 1"
    for rate in prank_movielens.RATES:
        expected = float(np.mean(plain(held_out[0], "widrow-hoff", rate=rate)))
        assert held["losses"][f"wh {rate:g}"] == pytest.approx([expected])
    part = results["parts"]["least 100 viewers 1 to 4"]
    chosen = part["chosen"]
    assert chosen["wh"] == min(prank_movielens.RATES, key=lambda r: held["losses"][f"wh {r:g}"][0])
    rounds = np.array(kept_rounds(100, prank_movielens.SHOWN))
    for place, viewer in enumerate(measured):
        for key, losses in (
            ("prank", plain(viewer, "prank")),
            ("wh", plain(viewer, "widrow-hoff", rate=chosen["wh"])),
            ("mcp", plain(viewer, "multiclass-perceptron")),
            ("average", plain(viewer, "prank", average=True)),
            ("scaled", plain(viewer, "prank", scale=chosen["scaled"])),
            ("wh-constant", plain(viewer, "widrow-hoff", True, rate=chosen["wh-constant"])),
            ("mcp-constant", plain(viewer, "multiclass-perceptron", True)),
        ):
            assert part["summed_losses"][key][place] == np.cumsum(losses)[rounds - 1].tolist(), key
    for name in ("curves-movielens.png", "variants-movielens.svg", "curves-least-100.csv"):
        assert (tmp_path / name).stat().st_size > 0


def test_more_viewers_go_on_from_fewer(ratings: Path, tmp_path: Path) -> None:
    more = ("--data", f"movielens:{ratings}", "--splits")
    run("prank-movielens", tmp_path / "again", *more, "2")
    again = run("prank-movielens", tmp_path / "again", *more, "4")
    whole = run("prank-movielens", tmp_path / "whole", *more, "4")
    assert again == whole


def test_both_numbers_of_films_are_looked_at(tmp_path: Path) -> None:
    data = write_ratings(tmp_path / "ml-1", 6, 230, 200)
    results = run("prank-movielens", tmp_path / "out", "--data", str(data))
    assert {"loss-least-100", "loss-least-200"} <= results["tables"].keys()
    assert results["tables"]["loss-least-200"]["rows"][0]["ours"]["round_200"] is not None
    assert results["tables"]["loss-least-100"]["title"].endswith("5 repetitions")


def test_missing_ratings_are_named(tmp_path: Path) -> None:
    result = wirerank("experiment", "prank-movielens", "--data", str(tmp_path))
    assert result.exit_code == 2
    assert "expected --data movielens:PATH (MovieLens 100K or 1M" in result.stderr
    few = write_ratings(tmp_path / "ml-few", 3, 150, 120)
    result = wirerank("experiment", "prank-movielens", "--data", str(few), "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "has 3 viewers with at least 100 rated films; expected 5 or more" in result.stderr
