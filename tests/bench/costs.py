"""Measures and fits the cost model: core time, bytes, exchanges and the work of brokers.

`make bench` prints how well the formulas fit, and how the simulation compares with real runs.
`python -m tests.bench.costs --write` also replaces the coefficients that `wirerank plan` uses, and
the tables of docs/measurements/costs.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from learners.specs import parse_spec
from pipeline.engine.lane import new_curve
from pipeline.planning.cost_model import SHIPPED, can_be_divided, fit_all
from pipeline.planning.formula import Sample
from pipeline.planning.machine import machine_facts
from pipeline.planning.measuring import (
    MAX_MODEL_BYTES,
    POINTS,
    Samples,
    Workload,
    known_learners,
    make_workload,
    measure_lanes,
    measure_sets,
    measure_text,
    thread_serial_share,
)
from tests.bench import cluster_costs, costs_page
from tests.bench.shards import Recorder, Replayed, new_shard

SHARDS = (2, 4, 8)
# Topics, words per document and documents per block.
SHARD_POINTS = (
    (1000, 45, 128),
    (1000, 180, 128),
    (5000, 45, 128),
    (1000, 45, 512),
    (1000, 180, 1000),
)
THREADED = "mmp:loss=1"  # the lane whose threads are measured; its threads wait for each other
WARM_UP = 4096  # documents; before, shards of MMP often exchange scores for a single document
TIMED_BLOCKS = 3


def shard_costs(learner: str, shards: int, workload: Workload) -> tuple[float, float, float]:
    """Of one shard: core microseconds and bytes per document, and exchanges per block.

    All shards run once, and what they send is kept. Then the first one runs alone.
    """
    spec = parse_spec(learner)
    segments = [shared.by_norm[spec.norm] for shared in workload.topic_segments]
    recorder = Recorder(shards)
    recorder.record(learner, segments)
    shard, curve = new_shard(learner, Replayed(0, shards, recorder.parts)), new_curve(spec.build())
    began, sent, exchanges = 0.0, 0, 0
    for number, segment in enumerate(segments):
        if number == len(segments) - TIMED_BLOCKS:
            sent, exchanges = shard.part.sent_bytes, shard.part.exchanges
            began = time.process_time()
        scores = shard.new_scores(len(segment.rows), segment.topics)
        shard.follow(segment, scores)
        curve.follow(segment.steps, scores)
    seconds = time.process_time() - began
    documents = TIMED_BLOCKS * workload.block
    return (
        1e6 * seconds / documents,
        (shard.part.sent_bytes - sent) / documents,
        (shard.part.exchanges - exchanges) / TIMED_BLOCKS,
    )


def measure_shards(workloads: list[Workload], learners: Iterable[str]) -> Samples:
    """Costs of the shards of learners, as far as these can be divided."""
    found: Samples = {}
    for learner in learners:
        if not can_be_divided(parse_spec(learner)):
            continue
        for number, workload in enumerate(workloads):
            size = parse_spec(learner).build().max_bytes(workload.vocabulary, workload.topics)
            if size > MAX_MODEL_BYTES:
                continue
            for shards in SHARDS:
                if number == 0 and shards == SHARDS[0]:
                    shard_costs(learner, shards, workload)  # kernels are compiled
                microseconds, sent, exchanges = shard_costs(learner, shards, workload)
                load = workload.load._replace(shards=shards)
                found.setdefault(f"shard {learner}", []).append(Sample(load, microseconds))
                found.setdefault(f"shard bytes {learner}", []).append(Sample(load, sent))
                found.setdefault(f"exchanges {learner}", []).append(Sample(load, exchanges))
        print(f"  shards of {learner} measured", flush=True)
    return found


def run(folder: Path, write: bool = False) -> None:
    """Measure, fit and print; with `write`, keep the result."""
    began = time.monotonic()
    print("Cost model: text and lanes")
    samples = measure_text(lambda line: None)
    workloads = [make_workload(topics, words) for topics, words in POINTS]
    samples.update(measure_lanes(known_learners(), workloads, lambda line: None))
    samples.update(measure_sets(workloads, lambda line: None))
    threaded = parse_spec(THREADED)
    serial = thread_serial_share(workloads[-1], threaded)
    samples["thread serial share"] = [Sample(workloads[-1].load, max(serial, 0.01))]
    del workloads
    print(f"  {time.monotonic() - began:.0f} s\nCost model: shards", flush=True)
    divided = [
        make_workload(topics, words, -(-WARM_UP // size) + TIMED_BLOCKS, size)
        for topics, words, size in SHARD_POINTS
    ]
    samples.update(measure_shards(divided, known_learners()))
    print(f"  {time.monotonic() - began:.0f} s\nCost model: clients and brokers", flush=True)
    del divided
    costs, checks = cluster_costs.run(folder, fit_all(samples), machine_facts())
    print(costs_page.fit_table(costs))
    print(costs_page.check_table(checks))
    print(f"  {time.monotonic() - began:.0f} s in all")
    if write:
        costs.write(SHIPPED)
        costs_page.write(costs, checks)


def main() -> None:
    """Measure on this machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the result in the repository")
    with tempfile.TemporaryDirectory() as name:
        run(Path(name), parser.parse_args().write)


if __name__ == "__main__":
    main()
