"""The topics that a rise of the loss comes from: equal to the twin, exact for any cuts."""

from __future__ import annotations

import numpy as np
import pytest

from learners.arrays import Floats
from learners.checks import InvalidArrayError
from learners.segment import Steps
from pipeline.curves.topic_shares import PERIOD_ROUNDS, TopicShares
from pipeline.slow.topic_shares import slow_changed

TOPICS = 8


def rounds_of(seed: int, rounds: int, worse: int = 3) -> tuple[Floats, list[list[int]]]:
    """Rounds with topics; in the last 300 the loss of rounds with the topic `worse` is high."""
    chance = np.random.default_rng(seed)
    topics = [chance.choice(TOPICS, chance.integers(1, 4), False).tolist() for _ in range(rounds)]
    losses = chance.random(rounds) / 4
    for i in range(max(0, rounds - 300), rounds):
        if worse in topics[i]:
            losses[i] += 0.7
    return losses, topics


def steps_of(topics: list[list[int]]) -> Steps:
    """Each round is two steps: the document is ranked, then learned."""
    count = 2 * len(topics)
    lengths = [length for labels in topics for length in (0, len(labels))]
    return Steps(
        np.arange(count, dtype=np.int32) // 2,
        np.arange(count) % 2 == 1,
        np.full(count, TOPICS, np.int32),
        np.cumsum([0, *lengths]),
        np.array([topic for labels in topics for topic in labels], np.int32),
        np.full(count, TOPICS, np.int32),
    )


@pytest.mark.parametrize("rounds", [1, 127, 128, 129, 256, 385, 512, 513, 1000, 1024, 1025, 3000])
def test_equal_to_its_twin(rounds: int) -> None:
    losses, topics = rounds_of(rounds, rounds)
    shares = TopicShares()
    shares.follow(steps_of(topics), losses, 0, rounds, TOPICS)
    expected = slow_changed(list(zip(losses.tolist(), topics, strict=True)), TOPICS)
    assert [tuple(changed) for changed in shares.changed()] == expected
    if rounds >= 1000:
        assert expected[0][0] == 3
    if rounds <= 256:
        assert not expected


def test_cuts_do_not_matter() -> None:
    losses, topics = rounds_of(1, 2000)
    losses[::7] = np.nan
    whole, shares = TopicShares(), TopicShares()
    whole.follow(steps_of(topics), losses, 0, 2000, TOPICS)
    for start in range(0, 2000, 90):
        steps = steps_of(topics[start : start + 90])
        part = losses[start : start + 90]
        shares.follow(steps, part, 0, 40, TOPICS)
        shares.follow(steps, part, 40, len(part), TOPICS)
        restored = TopicShares()
        restored.restore(shares.state())
        shares = restored
    assert shares.changed() == whole.changed()
    for name, array in whole.state().items():
        assert np.array_equal(shares.state()[name], array), name


def test_the_parts_sum_to_the_loss() -> None:
    losses, topics = rounds_of(2, 10 * PERIOD_ROUNDS)
    shares = TopicShares()
    shares.follow(steps_of(topics), losses, 0, len(losses), TOPICS)
    sums = shares.state()["sums"]
    assert sums[:, [1, 3]].sum() == pytest.approx(losses[-2 * PERIOD_ROUNDS :].sum())


def test_a_topic_that_comes_more_often() -> None:
    losses = np.full(2000, 0.5)
    topics = [[i % 4] for i in range(1800)] + [[5]] * 200
    shares = TopicShares()
    shares.follow(steps_of(topics), losses, 0, 2000, TOPICS)
    (changed,) = shares.changed()
    assert changed.topic == 5
    assert changed.frequency_before == changed.loss_before == 0.0
    assert changed.frequency_after == 2 * changed.loss_after > 0.5


def test_no_rounds() -> None:
    shares = TopicShares()
    assert shares.changed() == []
    shares.restore(shares.state())
    shares.start_again()
    assert shares.changed() == []


def test_a_damaged_state_is_refused() -> None:
    losses, topics = rounds_of(3, 1000)
    shares = TopicShares()
    shares.follow(steps_of(topics), losses, 0, 1000, TOPICS)
    state = shares.state()
    for name, value in (("periods", 8.0), ("periods", 0.5), ("sums", -1.0), ("rounds", np.inf)):
        damaged = np.array(state[name])
        damaged.flat[0] = value
        with pytest.raises(InvalidArrayError, match=name):
            TopicShares().restore({**state, name: damaged})
    with pytest.raises(InvalidArrayError, match="topics"):
        shares.check_references(TOPICS - 1)
