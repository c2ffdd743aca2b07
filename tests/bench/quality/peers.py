"""Rankings of the held-out documents by scikit-learn and River, as a user would set them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import MultiLabelBinarizer, Normalizer
from sklearn.svm import LinearSVC

from learners.arrays import Floats
from tests.bench.quality.held_out import Corpus, quality, text_of

COSTS = (0.03, 0.1, 0.3, 1.0, 3.0)
FOLD = 0.8  # of the learned documents; the rest chooses the cost
BLOCK = 1000

Analyzer = Callable[[], TfidfVectorizer]

# What users would choose: words for scripts with spaces, n-grams of characters for others.
ANALYZERS: Mapping[str, Analyzer] = {
    "words": lambda: TfidfVectorizer(sublinear_tf=True),
    "characters": lambda: TfidfVectorizer(
        sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 4), min_df=2
    ),
    "characters 1-3": lambda: TfidfVectorizer(
        sublinear_tf=True, analyzer="char", ngram_range=(1, 3), min_df=2
    ),
}


def matrices(corpus: Corpus, analyzer: str) -> tuple[csr_matrix, csr_matrix, csr_matrix]:
    """The learned and the held-out documents as matrices, and the topics of the former."""
    labels = MultiLabelBinarizer(classes=list(corpus.topics), sparse_output=True)
    Y = labels.fit_transform([event["topics"] for event in corpus.learned]).tocsr()
    if "features" in corpus.learned[0]:
        vectorizer, unit = DictVectorizer(), Normalizer()
        X = unit.fit_transform(vectorizer.fit_transform([e["features"] for e in corpus.learned]))
        held_out = unit.transform(vectorizer.transform([e["features"] for e in corpus.held_out]))
        return X, held_out, Y
    vectorizer = ANALYZERS[analyzer]()
    X = vectorizer.fit_transform([text_of(event) for event in corpus.learned])
    return X, vectorizer.transform([text_of(event) for event in corpus.held_out]), Y


def svm_scores(X: csr_matrix, Y: csr_matrix, held_out: csr_matrix, cost: float) -> Floats:
    """Train one linear SVM per topic, and score documents. Topics without examples come last."""
    scores = np.full((held_out.shape[0], Y.shape[1]), -1e300)
    shares = np.asarray(Y.sum(axis=0)).ravel()
    for topic in np.flatnonzero((shares > 0) & (shares < Y.shape[0])):
        svm = LinearSVC(C=cost, random_state=0, max_iter=3000)
        svm.fit(X, np.asarray(Y[:, [topic]].todense()).ravel())
        scores[:, topic] = svm.decision_function(held_out)
    scores[:, shares == Y.shape[0]] = 1e300
    return scores


def batch_svm(corpus: Corpus, analyzer: str) -> Floats:
    """A linear SVM in batch; its cost is chosen by average precision on part of what it learns."""
    X, held_out, Y = matrices(corpus, analyzer)
    cut = int(FOLD * X.shape[0])
    chosen = np.asarray(Y[cut:].todense(), np.bool_)
    some = chosen.any(axis=1)

    def worth(cost: float) -> float:
        scores = svm_scores(X[:cut], Y[:cut], X[cut:][some], cost)
        return quality(scores, chosen[some]).average_precision

    return svm_scores(X, Y, held_out, max(COSTS, key=worth))


def online_sgd(corpus: Corpus, analyzer: str) -> Floats:
    """Logistic regression by `partial_fit`, one pass in blocks."""
    X, held_out, Y = matrices(corpus, analyzer)
    models = [SGDClassifier(loss="log_loss", random_state=0) for _ in range(Y.shape[1])]
    for start in range(0, X.shape[0], BLOCK):
        some = X[start : start + BLOCK]
        labels = np.asarray(Y[start : start + BLOCK].todense())
        for topic, model in enumerate(models):
            model.partial_fit(some, labels[:, topic], classes=(0, 1))
    return np.stack([model.decision_function(held_out) for model in models], axis=1)


def river_scores(corpus: Corpus, _: str) -> Floats:
    """One logistic regression of River per topic, on its own bag of words with tf-idf."""
    from river import feature_extraction, linear_model

    ready = "features" in corpus.learned[0]
    tfidf = feature_extraction.TFIDF(lowercase=True)
    models = [linear_model.LogisticRegression() for _ in corpus.topics]
    number = {topic: i for i, topic in enumerate(corpus.topics)}

    def features(event: Mapping[str, Any], learn: bool) -> Mapping[str, float]:
        if ready:
            return dict(event["features"])
        text = text_of(event)
        if learn:
            tfidf.learn_one(text)
        return dict(tfidf.transform_one(text))

    for event in corpus.learned:
        x = features(event, learn=True)
        relevant = {number[topic] for topic in event["topics"]}
        for i, model in enumerate(models):
            model.learn_one(x, i in relevant)
    scores = np.empty((len(corpus.held_out), len(models)))
    for row, event in enumerate(corpus.held_out):
        x = features(event, learn=False)
        scores[row] = [model.predict_proba_one(x).get(True, 0.0) for model in models]
    return scores


PEERS: Mapping[str, Callable[[Corpus, str], Floats]] = {
    "scikit-learn SGD, one pass": online_sgd,
    "scikit-learn LinearSVC, batch": batch_svm,
    **({"River LogisticRegression, one pass": river_scores} if find_spec("river") else {}),
}


def analyzers_for(corpus: Corpus) -> Sequence[str]:
    """The analyzers that a user might choose for a corpus."""
    if "features" in corpus.learned[0]:
        return ["ready features"]
    sample = "".join(text_of(event)[:500] for event in corpus.learned[:100])
    spaces = sample.count(" ") / max(1, len(sample))
    return ["words", "characters" if spaces > 0.08 else "characters 1-3"]
