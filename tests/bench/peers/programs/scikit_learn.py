"""scikit-learn in its usual online form: hashed words, one SGD classifier per topic, in blocks.

`OneVsRestClassifier.partial_fit` refuses documents with several topics, so the classifiers are a
list. A block is ranked as a whole, and then learned.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from tests.bench.peers.programs.common import (
    Clock,
    average_precision,
    best,
    finish,
    parse,
    read_task,
    text_of,
)

BLOCK = 250
FEATURES = 2**16  # the default, 2**20, would need 84 GB of weights for 10,000 topics


def main() -> None:
    warnings.simplefilter("ignore")  # topics without an example yet
    task = read_task()
    topics = {topic: i for i, topic in enumerate(task.topics)}
    vectorizer = HashingVectorizer(n_features=FEATURES, alternate_sign=False)
    models = [SGDClassifier(loss="log_loss", random_state=0) for _ in topics]
    raw, clock, quality = task.raw(), Clock(), list[float]()
    done = 0
    while done < len(raw) and clock.processor < task.limit:
        with clock:
            events = [parse(event) for event in raw[done : done + BLOCK]]
            X = vectorizer.transform(map(text_of, events))
            labels = np.zeros((len(events), len(topics)), np.int8)
            for number, event in enumerate(events):
                labels[number, [topics[topic] for topic in event["topics"]]] = 1
            scores = np.zeros(labels.shape)
            if done:
                for topic, model in enumerate(models):
                    scores[:, topic] = model.decision_function(X)
            for row in scores:
                best(row)
            for topic, model in enumerate(models):
                model.partial_fit(X, labels[:, topic], classes=(0, 1))
        quality += [
            average_precision(row, np.flatnonzero(y).tolist())
            for row, y in zip(scores, labels, strict=True)
        ]
        done += len(events)
    finish(done, clock, quality)


if __name__ == "__main__":
    main()
