"""Twin of `learners/prototypes/committee.py`."""

from __future__ import annotations

from collections.abc import Sequence

from learners.slow.arithmetic import Document, added_up, inner, zeros


class SlowCommittee:
    """Several perceptrons per topic, each with a random start where it has no weight."""

    def __init__(self, size: int = 10, seed: int = 0) -> None:
        self.size = size
        self.seed = seed
        self.rounds = 0
        self.members = [zeros() for _ in range(size)]

    def scores(self, document: Document, topic: str) -> list[float]:
        """The score of a topic by each member."""
        return [inner(weights[topic], document) for weights in self.members]

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """The means over the members."""
        return [added_up(self.scores(document, topic)) / self.size for topic in known]

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """Move the members that are wrong; starts depend on round, place, topic and member."""
        moving = []
        for number, topic in enumerate(known):
            sign = 1.0 if topic in topics else -1.0
            for member, score in enumerate(self.scores(document, topic)):
                if sign * score <= 0.0:
                    perceptron = number * self.size + member
                    moving.append((self.members[member][topic], sign, perceptron))
        for place, (feature, value) in enumerate(document.items()):
            for weights, sign, perceptron in moving if value else ():
                if weights[feature] == 0.0:
                    weights[feature] = self.start(place, perceptron)
                weights[feature] += value * sign
        self.rounds += 1

    def start(self, place: int, perceptron: int) -> float:
        """A random number: an odd one of 2^53 levels between -1 and 1."""
        bits = scrambled((scrambled(self.seed) + self.rounds) % 2**64)
        bits = scrambled((bits + place) % 2**64)
        bits = scrambled((bits + perceptron) % 2**64)
        return (2 * (bits >> 12) + 1) / 2**52 - 1.0


def scrambled(number: int) -> int:
    """The first output of splitmix64 with this seed."""
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31
