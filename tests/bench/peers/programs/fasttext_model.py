"""fastText in its usual form: trained on the first half of the documents, in one thread.

It does not learn online, so it ranks the second half with what it learned from the first. Its time
per document is that of training by documents trained, plus that of ranking by documents ranked.
"""

from __future__ import annotations

import math
from pathlib import Path

import fasttext
import numpy as np

from tests.bench.peers.programs.common import (
    TOP,
    WORD,
    Clock,
    average_precision,
    finish,
    parse,
    read_task,
    text_of,
)

LABEL = "__label__"
PROBE = 100  # documents that tell how many fit into the time limit


def words_of(raw: bytes) -> str:
    """The words of an event, in lower case."""
    return " ".join(WORD.findall(text_of(parse(raw)).lower()))


def train(raw: list[bytes], path: Path, number: dict[str, int]) -> fasttext.FastText._FastText:
    """One binary classifier per topic, with the settings of fastText's tutorial for this case."""
    with path.open("w") as file:
        for event in raw:
            labels = " ".join(f"{LABEL}{number[topic]}" for topic in parse(event)["topics"])
            file.write(f"{labels} {words_of(event)}\n")
    return fasttext.train_supervised(
        str(path), loss="ova", lr=0.5, epoch=25, wordNgrams=2, bucket=200_000, dim=50,
        thread=1, verbose=0, seed=1,
    )  # fmt: skip


def main() -> None:
    task = read_task()
    number = {topic: i for i, topic in enumerate(task.topics)}
    path = Path(task.options["scratch"]) / "train.txt"
    raw, learning, ranking = task.raw(), Clock(), Clock()
    probe = Clock()
    with probe:
        train(raw[:PROBE], path, number)
    half = max(PROBE, min(len(raw) // 2, int(task.limit * PROBE / probe.processor)))
    with learning:
        model = train(raw[:half], path, number)
    quality = []
    for event in raw[len(raw) // 2 :]:
        with ranking:
            model.predict(words_of(event), k=TOP)
        labels, values = model.predict(words_of(event), k=-1)
        scores = np.full(len(number), -1.0)  # topics without an example come last
        scores[[int(label.removeprefix(LABEL)) for label in labels]] = values
        quality.append(average_precision(scores, [number[t] for t in parse(event)["topics"]]))
    # As if each document were both learned and ranked, as by the other programs.
    documents = min(2 * half, len(raw))
    clock = Clock(
        documents * (learning.seconds / half + ranking.seconds / len(quality)),
        documents * (learning.processor / half + ranking.processor / len(quality)),
    )
    finish(documents, clock, [*[math.nan] * (len(raw) - len(quality)), *quality])


if __name__ == "__main__":
    main()
