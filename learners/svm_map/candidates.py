"""The rankings that a stacker chooses from: its lanes, and blends of their scores.

The candidates, in this order:

- every lane, as it is;
- the blends of `SHARES`. They mix the leader (the best lane so far by `penalty`), the truest lane
  (of the best AvgP), the widest (of the best Coverage) and the sharpest (of the best OneErr);
- the blends of `HEADS`. The long head of one ranking stands above the tail of the widest lane: the
  head decides about AvgP, and the tail about Coverage;
- the trained ranker times one of `TRAINED`, plus the scaled scores of the leader. Then the same
  with the scores of the truest lane, as a head above the tail of the widest. All of these are made
  with the approved weights, then with the weights on probation.

Every candidate is measured in every round by the ranking that it would have made, before the labels
of the round are used. So all candidates are judged on documents that they have not learned.

When labels stop, the last choice stays. So the records give more weight to late rounds, in which
the lanes are like those that will rank, and a blend needs a clear gain before it replaces a lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints
from learners.jit import njit
from learners.svm_map.topic_features import EACH, LEAD, PLACE, SCALED, TopicFeatures

SHARES = (  # of each blend: the factors of what `blend` adds up
    # leader's scores, widest lane's scores, mean of all, truest lane's places, sharpest first
    (1.0, 0.0, 0.3, 0.0, 0.0),
    (1.0, 0.0, 1.0, 0.0, 0.0),
    (1.0, 0.0, 1.0, 0.0, 0.5),
    (0.0, 1.0, 0.3, 0.3, 1.0),
    (0.0, 1.0, 0.0, 0.3, 1.0),
    (0.0, 1.0, 0.0, 10.0, 0.0),
    (0.0, 1.0, 0.0, 10.0, 12.0),
)
HEADS = (0.0, 0.3, 1.0)  # of each head: the factor of the mean, added to the truest lane's scores
LONG_HEAD = 3  # times `depth`: how many topics a long head has, but at most half of all
TRAINED = (1.0, 3.0)
FIXED = len(SHARES) + len(HEADS)
BY_WEIGHTS = 2 * len(TRAINED)  # blends of each of the two vectors of trained weights
BLENDS = FIXED + 2 * BY_WEIGHTS
APPROVED, PROBATION = 0, 1  # the two vectors of trained weights

PRECISION, COVERAGE, ONE_ERROR, LOSS1, LOSS3 = range(5)  # the losses; PRECISION is 1 - AvgP
LOSSES = 5
GAIN, SQUARES = 5, 6  # of AvgP over the leader, in units of LOST_PRECISION: sums, and of squares
COLUMNS = 7
LASTING, BEFORE, NOW = range(3)  # records: all rounds, fading; last period; this period

TIE = 1e-9  # times its index, taken from the score of a topic: ranks of equal scores become scores
LOST_PRECISION = 0.002  # a loss of average precision that is still tolerable
LOST_SHARE = 0.02  # a tolerable increase of the other losses, as a share
WEIGHTS = (1.0, 1.0, 0.3, 0.3, 0.3)  # of the losses in the penalty; AvgP and Coverage are promised
GAIN_WEIGHT = 0.05  # what a gain is worth, against a loss of the same size
CAUTION = 0.8  # standard errors of AvgP that are taken from a blend when it is compared with a lane
TRAINED_CAUTION = 2.0  # the same for trained blends, whose record is shorter
FADING = 2.0 / 3.0  # rounds that fade from the record in a round, while it is shorter than `window`
PRIOR_ROUNDS = 10.0  # rounds with the mean loss of the lanes, added to each record


class Records(NamedTuple):
    """How the candidates have done."""

    sums: Floats  # records x candidates x columns
    rounds: Floats  # of each record: its rounds, decayed like its sums


class Ranker(NamedTuple):
    """The trained weights and how they are used."""

    weights: Floats  # approved and on probation: 2 x features; absolute values add up to 1
    exists: Bools  # whether there are such weights
    depth: int
    proof: float


class Choice(NamedTuple):
    """What the records say before a round."""

    leader: int  # the best lane
    truest: int  # the lane with the best AvgP
    widest: int  # the lane with the best Coverage
    sharpest: int  # the lane with the best OneErr
    chosen: int  # the candidate to rank by


@njit
def measure(
    scores: Floats, ahead: int, known: int, labels: Ints, is_label: Bools, losses: Floats
) -> None:
    """Write the losses of a ranking, as in `learners.measures`.

    Topics from `len(scores)` up to `known` were discovered after the ranking was made. They stand
    behind the first `ahead` topics.
    """
    topics, count = len(scores), len(labels)
    ranks = np.empty(count, np.int64)
    in_front = wrong = new_labels = 0  # labels among the first `ahead`; misordered pairs
    for label in labels:
        new_labels += label >= topics
    new_others = known - topics - new_labels
    for i in range(count):
        label = labels[i]
        if label >= topics:
            continue
        rank, above = 1, 0
        for topic in range(topics):
            if scores[topic] >= scores[label]:
                rank += scores[topic] > scores[label] or topic < label
                above += not is_label[topic]
        if rank > ahead:
            rank += known - topics
            above += new_others
        else:
            in_front += 1
        ranks[i] = rank
        wrong += above
    for i in range(count):
        if labels[i] >= topics:
            ranks[i] = ahead + 1 + labels[i] - topics
            wrong += ahead - in_front + new_others
    ranks.sort()
    precision = 0.0
    for i in range(count):
        precision += (i + 1) / ranks[i]
    losses[PRECISION] = 1.0 - precision / count
    losses[COVERAGE] = ranks[count - 1] - 1.0
    losses[ONE_ERROR] = 0.0 if ranks[0] == 1 else 1.0
    losses[LOSS1] = 1.0 if wrong > 0 else 0.0
    losses[LOSS3] = wrong / (float(count) * (known - count))


@njit
def blend(features: TopicFeatures, choice: Choice, ranker: Ranker, blends: Floats) -> None:
    """Write the scores of all blends (blends x topics).

    In the losses a tie is an error. So topics with equal scores get different ones here, in the
    order in which they are ranked.
    """
    scaled, places, leads = features.scaled, features.places, features.leads
    weights, exists = ranker.weights, ranker.exists
    lanes, topics = scaled.shape
    for topic in range(topics):
        mean = 0.0
        for lane in range(lanes):
            mean += scaled[lane, topic]
        mean /= lanes
        leading, true = scaled[choice.leader, topic], scaled[choice.truest, topic]
        wide, place = scaled[choice.widest, topic], places[choice.truest, topic]
        first = 1.0 if places[choice.sharpest, topic] == 1.0 else 0.0
        number = 0
        for shares in SHARES:
            score = shares[0] * leading
            score += shares[1] * wide
            score += shares[2] * mean
            score += shares[3] * place
            score += shares[4] * first
            blends[number, topic] = score - TIE * topic
            number += 1
        for share in HEADS:
            blends[number, topic] = true + share * mean - TIE * topic
            number += 1
        for vector in range(2):
            score = 0.0
            if exists[vector]:
                for lane in range(lanes):
                    score += weights[vector, EACH * lane + SCALED] * scaled[lane, topic]
                    score += weights[vector, EACH * lane + PLACE] * places[lane, topic]
                    score += weights[vector, EACH * lane + LEAD] * leads[lane, topic]
            for base in (leading, true):
                for share in TRAINED:
                    blends[number, topic] = base + share * score - TIE * topic
                    number += 1
    head = min(LONG_HEAD * ranker.depth, max(1, topics // 2))
    tail = scaled[choice.widest]
    for number in range(len(SHARES), FIXED):
        put_tail(blends[number], head, tail)
    for vector in range(2):
        if exists[vector]:
            end = FIXED + (vector + 1) * BY_WEIGHTS
            for number in range(end - len(TRAINED), end):
                put_tail(blends[number], head, tail)


@njit
def put_tail(scores: Floats, head: int, tail: Floats) -> None:
    """Give all topics but the first `head` the scores of `tail`, which are at most 1."""
    topics = len(scores)
    last = np.partition(scores, topics - head)[topics - head]
    for topic in range(topics):
        is_head = scores[topic] >= last
        scores[topic] = scores[topic] - last + 2.0 if is_head else tail[topic] - TIE * topic


@njit
def tolerances(sums: Floats, rounds: float, lanes: int, least: Floats, units: Floats) -> None:
    """Write the least loss of a lane, and how much more of it is tolerable, for each loss."""
    for loss in range(LOSSES):
        total, least[loss] = 0.0, sums[0, loss]
        for lane in range(lanes):
            least[loss] = min(least[loss], sums[lane, loss])
            total += sums[lane, loss]
        prior = PRIOR_ROUNDS * (total / lanes) / max(rounds, 1.0)
        units[loss] = LOST_SHARE * (least[loss] + prior)
    units[PRECISION] = LOST_PRECISION * (rounds + PRIOR_ROUNDS)


@njit
def penalty(sums: Floats, least: Floats, units: Floats, caution: float) -> float:
    """How far a candidate is behind the best lane of each loss, in units of what is tolerable.

    Its average precision is taken to be lower by `caution` standard errors.
    """
    total = 0.0
    for loss in range(LOSSES):
        lost = sums[loss]
        if loss == PRECISION:
            lost += caution * LOST_PRECISION * np.sqrt(sums[SQUARES])
        if units[loss] > 0.0:
            behind = (lost - least[loss]) / units[loss]
            total += WEIGHTS[loss] * (behind if behind > 0.0 else GAIN_WEIGHT * behind)
        elif lost > 0.0:
            total += 1.0  # the lanes have never had this loss
    return total


@njit
def best_of(
    sums: Floats, rounds: float, lanes: int, start: int, stop: int, caution: float
) -> tuple[int, float]:
    """The candidate from `start` up to `stop` with the least penalty, and its penalty."""
    least, units = np.empty(LOSSES), np.empty(LOSSES)
    tolerances(sums, rounds, lanes, least, units)
    best, lowest = start, np.inf
    for candidate in range(start, stop):
        found = penalty(sums[candidate], least, units, caution)
        if found < lowest:
            best, lowest = candidate, found
    return best, lowest


@njit
def is_ahead(sums: Floats, proof: float) -> bool:
    """Whether a candidate is ahead of the leader in AvgP by more than `proof` standard errors."""
    gain, squares = sums[GAIN], sums[SQUARES]
    return proof == 0.0 or (gain > 0.0 and gain * gain > proof * proof * squares)


@njit
def choose(records: Records, ranker: Ranker, lanes: int) -> Choice:
    """Choose the candidate to rank by.

    Blends are compared with the leader cautiously (see `penalty`). The approved weights count only
    if they are clearly ahead of the leader (see `is_ahead`). They are compared with the best other
    candidate on the rounds since their training.
    """
    lasting, rounds = records.sums[LASTING], records.rounds
    leader, least = best_of(lasting, rounds[LASTING], lanes, 0, lanes, 0.0)
    truest = widest = sharpest = leader
    for lane in range(lanes):
        if lasting[lane, PRECISION] < lasting[truest, PRECISION]:
            truest = lane
        if lasting[lane, COVERAGE] < lasting[widest, COVERAGE]:
            widest = lane
        if lasting[lane, ONE_ERROR] < lasting[sharpest, ONE_ERROR]:
            sharpest = lane
    chosen, caution = leader, 0.0
    blended, lowest = best_of(lasting, rounds[LASTING], lanes, lanes, lanes + FIXED, CAUTION)
    if lowest < least:
        chosen, caution = blended, CAUTION
    if ranker.exists[APPROVED]:
        recent = records.sums[BEFORE] + records.sums[NOW]
        count = rounds[BEFORE] + rounds[NOW]
        start, stop = lanes + FIXED, lanes + FIXED + BY_WEIGHTS
        trained, lowest = best_of(recent, count, lanes, start, stop, TRAINED_CAUTION)
        _, other = best_of(recent, count, lanes, chosen, chosen + 1, caution)
        if lowest < other and is_ahead(recent[trained], ranker.proof):
            chosen = trained
    return Choice(leader, truest, widest, sharpest, chosen)


@njit
def record(losses: Floats, leader: int, decay: float, records: Records) -> None:
    """Add the losses of a round (candidates x columns); its gains are written first.

    Of a short record more fades in each round than of one as long as the window. So the weight of a
    round grows with the square of its number until then, and early rounds soon count little.
    """
    sums, rounds = records.sums, records.rounds
    fading = max(0.0, min(decay, 1.0 - FADING / max(rounds[LASTING], 1.0)))
    for candidate in range(len(losses)):
        gain = (losses[leader, PRECISION] - losses[candidate, PRECISION]) / LOST_PRECISION
        losses[candidate, GAIN], losses[candidate, SQUARES] = gain, gain * gain
        for column in range(COLUMNS):
            lasting = fading * sums[LASTING, candidate, column]
            sums[LASTING, candidate, column] = lasting + losses[candidate, column]
            sums[NOW, candidate, column] += losses[candidate, column]
    rounds[LASTING] = fading * rounds[LASTING] + 1.0
    rounds[NOW] += 1.0


@njit
def close_period(records: Records, ranker: Ranker, lanes: int) -> bool:
    """Begin a period of rounds, right before a training; return whether new weights are approved.

    The weights on probation are approved if they did better in this period than the approved ones.
    They had seen none of its rounds when they were trained.
    """
    sums, rounds = records.sums, records.rounds
    first, count = lanes + FIXED, BY_WEIGHTS
    approve: bool = ranker.exists[PROBATION]
    if approve and ranker.exists[APPROVED]:
        _, old = best_of(sums[NOW], rounds[NOW], lanes, first, first + count, 0.0)
        _, new = best_of(sums[NOW], rounds[NOW], lanes, first + count, first + 2 * count, 0.0)
        approve = new < old
    if approve:
        sums[NOW, first : first + count] = sums[NOW, first + count :]
        ranker.weights[APPROVED] = ranker.weights[PROBATION]
        ranker.exists[APPROVED] = True
    sums[BEFORE] = sums[NOW]
    sums[NOW] = 0.0
    rounds[BEFORE], rounds[NOW] = rounds[NOW], 0.0
    return approve
