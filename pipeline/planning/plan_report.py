"""A plan and its simulation as text for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.planning.cost_model import Costs
from pipeline.planning.plan import GIB, TOKENIZER_BYTES, Plan, WorkerPlan
from pipeline.planning.simulation import SimulationResult
from pipeline.reports.report import aligned

DEFAULT_MAX_TOPICS, DEFAULT_MAX_TERMS, DEFAULT_PARTITIONS = 2048, 1 << 17, 4


def plan_text(plan: Plan, costs: Costs) -> str:
    """The plan as a table, and what follows from it."""
    demand = plan.demand
    head = (
        f"{demand.documents_per_second:,g} documents/s at the peak, {demand.topics:,} topics, "
        f"{demand.terms:,} terms per document, {demand.vocabulary:,} terms in all"
    )
    rows = [("process", "number", "cores each", "memory each", "documents/s at most", "busy")]
    rate = demand.documents_per_second
    rows.append((
        "tokenizer", str(plan.tokenizers), "1", memory(TOKENIZER_BYTES),
        f"{plan.tokenizer_capacity:,.0f}", f"{rate / plan.tokenizer_capacity:.0%}",
    ))  # fmt: skip
    for worker in plan.workers:
        group = worker.group
        what = "shard of" if group.shards > 1 else "learner of"
        rows.append((
            f"{what} {group.name}", str(group.shards), str(group.threads),
            memory(worker.memory), f"{worker.capacity:,.0f}", f"{worker.utilisation:.0%}",
        ))  # fmt: skip
    return "\n".join((head, "", aligned(rows), "", listed(facts(plan, costs)), *settings(plan)))


def facts(plan: Plan, costs: Costs) -> list[tuple[str, str]]:
    """What follows from a plan, line by line."""
    demand = plan.demand
    per_machine = f"{demand.cores_per_machine} cores, {demand.memory_per_machine:g} GiB"
    sizes = ", ".join(f"{name} {size:,.0f}" for name, size in plan.bytes_per_document.items())
    kept = "for ever: it grows by"
    if plan.log_bytes is not None:
        kept = f"for {demand.log_days:g} days: {size(plan.log_bytes)} in all, with"
    log_a_day = demand.documents_per_second * 86_400 * plan.bytes_per_document["log"]
    copies = min(demand.replication, plan.brokers)
    lines = [
        ("machines for these", f"{plan.machines} ({per_machine})"),
        ("cores", str(plan.cores)),
        ("brokers", f"{plan.brokers}, {copies} copies of everything"),
        ("each broker", f"{size(plan.broker_in)}/s in, {size(plan.broker_out)}/s out"),
        ("bytes per document", sizes),
        ("log and rankings", f"{size(plan.stored_per_day)} per day on all brokers"),
        ("log is kept", f"{kept} {size(log_a_day * copies)} per day"),
        ("documents per block", f"{plan.block:,.0f}"),
        ("full first", f"{plan.limit}, at {plan.limit_rate:,.0f} documents/s"),
        ("one core alone", f"{plan.one_core:,.0f} documents/s"),
        ("costs measured", measured(costs)),
    ]
    return lines


def listed(lines: Sequence[tuple[str, str]]) -> str:
    """Names and values below each other, both flush left."""
    width = max(len(name) for name, _ in lines) + 2
    return "\n".join(f"{name}:".ljust(width) + value for name, value in lines)


def measured(costs: Costs) -> str:
    """Where the costs come from."""
    machine = costs.machine
    parts = [machine.get(name, "") for name in ("measured", "processor", "python")]
    return ", ".join(part for part in parts if part)


def settings(plan: Plan) -> list[str]:
    """The settings of a stream that differ from their defaults."""
    demand, lines = plan.demand, []
    if demand.topics > DEFAULT_MAX_TOPICS:
        lines.append(f"max_topics = {demand.topics}")
    if demand.vocabulary != DEFAULT_MAX_TERMS:
        lines.append(f"max_terms = {demand.vocabulary}")
    if plan.tokenizers > DEFAULT_PARTITIONS:
        lines.append(f"partitions = {plan.tokenizers}")
    for worker in plan.workers:
        if worker.group.shards > 1:
            lane = worker.group.lanes[0]
            lines.append(f"shards = {worker.group.shards}  # of lane {lane.name}")
    return ["", "settings of the stream:", *(f"  {line}" for line in lines)] if lines else []


def simulation_text(result: SimulationResult) -> str:
    """A simulation as text."""
    latency = ", ".join(f"{name} {seconds(value)}" for name, value in result.latency.items())
    busy = ", ".join(f"{name} {share:.0%}" for name, share in result.utilisation.items())
    into, out = max(result.broker_bytes)
    lines = [
        ("simulated", f"{result.documents:,} documents in {result.seconds:.1f} s"),
        ("ranked", f"{result.ranked:,}, {result.documents_per_second:,.0f} per second"),
        ("document to ranking", latency),
        ("busy", busy),
        ("shards wait", f"{result.waiting:.0%} of the time"),
        ("busiest broker", f"{size(into)}/s in, {size(out)}/s out"),
    ]
    lines += [
        (
            f"{recovery.what} at {recovery.at:.0f} s",
            f"works again after {seconds(recovery.working)}, "
            f"has caught up after {seconds(recovery.caught_up)}",
        )
        for recovery in result.recoveries
    ]
    return listed(lines)


def plan_content(plan: Plan, costs: Costs) -> dict[str, Any]:
    """The plan as a JSON object."""
    demand = plan.demand
    return {
        "demand": {
            "documents_per_second": demand.documents_per_second,
            "topics": demand.topics,
            "lanes": [lane.name for lane in demand.lanes],
            "terms": demand.terms,
            "vocabulary": demand.vocabulary,
            "headroom": demand.headroom,
        },
        "tokenizers": plan.tokenizers,
        "workers": [worker_content(worker) for worker in plan.workers],
        "brokers": plan.brokers,
        "machines": plan.machines,
        "cores": plan.cores,
        "documents_per_block": plan.block,
        "bytes_per_document": plan.bytes_per_document,
        "broker_bytes_per_second": {"in": plan.broker_in, "out": plan.broker_out},
        "stored_bytes_per_day": plan.stored_per_day,
        "log_bytes": plan.log_bytes,
        "one_core_documents_per_second": plan.one_core,
        "limit": {"what": plan.limit, "documents_per_second": plan.limit_rate},
        "machine": dict(costs.machine),
    }


def worker_content(worker: WorkerPlan) -> dict[str, Any]:
    """A worker as a JSON object."""
    return {
        "lanes": [lane.name for lane in worker.group.lanes],
        "shards": worker.group.shards,
        "threads": worker.group.threads,
        "memory_bytes": worker.memory,
        "documents_per_second": worker.capacity,
        "utilisation": worker.utilisation,
    }


def simulation_content(result: SimulationResult) -> dict[str, Any]:
    """A simulation as a JSON object."""
    return {
        "documents": result.documents,
        "ranked": result.ranked,
        "seconds": result.seconds,
        "documents_per_second": result.documents_per_second,
        "latency_seconds": result.latency,
        "utilisation": result.utilisation,
        "waiting": result.waiting,
        "broker_bytes_per_second": [{"in": i, "out": o} for i, o in result.broker_bytes],
        "recoveries": [recovery._asdict() for recovery in result.recoveries],
    }


def memory(count: float) -> str:
    """Bytes of memory as text."""
    return f"{count / GIB:,.1f} GiB"


def size(count: float) -> str:
    """Bytes as text.

    >>> size(1_234_567), size(12)
    ('1.2 MB', '12 B')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count:.0f} B"


def seconds(value: float) -> str:
    """A duration as text.

    >>> seconds(0.0123), seconds(75)
    ('12 ms', '75.0 s')
    """
    return f"{1000 * value:.0f} ms" if value < 1 else f"{value:,.1f} s"
