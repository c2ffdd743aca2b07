"""A trained ranker: it scores query-document sets, and can be saved to a file.

The file is a container of named arrays (`pipeline/storage/container.py`): weights and cuts, bit for
bit, with the names of the functions, the form of the features and the training settings. Nothing
in the file is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from learners.arrays import Floats
from pipeline.errors import UsageError
from pipeline.retrieval.features import Description, Form
from pipeline.retrieval.measures import ranking
from pipeline.retrieval.query_sets import QuerySet
from pipeline.storage.container import DamagedError, pack, unpack
from pipeline.storage.output_files import write_whole

KIND, VERSION = b"WRRK", 1
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Ranker:
    """Weights for the features of documents that certain functions have scored."""

    functions: tuple[str, ...]
    description: Description
    weights: Floats
    settings: Mapping[str, Any] = field(default_factory=dict)  # how it was trained, for the record

    def scores(self, queries: QuerySet) -> Floats:
        """The score of every document."""
        if queries.functions != self.functions:
            raise UsageError(
                f"this ranker was trained on the functions {shown(self.functions)}; expected the "
                f"same functions in the same order, found {shown(queries.functions)}"
            )
        return self.description.of(queries).scores(self.weights)

    def ranked(self, queries: QuerySet, top: int = 1000) -> dict[str, list[tuple[str, float]]]:
        """The first documents of each query with their scores, best first."""
        scores = self.scores(queries)
        rankings = {}
        for query, start, stop in zip(
            queries.queries, queries.starts[:-1], queries.starts[1:], strict=True
        ):
            order = start + ranking(scores[start:stop])[:top]
            rankings[query] = [(queries.documents[row], float(scores[row])) for row in order]
        return rankings

    def save(self, path: Path) -> None:
        """Write the ranker to a file, completely or not at all."""
        form = self.description.form
        content = {
            "functions": list(self.functions),
            "normalise": form.normalise,
            "cuts": form.cuts,
            "settings": dict(self.settings),
        }
        arrays = {"weights": self.weights, "cuts": self.description.cuts}
        write_whole(path, pack(KIND, VERSION, content, arrays))

    @classmethod
    def load(cls, path: Path) -> Ranker:
        """Read a ranker from a file; UsageError if the file is damaged or something else."""
        try:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise DamagedError(
                    f"{path} is larger than any ranker: more than {MOST_BYTES:,} bytes"
                )
            content, arrays = unpack(data, KIND, VERSION, str(path))
            return cls._unpacked(content, arrays, path)
        except DamagedError as error:
            raise UsageError(
                f"{error}. Expected a file that a ranker was saved to; save the ranker again."
            ) from None
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None

    @classmethod
    def _unpacked(cls, content: Mapping[str, Any], arrays: Mapping[str, Any], path: Path) -> Ranker:
        wrong = DamagedError(f"{path} is damaged: its arrays and settings do not fit together")
        try:
            functions = tuple(content["functions"])
            form = Form(content["normalise"], content["cuts"])
            weights, cuts = arrays["weights"], arrays["cuts"]
            settings = dict(content["settings"])
        except (KeyError, TypeError, ValueError):
            raise wrong from None
        ranker = cls(functions, Description(form, cuts), weights, settings)
        sound = (
            all(isinstance(name, str) for name in functions)
            and weights.dtype == cuts.dtype == np.float64
            and cuts.shape == (len(functions), form.cuts)
            and weights.shape == (ranker.description.width,)
            and bool(np.isfinite(weights).all())
        )
        if not sound:
            raise wrong
        return ranker


def shown(functions: tuple[str, ...]) -> str:
    """The first names, for a message."""
    more = f" and {len(functions) - 5} more" if len(functions) > 5 else ""
    return ", ".join(functions[:5]) + more
