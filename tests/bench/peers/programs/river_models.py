"""River in its usual form: tf-idf of words, and one logistic regression per topic."""

from __future__ import annotations

import numpy as np
from river import feature_extraction, linear_model

from tests.bench.peers.programs.common import (
    Clock,
    average_precision,
    best,
    finish,
    parse,
    read_task,
    text_of,
)


def main() -> None:
    task = read_task()
    topics = task.topics
    kind = {"logistic": linear_model.LogisticRegression, "perceptron": linear_model.Perceptron}
    models = [(topic, kind[task.options["model"]]()) for topic in topics]
    words = feature_extraction.TFIDF(lowercase=True)
    number = {topic: i for i, topic in enumerate(topics)}
    raw, clock, quality = task.raw(), Clock(), list[float]()
    for event in map(parse, raw):
        if clock.processor > task.limit:
            break
        with clock:
            text, relevant = text_of(event), set(event["topics"])
            words.learn_one(text)
            x = words.transform_one(text)
            scores = np.array([model.predict_proba_one(x).get(True, 0.0) for _, model in models])
            best(scores)
            for topic, model in models:
                model.learn_one(x, topic in relevant)
        quality.append(average_precision(scores, [number[topic] for topic in event["topics"]]))
    finish(len(quality), clock, quality)


if __name__ == "__main__":
    main()
