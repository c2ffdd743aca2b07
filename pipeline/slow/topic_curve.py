"""Twin of `pipeline/curves/topic_curve.py`."""

from __future__ import annotations


def slow_is_kept(round_: int) -> bool:
    """All rounds up to 128, then 64 per doubling: rounds with at most seven significant bits."""
    return round_ >> max(0, round_.bit_length() - 7) << max(0, round_.bit_length() - 7) == round_
