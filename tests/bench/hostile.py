"""`python -m tests.bench.hostile`: seconds per megabyte of the worst input for every surface."""

from __future__ import annotations

import time

from tests.support.hostile_inputs import HOSTILE, SURFACES

SIZE = 1 << 20


def main() -> None:
    """Print the slowest input of each surface."""
    for surface in SURFACES:
        worst = (0.0, "")
        for hostile in HOSTILE:
            if hostile.surface == surface:
                hostile.read(hostile.make(100))
                data = hostile.make(SIZE)
                started = time.thread_time()
                hostile.read(data)
                worst = max(worst, (time.thread_time() - started, hostile.name))
        print(f"{surface:<20} {worst[0]:6.3f} s/MB  {worst[1]}")


if __name__ == "__main__":
    main()
