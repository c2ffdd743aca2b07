"""Take the weights of a lane out of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.models.frozen_lanes import load_frozen_lanes
from pipeline.storage.output_files import STANDARD_OUTPUT, check_outputs
from pipeline.weights.lane_weights import lane_weights, why_nonlinear
from pipeline.weights.weights_file import write_weights, writer_for


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    lane: str
    file: str  # that the lane was read from
    terms: int
    topics: int


def export_weights(
    model: Path, target: Path, lane: str | None, warn: Callable[[str], None]
) -> Exported:
    """Write the weights of one lane of a model to a file whose ending says the format.

    Raises UsageError if that cannot be done, `DamagedError` if the model is damaged.
    """
    if target == STANDARD_OUTPUT:
        raise UsageError("Weights are written to a file, not to standard output: name one.")
    writer_for(target)
    check_outputs([target], [model])
    parts = load_frozen_lanes(model, [lane] if lane else [], warn)
    lanes = [(part, one) for part in parts for one in part.engine.lanes]
    if not lanes:
        raise UsageError(f"{model} has no lanes, so there are no weights to write.")
    if len(lanes) != 1:
        names = ", ".join(one.name for _, one in lanes)
        raise UsageError(f"{model} has several lanes. Choose one with --lane: {names}.")
    part, chosen = lanes[0]
    weights = lane_weights(part, chosen)
    if weights is None:
        raise UsageError(why_nonlinear(chosen))
    write_weights(target, weights)
    return Exported(chosen.name, part.name, len(weights.vocabulary), len(weights.columns))
