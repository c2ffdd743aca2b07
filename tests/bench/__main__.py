"""`make bench`: speed against Vowpal Wabbit and a bare Kafka loop, many classes, shards, memory.

Timings vary from machine to machine and from minute to minute; the ratios are what counts.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.bench import classes, memory, shards, speed, startup, stream


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000, help="for the speed comparisons")
    parser.add_argument("--long", type=int, default=1_000_000, help="documents for the memory run")
    parser.add_argument("--text", type=Path, default=classes.AUSTEN, help="words to predict")
    parser.add_argument(
        "--only", choices=("speed", "classes", "words", "stream", "shards", "memory", "startup")
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.only in (None, "startup"):
            startup.run()
        if arguments.only in (None, "speed"):
            speed.run(arguments.documents, Path(folder))
        if arguments.only in (None, "classes"):
            classes.run(5 * arguments.documents, Path(folder))
        if arguments.only in (None, "words"):
            classes.run_words(arguments.text, Path(folder))
        if arguments.only in (None, "stream"):
            stream.run(4 * arguments.documents, Path(folder))
        if arguments.only in (None, "shards"):
            shards.run(arguments.documents)
        if arguments.only in (None, "memory"):
            memory.run(arguments.long)


if __name__ == "__main__":
    main()
