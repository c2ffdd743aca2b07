"""The Python interface of learners that rank topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sized
from typing import Any, Self

import numpy as np

from learners.arrays import Ints, Longs
from learners.foreign_matrix import is_matrix, read_matrix
from learners.label_steps import Labels, learning_steps, rank_then_learn_steps, ranking_steps
from learners.named_learner import Document, DocumentError, Documents, NamedLearner, one
from learners.rankings import Name, Ranking, Rankings
from learners.scores import Scores

MAX_SCORES = 1 << 27  # of one call: a gigabyte

# The topics of a document: a list or set of them, one topic, a dictionary {topic: bool}, or None
# for a document without a label.
Topics = Any
# The topics of many documents: a list with one entry per document, or a matrix of zeros and ones.
ManyTopics = Any


class TopicLearner(NamedLearner):
    """A learner that ranks the topics of documents.

    Every document is ranked before its own topics are learned. Learning many documents at once, or
    one by one, gives the same model and the same rankings, bit for bit.

    Examples
    --------
    >>> from learners import Perceptron
    >>> model = Perceptron()
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.learn_one({"port": 1.0}, ["ship"])
    >>> model.rank_one({"wheat": 1.0, "port": 2.0})
    [('ship', 2.0), ('grain', -1.0)]

    """

    @property
    def topics(self) -> list[Name]:
        """The topics that are known, in the order of their numbers."""
        return list(self.names.topics)

    def declare_topics(self, topics: Iterable[Name]) -> Self:
        """Make topics known before their first document; returns the learner itself.

        One word is one topic, as everywhere.
        """
        numbers = self.names.topics
        for topic in [topics] if isinstance(topics, str) else topics:
            numbers.setdefault(topic, len(numbers))
        return self

    def learn_one(self, document: Document, topics: Topics) -> None:
        """Learn a document, given as {term: value}, with its topics."""
        self.learn_only(one(document), [topics])

    def rank_one(self, document: Document) -> Ranking:
        """Return the topics that are known with their scores for a document, best first."""
        return self.rank_many(one(document))[0]

    def learn_many(self, documents: Documents, topics: ManyTopics) -> Rankings:
        """Learn documents in order; return their rankings, each made before its topics were used.

        `documents` is a matrix with one row per document (scipy sparse, numpy), or a list of
        dictionaries. `topics` has one entry per document, or is a matrix with one column per topic
        and 1 where a document has the topic.

        Examples
        --------
        >>> import numpy as np
        >>> from learners import Perceptron
        >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
        >>> rankings = Perceptron().learn_many(X, ["grain", "ship", ["grain", "ship"]])
        >>> list(rankings)
        [[], [('grain', 0.0)], [('ship', 2.0), ('grain', -1.0)]]

        """
        rows = self._rows_to_learn(documents)
        labels = self._labels(topics, len(rows))
        scores = self._new_scores(len(rows))
        self._follow_rows(rows, rank_then_learn_steps(labels), len(self.names.topics), scores)
        return Rankings(self.topics, labels.before, scores)

    def learn_only(self, documents: Documents, topics: ManyTopics) -> None:
        """Learn documents as `learn_many` does, without their rankings: less memory."""
        rows = self._rows_to_learn(documents)
        labels = self._labels(topics, len(rows))
        self._follow_rows(
            rows, learning_steps(labels), len(self.names.topics), self.new_scores(0, 0)
        )

    def rank_many(self, documents: Documents) -> Rankings:
        """Rank documents by the model as it is."""
        rows = self._rows_to_rank(documents)
        known = len(self.names.topics)
        scores = self._new_scores(len(rows))
        steps = ranking_steps(len(rows), known)
        self._follow_rows(rows, steps, known, scores)
        return Rankings(self.topics, steps.known, scores)

    def _new_scores(self, rows: int) -> Scores:
        topics = len(self.names.topics)
        if not self.scores_class.is_sparse and rows * topics > MAX_SCORES:
            raise DocumentError(
                f"{rows} documents with {topics} topics need {rows * topics} scores, but one call "
                f"makes at most {MAX_SCORES}. Give fewer rows at a time: the results are the same."
            )
        return Scores.expect(self.new_scores(rows, topics))

    def _labels(self, topics: ManyTopics, documents: int) -> Labels:
        """The topics of documents as numbers; new topics become known with their document."""
        if not is_matrix(topics) and not isinstance(topics, Sized):
            raise DocumentError(
                "The topics must be a list with one entry per document, or a matrix. Got "
                f"{topics!r:.80}."
            )
        count = topics.shape[0] if is_matrix(topics) else len(topics)
        if count != documents:
            raise DocumentError(f"There are {documents} documents, but topics for {count}.")
        return self._columns(topics) if is_matrix(topics) else self._named(topics)

    def _columns(self, matrix: object) -> Labels:
        """The topics of a matrix of zeros and ones, whose columns are the topics in order."""
        rows, columns = read_matrix(matrix, "topics")
        if not (rows.values == 1.0).all():
            raise DocumentError("A matrix of topics has other values than 0 and 1.")
        if not self.names.topics:
            self.declare_topics(range(columns))
        known = len(self.names.topics)
        if known != columns:
            raise DocumentError(
                f"The matrix of topics has {columns} columns, but {known} topics are known."
            )
        all_known = np.full(len(rows), known, np.int32)
        given = np.ones(len(rows), np.bool_)
        return Labels(rows.starts, rows.terms, given, all_known, all_known)

    def _named(self, topics: ManyTopics) -> Labels:
        numbers = self.names.topics
        known = len(numbers)
        try:
            labels = list(map(topics_of, topics))
            flat = [numbers.get(topic, -1) for label in labels for topic in label]
            before = after = np.full(len(labels), known, np.int32)
            if -1 in flat:
                flat, after = number_new(labels, numbers)
                before = np.concatenate((before[:1], after[:-1]))
        except TypeError as error:
            for topic in list(numbers)[known:]:  # no document has it yet
                del numbers[topic]
            raise DocumentError(f"A topic cannot be used: {error}.") from None
        starts: Longs = np.zeros(len(labels) + 1, np.int64)
        np.cumsum(list(map(len, labels)), out=starts[1:])
        given = np.fromiter((label is not None for label in topics), np.bool_, len(labels))
        return Labels(starts, np.array(flat, np.int32), given, before, after)


def number_new(labels: list[Collection[Name]], numbers: dict[Name, int]) -> tuple[list[int], Ints]:
    """Number all topics; return their numbers, and how many topics are known after each label."""
    flat, after = list[int](), list[int]()
    for label in labels:
        flat += [numbers.setdefault(topic, len(numbers)) for topic in label]
        after.append(len(numbers))
    return flat, np.array(after, np.int32)


def topics_of(label: Topics) -> Collection[Name]:
    """The different topics of a document, in an order that does not depend on hashes.

    >>> list(topics_of("grain")), list(topics_of(["ship", "grain", "ship"])), list(topics_of(None))
    (['grain'], ['ship', 'grain'], [])
    >>> list(topics_of({"grain": True, "ship": False})), list(topics_of({"b", "a"}))
    (['grain'], ['a', 'b'])
    """
    if type(label) is list or type(label) is tuple:  # the usual case, without slower questions
        return dict.fromkeys(label) if len(label) > 1 else label
    if label is None:
        return ()
    if isinstance(label, Mapping):
        return [topic for topic, relevant in label.items() if relevant]
    if isinstance(label, set | frozenset):
        return sorted(label, key=repr)
    if isinstance(label, str | bytes) or not isinstance(label, Iterable):
        return (label,)
    return dict.fromkeys(label)
