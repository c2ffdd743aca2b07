"""`make bench`: speed compared with other programs, numpy and a bare Kafka loop, and memory.

Timings vary from machine to machine and from minute to minute; compare the ratios.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import (
    classes,
    costs,
    formats,
    mapping,
    memory,
    ordinal,
    profiles,
    python_interface,
    rankers,
    ranking,
    rcv1,
    serve,
    shards,
    speed,
    startup,
    storage,
    stream,
    threads,
)
from tests.bench.peers import __main__ as peers
from tests.bench.peers.comparison import Effort
from tests.support.rcv1_standin import FULL_SIZE


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--documents", type=int, default=20_000, help="number of documents of the speed comparisons"
    )
    parser.add_argument(
        "--long", type=int, default=1_000_000, help="number of documents of the memory run"
    )
    parser.add_argument(
        "--rcv1", type=int, default=FULL_SIZE, help="number of documents of the RCV1 stand-in"
    )
    parser.add_argument(
        "--text", type=Path, default=classes.AUSTEN, help="text whose words are predicted"
    )
    parser.add_argument(
        "--only",
        choices=(
            "startup",
            "speed",
            "formats",
            "mapping",
            "profiles",
            "ordinal",
            "python",
            "classes",
            "words",
            "rankers",
            "ranking",
            "serve",
            "storage",
            "stream",
            "shards",
            "costs",
            "threads",
            "memory",
            "hostile",
            "rcv1",
            "peers",
        ),
    )
    asked = parser.parse_args()
    documents = asked.documents
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Callable[[], None]] = {
            "startup": startup.run,
            "storage": lambda: storage.run(documents),
            "speed": lambda: speed.run(documents, folder),
            "formats": lambda: formats.run(documents, folder),
            "mapping": lambda: mapping.run(documents),
            "profiles": lambda: profiles.run(documents),
            "ordinal": lambda: ordinal.run(documents),
            "python": lambda: python_interface.run(documents),
            "classes": lambda: classes.run(5 * documents, folder),
            "words": lambda: classes.run_words(asked.text, folder),
            "rankers": rankers.run,
            "ranking": lambda: ranking.run(documents, folder),
            "serve": lambda: serve.run(documents, folder),
            "stream": lambda: stream.run(4 * documents, folder),
            "shards": lambda: shards.run(documents, folder),
            "costs": lambda: costs.run(folder),
            "threads": lambda: threads.run(documents),
            "memory": lambda: memory.run(asked.long),
            "hostile": memory.run_hostile,
            "rcv1": lambda: rcv1.run(asked.rcv1, folder),
            "peers": lambda: peers.run(list(peers.PARTS), True, Effort()),
        }
        for part, run in parts.items():
            if asked.only in (None, part):
                run()


if __name__ == "__main__":
    main()
