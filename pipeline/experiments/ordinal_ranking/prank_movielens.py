"""`prank-movielens`: predicts a viewer's ratings of films from the ratings of other viewers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from learners.arrays import Floats, Longs
from pipeline.corpora.movielens import MIDDLE, STARS, WIDTH, ratings_in
from pipeline.errors import UsageError
from pipeline.experiments.experiment import (
    Drawing,
    Experiment,
    Findings,
    Need,
    Part,
    Result,
    Series,
)
from pipeline.experiments.figures import draw_bands
from pipeline.experiments.ordinal_ranking.claims import Claim
from pipeline.experiments.ordinal_ranking.method_comparison import (
    Batch,
    MethodComparison,
    curves_csv,
    panel_of,
    tables_of,
)
from pipeline.experiments.ordinal_ranking.prank_synthetic import PAPER
from pipeline.experiments.ordinal_ranking.rank_sequences import OrdinalMethod, RankSequence
from pipeline.reports.plots import COLOURS

LEASTS = (100, 200)  # minimum of rated films per viewer, and length of the sequence
FEWEST = 5  # viewers; one of them is held out
HELD_OUT_SHARE = 0.2
BATCH = 20  # viewers
RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
SCALES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
SHOWN = (10, 20, 50, 100, 150, 200)

PAPERS = (
    OrdinalMethod("prank", "PRank", COLOURS[0], "prank"),
    OrdinalMethod("wh", "Widrow-Hoff", COLOURS[1], "widrow-hoff:rate={}", RATES),
    OrdinalMethod("mcp", "multiclass perceptron", COLOURS[2], "multiclass-perceptron"),
)
AVERAGE = OrdinalMethod("average", "PRank, averaged", COLOURS[3], "prank:average=true", ours=True)
VARIANTS = (
    OrdinalMethod("scaled", "PRank", COLOURS[4], "prank", SCALES, scaled=True, ours=True),
    OrdinalMethod(
        "average-scaled", "PRank, averaged", COLOURS[6], "prank:average=true", SCALES,
        scaled=True, ours=True,
    ),
    OrdinalMethod(
        "wh-constant", "Widrow-Hoff, constant feature", COLOURS[1], "widrow-hoff:rate={}", RATES,
        constant=True, ours=True,
    ),
    OrdinalMethod(
        "mcp-constant", "multiclass perceptron, constant feature", COLOURS[2],
        "multiclass-perceptron", constant=True, ours=True,
    ),
    OrdinalMethod("constant", "best constant rank in hindsight", COLOURS[7], "", ours=True),
)  # fmt: skip
METHODS = (*PAPERS, AVERAGE, *VARIANTS)
CLAIMS = (
    Claim("PRank ends below Widrow-Hoff", ("prank",), ("wh",)),
    Claim("PRank ends below the multiclass perceptron", ("prank",), ("mcp",)),
    Claim("averaged PRank ends below all three", ("average",), ("prank", "wh", "mcp"), ours=True),
    Claim(
        "PRank with scaled features ends below Widrow-Hoff with a constant feature",
        ("scaled",), ("wh-constant",), ours=True,
    ),
    Claim(
        "PRank with scaled features ends below the multiclass perceptron",
        ("scaled",), ("mcp",), ours=True,
    ),
    Claim(
        "averaged PRank with scaled features ends below all others that learn",
        ("average-scaled",),
        ("prank", "scaled", "wh", "wh-constant", "mcp", "mcp-constant"), ours=True,
    ),
)  # fmt: skip

MOVIELENS = Need(
    "movielens", "MovieLens 100K or 1M: its folder or archive", r"movielens|^ml-", ratings_in
)


class Viewers:
    """The viewers with at least `least` rated films, and their ratings."""

    def __init__(self, ratings: Longs, least: int, seed: int) -> None:
        viewers, counts = np.unique(ratings[:, 0], return_counts=True)
        self.least, self.seed = least, seed
        self.active: Longs = viewers[counts >= least]
        ratings = ratings[np.isin(ratings[:, 0], self.active)]
        films, places = np.unique(ratings[:, 1], return_inverse=True)
        self._stars = np.zeros((len(self.active), len(films)), np.int8)
        self._stars[np.searchsorted(self.active, ratings[:, 0]), places] = ratings[:, 2]

    def __len__(self) -> int:
        return len(self.active)

    def random_split(self) -> tuple[Longs, Longs]:
        """The viewers on which settings are chosen, and those who are measured; random order."""
        order = np.random.default_rng([self.seed, self.least]).permutation(self.active)
        cut = max(1, round(len(order) * HELD_OUT_SHARE))
        return order[:cut], order[cut:]

    def sequence(self, viewer: int) -> RankSequence:
        """The films of a viewer in random order; the features are the other viewers' ratings.

        A film that another viewer did not rate has the value 0.
        """
        (place,) = np.flatnonzero(self.active == viewer)
        rng = np.random.default_rng([self.seed, self.least, int(viewer)])
        films = rng.permutation(np.flatnonzero(self._stars[place]))[: self.least]
        stars = np.delete(self._stars[:, films], place, axis=0).T
        vectors: Floats = np.where(stars > 0, (stars - float(MIDDLE)) / WIDTH, 0.0)
        return RankSequence(vectors, self._stars[place, films].astype(np.int64))


class PRankMovieLens(Experiment):
    """The middle and right parts of figure 3 of the paper, whose corpus has been withdrawn."""

    name = "prank-movielens"
    title = "ordinal ranking of films from the ratings of other viewers"
    paper = PAPER
    needs = (MOVIELENS,)
    packages = ("matplotlib", "scipy")
    splits = (500, 20)

    def recorded_settings(self) -> Mapping[str, Any]:
        """The seed, the share of held-out viewers, and the lanes."""
        return {
            "seed": self.settings.seed,
            "quick": self.settings.quick,
            "least": LEASTS,
            "held_out_share": HELD_OUT_SHARE,
            "features": "(stars - 3) / 4 of the other viewers with as many films; not rated 0",
            "order": "random",
            "lanes": {method.key: method.spec for method in METHODS},
            "rates": RATES,
            "scales": SCALES,
        }

    @cached_property
    def _viewers(self) -> Sequence[Viewers]:
        path: Path = self.data["movielens"]
        ratings = ratings_in(path)
        every = [Viewers(ratings, least, self.settings.seed) for least in LEASTS]
        enough = [viewers for viewers in every if len(viewers) >= FEWEST]
        if not enough:
            raise UsageError(
                f"{path} has {len(every[0])} viewers with at least {LEASTS[0]} rated films; "
                f"expected {FEWEST} or more, as MovieLens 100K and 1M have."
            )
        return enough

    @cached_property
    def _comparisons(self) -> Sequence[MethodComparison]:
        return [self._comparison(viewers) for viewers in self._viewers]

    def _comparison(self, viewers: Viewers) -> MethodComparison:
        least = viewers.least
        held_out, measured = viewers.random_split()
        if self.settings.quick:
            held_out = held_out[:BATCH]

        def batches(word: str, chosen: Longs) -> list[Batch]:
            made = []
            for start in range(0, len(chosen), BATCH):
                together = chosen[start : start + BATCH].tolist()
                name = f"least {least} {word} {start + 1} to {start + len(together)}"
                made.append(Batch(name, partial(sequences, viewers, together)))
            return made

        return MethodComparison(
            f"least-{least}", f"Viewers of at least {least} films", STARS[1], least,
            tuple(r for r in SHOWN if r <= least), METHODS, CLAIMS,
            batches("held-out viewers", held_out),
            batches("viewers", measured[: self.settings.splits]),
        )  # fmt: skip

    def parts(self) -> Iterator[Part]:
        """First the held-out viewers, then the others; all methods on each."""
        for comparison in self._comparisons:
            yield from comparison.parts(self.known)

    def findings(self, results: Mapping[str, Result]) -> Findings:
        """The tables, the curves and the claims."""
        tables = [table for one in self._comparisons for table in tables_of(one, results)]
        series = [Series(f"curves-{c.name}", curves_csv(c, results)) for c in self._comparisons]
        measure = "time-averaged ranking loss, 95 % confidence interval"
        setting = "round (log scale)"
        drawings = []
        for name, title, methods in (
            ("curves-movielens", "MovieLens: ratings of one viewer", (*PAPERS, AVERAGE)),
            (
                "variants-movielens",
                "MovieLens: ratings of one viewer, with our variants",
                METHODS,
            ),
        ):
            keys = [method.key for method in methods]
            panels = [panel_of(one, results, keys) for one in self._comparisons]
            drawings.append(Drawing(name, partial(draw_bands, title, setting, measure, panels)))
        return Findings(tables, drawings, self._remarks(), series)

    def _remarks(self) -> list[str]:
        counts = ", ".join(
            f"{len(v)} with at least {v.least} films ({len(v.random_split()[0])} held out)"
            for v in self._viewers
        )
        missing = set(LEASTS) - {viewers.least for viewers in self._viewers}
        return [
            f"Viewers: {counts}. The paper uses EachMovie, which has 6 ratings and many more "
            "viewers. It draws 500 of them, and shows its curves only as a picture.",
            "According to the model sizes that the paper states, its Widrow-Hoff and multiclass "
            "perceptron have no constant feature, while PRank has thresholds. The rows with a "
            "constant feature are our variants.",
            "The order of films is random; the paper does not say which order it uses.",
            *(
                f"Fewer than {FEWEST} viewers have rated {least} films, so that part is left out."
                for least in sorted(missing)
            ),
        ]


def sequences(viewers: Viewers, some: Sequence[int]) -> list[RankSequence]:
    """The sequences of some viewers."""
    return [viewers.sequence(viewer) for viewer in some]
