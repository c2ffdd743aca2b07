"""Vowpal Wabbit in its usual form: text to a file of words, and one pass over that file.

Predictions are written before each document is learned, as Vowpal Wabbit always does. `--plt`
writes the best topics, and `--multilabel_oaa` those that it accepts, in no order. With `quality=1`
both write scores, so that rankings can be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import vowpalwabbit

from tests.bench.peers.programs.common import (
    TOP,
    WORD,
    Clock,
    Task,
    average_precision,
    finish,
    parse,
    read_task,
    text_of,
)

MEASURED_TOP = 200  # topics of a ranking by `--plt` that is measured; all would take minutes
PROBE = 40  # documents that tell how many fit into the time limit
BITS = {100: 24, 1_000: 26, 10_000: 28}  # weights by number of topics, so that few collide


def bits_for(topics: int) -> int:
    """The size of the weight table."""
    return next(bits for most, bits in BITS.items() if topics <= most)


def arguments_for(name: str, topics: int, measured: int) -> str:
    """The arguments of Vowpal Wabbit; with all scores if a number of documents is measured.

    Version 9.11 writes the scores of an earlier document for every example that it keeps in a used
    place of its queue. So the queue then has a place for each document.
    """
    common = f"-b {bits_for(topics)} --quiet --loss_function logistic"
    if name == "plt":
        scores = f"{min(topics, MEASURED_TOP)} --probabilities"
        return f"--plt {topics} {common} --top_k {scores if measured else TOP}"
    scores = f"--probabilities --link logistic --example_queue_limit {measured + 1}"
    return f"--multilabel_oaa {topics} {common} {scores if measured else ''}"


def new_lines(topics: list[str]) -> Callable[[bytes], str]:
    """A function that makes a line in Vowpal Wabbit's format of an event."""
    number = {topic: i for i, topic in enumerate(topics)}

    def line(raw: bytes) -> str:
        event = parse(raw)
        # Ascending: `--multilabel_oaa` overlooks a label that comes after a greater one.
        labels = ",".join(map(str, sorted(number[topic] for topic in event["topics"])))
        return f"{labels} | {' '.join(WORD.findall(text_of(event).lower()))}\n"

    return line


def one_pass(task: Task, arguments: str, raw: list[bytes], folder: Path) -> Clock:
    """Convert documents and learn them, from text to predictions in a file."""
    line, clock = new_lines(task.topics), Clock()
    data, predictions = folder / "words.vw", folder / "predictions.txt"
    with clock:
        with data.open("w") as file:
            file.writelines(map(line, raw))
        workspace = vowpalwabbit.Workspace(f"{arguments} -d {data} -p {predictions}")
        workspace.finish()
    return clock


def predicted(path: Path, topics: int) -> Iterator[np.ndarray]:
    """The scores of all topics, document by document."""
    with path.open() as file:
        for line in file:
            if pairs := line.replace(",", " ").split():
                scores = np.zeros(topics)
                for pair in pairs:
                    topic, _, score = pair.partition(":")
                    scores[int(topic)] = float(score)
                yield scores


def main() -> None:
    task = read_task()
    measure, topics = "quality" in task.options, len(task.topics)
    folder, raw = Path(task.options["scratch"]), task.raw()
    arguments = arguments_for(task.options["reduction"], topics, len(raw) if measure else 0)
    nothing = one_pass(task, arguments, raw[:1], folder)
    if not measure:
        some = one_pass(task, arguments, raw[: PROBE + 1], folder)
        each = max((some.processor - nothing.processor) / PROBE, 1e-6)
        raw = raw[: max(PROBE, int(task.limit / each))]
    clock = one_pass(task, arguments, raw, folder)
    clock.seconds -= nothing.seconds  # the start of Vowpal Wabbit: its table of weights
    clock.processor -= nothing.processor
    quality = None
    if measure:
        number = {topic: i for i, topic in enumerate(task.topics)}
        relevant = ([number[topic] for topic in parse(event)["topics"]] for event in raw)
        scores = predicted(folder / "predictions.txt", topics)
        quality = [average_precision(s, r) for s, r in zip(scores, relevant, strict=True)]
    finish(len(raw), clock, quality)


if __name__ == "__main__":
    main()
