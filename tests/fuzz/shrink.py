"""Makes the input of a finding smaller, as long as the finding stays the same."""

from __future__ import annotations

from collections.abc import Callable

MOST_TRIES = 400


def shrunk(data: bytes, still_found: Callable[[bytes], bool], tries: int = MOST_TRIES) -> bytes:
    """Return a smaller input for which `still_found` holds: removes pieces, large ones first."""
    size = max(1, len(data) // 2)
    while size and tries:
        start = 0
        while start < len(data) and tries:
            candidate = data[:start] + data[start + size :]
            tries -= 1
            if candidate != data and still_found(candidate):
                data = candidate
            else:
                start += size
        size //= 2
    return data
