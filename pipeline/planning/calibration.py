"""Costs of the machine at hand: text and lanes are measured, everything else is scaled to them."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.planning.cost_model import Costs, fit_all
from pipeline.planning.machine import machine_facts
from pipeline.planning.measuring import (
    POINTS,
    Say,
    make_workload,
    measure_lanes,
    measure_sets,
    measure_text,
)

BYTES = ("event bytes", "log bytes")  # equal on every machine


def measure_here(shipped: Costs, learners: Sequence[str], say: Say) -> Costs:
    """Measure the tokenizer, the vocabulary and some learners on this machine."""
    samples = {name: values for name, values in measure_text(say).items() if name not in BYTES}
    workloads = [make_workload(topics, words) for topics, words in POINTS]
    samples.update(measure_lanes(learners, workloads, say))
    samples.update(measure_sets(workloads, say))
    return shipped.scaled(fit_all(samples), machine_facts())
