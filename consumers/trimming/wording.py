"""What a trim would do, or has done, in words."""

from __future__ import annotations

from consumers.log_settings import FOREVER
from consumers.trimming.trimmer import TrimPlan


def describe_log_state(plan: TrimPlan) -> list[str]:
    """What the log holds, and who needs it."""
    log, kept = plan.log, plan.log.end - plan.log.first
    size = kept * plan.record_bytes
    lines = [
        f"log: {log.topic} has {kept:,} records, offsets {log.first:,} to {log.end:,}, about "
        f"{size / 1e6:,.1f} MB before compression; log.keep = {plan.keep}"
    ]
    lines += [f"not trimmed: {reason}" for reason in plan.refusals]
    return lines


def describe_plan(plan: TrimPlan, done: bool) -> list[str]:
    """What the log holds, what is trimmed, and what is not."""
    lines = describe_log_state(plan)
    if plan.refusals or plan.keep == FOREVER:
        return lines
    limits = " and ".join(need.who for need in plan.limits)
    lines.append(f"needed from offset {plan.bound:,} on by {limits}")
    size = plan.records * plan.record_bytes / 1e6
    if plan.records:
        verb = "trimmed" if done else "to be trimmed"
        lines.append(
            f"{verb}: {plan.records:,} records before offset {plan.target:,}, about {size:,.1f} MB"
        )
    else:
        lines.append("nothing to trim")
    return lines
