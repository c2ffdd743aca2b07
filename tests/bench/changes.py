"""Change detectors on the losses of real lanes: false alarms without a change, delays with one.

    python -m tests.bench.changes reuters21578:PATH newsgroups:PATH events.jsonl
    python -m tests.bench.changes --shuffles 10 --mixed events.jsonl reuters21578:PATH

Every source is shuffled, so that it has no drift of its own, and is followed by the lanes. Then a
break is planted in the middle: topics are swapped, words are damaged, or documents of `--mixed`
come in. The losses of all these streams are read by the detector of Wirerank and, if `river` is
installed, by ADWIN and the test of Page and Hinkley. These two get the most sensitive setting that
raises at most `FALSE_ALARMS` alarms per round on losses that fall and never rise, as Wirerank's
detector promises. A fall is no change, so only alarms at a rise are counted. Without sources, the
losses are made up, too: the median of the delays is printed, and what 90 % of them do not exceed.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from learners.arrays import Floats
from learners.measures import AVERAGE_PRECISION
from learners.specs import parse_spec, resolved
from pipeline.corpora import open_source
from pipeline.curves.change_detector import FALSE_ALARMS, ChangeDetector
from pipeline.engine.engine import Engine
from pipeline.events.event import Event, parse_event
from pipeline.log.block import make_block
from pipeline.text.tokenizer import Tokenizer

try:
    from river import drift
except ImportError:  # an extra
    drift = None

LANES = ("mmp:loss=1", "perceptron", "arow")
BLOCK = 256
DELTAS = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6)  # of ADWIN
THRESHOLDS = (10.0, 14.0, 20.0, 28.0, 40.0, 56.0, 80.0, 110.0, 160.0, 220.0)  # of Page and Hinkley
TOLERANCES = (0.005, 0.05, 0.1)  # of Page and Hinkley: a rise by less is no change
CALIBRATED_ROUNDS, CALIBRATED_STREAMS = 100_000, 20
MADE_UP = 50  # streams per made-up break
HELD_OUT_STREAMS = 40  # of as many rounds, on which the false alarms are counted

Detector = Callable[[Floats], list[int]]  # from losses to the rounds of alarms


class Stream(NamedTuple):
    """The losses of one lane on one stream."""

    kind: str
    lane: str
    losses: Floats
    broken: int | None  # the first round after the planted break


def wirerank_alarms(losses: Floats) -> list[int]:
    """Return the rounds in which Wirerank's detector raises an alarm."""
    detector, alarms, start = ChangeDetector(), list[int](), 0
    while (alarm := detector.follow(losses, start)) is not None:
        alarms.append(alarm.place)
        start = alarm.place + 1
    return alarms


def river_alarms(new: Callable[[], Any]) -> Detector:
    """Return a detector of river that counts only rises."""

    def alarms_of(losses: Floats) -> list[int]:
        detector, alarms, before = new(), list[int](), 1.0
        for i, loss in enumerate(losses.tolist()):
            detector.update(loss)
            if isinstance(detector, drift.ADWIN):
                if detector.drift_detected and detector.estimation > before:
                    alarms.append(i)
                before = detector.estimation
            elif detector.drift_detected:
                alarms.append(i)
        return alarms

    return alarms_of


def new_adwin(delta: float) -> Any:  # noqa: ANN401 - of river
    """Return ADWIN, which looks after every round."""
    return drift.ADWIN(delta=delta, clock=1)


def new_page_hinkley(threshold: float, tolerance: float) -> Any:  # noqa: ANN401 - of river
    """Return the test of Page and Hinkley for a rise."""
    return drift.PageHinkley(threshold=threshold, mode="up", delta=tolerance)


def falling_losses(seed: int, rounds: int = CALIBRATED_ROUNDS) -> Floats:
    """Losses of 0 and 1 whose expectation falls as that of a learner does."""
    expected = 0.2 + 0.6 / (1.0 + np.arange(rounds) / 2000.0)
    losses: Floats = (np.random.default_rng(seed).random(rounds) < expected).astype(np.float64)
    return losses


def calibrated(new: Callable[[float], Any], settings: Sequence[float]) -> tuple[float, Detector]:
    """Return the most sensitive setting that keeps the stated rate of false alarms."""
    streams = [falling_losses(seed) for seed in range(CALIBRATED_STREAMS)]
    allowed = FALSE_ALARMS * CALIBRATED_ROUNDS * CALIBRATED_STREAMS
    for setting in settings:
        detector = river_alarms(lambda setting=setting: new(setting))  # type: ignore[misc]
        alarms = 0
        for stream in streams:
            alarms += len(detector(stream))
            if alarms > allowed:
                break
        else:
            return setting, detector
    return setting, detector


def events_of(source: str, prefix: str = "") -> list[Event]:
    """Return the labelled documents of a source."""
    events = [parse_event(raw) for raw in open_source(source) if raw]
    return [event._replace(id=f"{prefix}{event.id}") for event in events if event.topics]


def swapped(events: Sequence[Event], rank: int) -> list[Event]:
    """Swap the labels of two topics: the `rank`-th and the next one by frequency."""
    counts = Counter(topic for event in events for topic in event.topics or ())
    (one, _), (other, _) = counts.most_common(rank + 2)[rank:]
    names = {one: other, other: one}
    return [
        event._replace(topics=tuple(names.get(topic, topic) for topic in event.topics or ()))
        for event in events
    ]


def rotated(events: Sequence[Event]) -> list[Event]:
    """Give every topic the name of the next one."""
    topics = sorted({topic for event in events for topic in event.topics or ()})
    names = dict(zip(topics, [*topics[1:], topics[0]], strict=True))
    return [
        event._replace(topics=tuple(names[topic] for topic in event.topics or ()))
        for event in events
    ]


def damaged(events: Sequence[Event], share: float) -> list[Event]:
    """Write the words of some documents backwards, as a broken reader could."""
    chosen = random.Random(5)
    return [
        event._replace(content=event.content[::-1], title_length=0)
        if isinstance(event.content, str) and chosen.random() < share
        else event
        for event in events
    ]


def mixed(events: Sequence[Event], others: Sequence[Event]) -> list[Event]:
    """Replace every second document by one of another corpus."""
    return [
        others[i // 2] if i % 2 and i // 2 < len(others) else event
        for i, event in enumerate(events)
    ]


def broken_streams(
    events: Sequence[Event], others: Sequence[Event]
) -> Iterator[tuple[str, list[Event]]]:
    """Yield each kind of break, with the events that come after it."""
    yield "all topics renamed", rotated(events)
    yield "two topics swapped", swapped(events, 0)
    yield "words of half damaged", damaged(events, 0.5)
    yield "words of all damaged", damaged(events, 1.0)
    if others:
        yield "other corpus in half", mixed(events, others)


def lane_losses(events: Sequence[Event]) -> dict[str, Floats]:
    """Return 1 - average precision of each lane in each round."""
    engine = Engine(resolved([parse_spec(lane) for lane in LANES]), [])
    tokenizer = Tokenizer()
    losses: dict[str, list[Floats]] = {lane.name: [] for lane in engine.lanes}
    for start in range(0, len(events), BLOCK):
        for segment in engine.process(make_block(events[start : start + BLOCK], tokenizer)):
            for lane, measures in zip(engine.lanes, segment.measures, strict=True):
                losses[lane.name].append(1.0 - measures[:, AVERAGE_PRECISION])
    engine.close()
    return {name: np.concatenate(parts) for name, parts in losses.items()}


def streams_of(source: str, others: Sequence[Event], shuffles: int) -> Iterator[Stream]:
    """Yield the losses of all lanes on all streams of a source."""
    events = events_of(source)
    for seed in range(shuffles):
        shuffler = random.Random(seed)
        shuffled = shuffler.sample(events, len(events))
        for lane, losses in lane_losses(shuffled).items():
            yield Stream("no change", lane, losses, None)
        middle = len(shuffled) // 2
        strangers = shuffler.sample(others, len(others))
        for kind, after in broken_streams(shuffled[middle:], strangers):
            for lane, losses in lane_losses([*shuffled[:middle], *after]).items():
                yield Stream(kind, lane, losses, middle)


def summary(streams: Sequence[Stream], detector: Detector) -> str:
    """Return the false alarms per stream, how many breaks were found, and the median delay."""
    false, found, delays = 0, 0, list[int]()
    for stream in streams:
        alarms = detector(stream.losses)
        if stream.broken is None:
            false += len(alarms)
            continue
        false += sum(alarm < stream.broken for alarm in alarms)
        after = [alarm - stream.broken for alarm in alarms if alarm >= stream.broken]
        found += bool(after)
        delays += after[:1]
    delay = f"{np.median(delays):.0f}" if delays else "-"
    return f"{false} false, {found}/{len(streams)} after {delay}"


def all_detectors() -> dict[str, Detector]:
    """Return the detectors by name, with their settings."""
    detectors: dict[str, Detector] = {"wirerank": wirerank_alarms}
    if drift is None:
        return detectors
    setting, detectors["ADWIN"] = calibrated(new_adwin, DELTAS)
    print(f"ADWIN: delta {setting:g}")
    for tolerance in TOLERANCES:
        new = partial(new_page_hinkley, tolerance=tolerance)
        name = f"Page-Hinkley {tolerance:g}"
        setting, detectors[name] = calibrated(new, THRESHOLDS)
        print(f"{name}: threshold {setting:g}", flush=True)
    return detectors


def false_alarms(detector: Detector) -> str:
    """Return the alarms on losses that never rise, other ones than those of the calibration."""
    seeds = range(CALIBRATED_STREAMS, CALIBRATED_STREAMS + HELD_OUT_STREAMS)
    alarms = sum(len(detector(falling_losses(seed))) for seed in seeds)
    return f"{alarms} in {HELD_OUT_STREAMS * CALIBRATED_ROUNDS:,}"


def made_up_delays(detectors: dict[str, Detector]) -> None:
    """Print the delays after breaks of made-up losses of 0 and 1 that fall before the break."""
    print(" | ".join(["rounds before", "loss", "rise", *detectors]), flush=True)
    for before, level, rise in product((2000, 5000, 20_000), (0.05, 0.2, 0.4), (0.05, 0.1, 0.2)):
        cells = []
        for detector in detectors.values():
            delays = list[float]()
            for seed in range(MADE_UP):
                expected = level + (1.0 - level) * np.exp(
                    -8.0 * np.arange(before + 10_000) / before
                )
                expected[before:] += rise
                chance = np.random.default_rng(1000 + seed)
                losses = (chance.random(len(expected)) < expected).astype(np.float64)
                after = [alarm for alarm in detector(losses) if alarm >= before]
                delays.append(after[0] - before if after else np.inf)
            median, most = np.quantile(delays, (0.5, 0.9), method="higher")
            cells.append(f"{median:.0f}, {most:.0f}")
        print(" | ".join([f"{before:,}", f"{level}", f"{rise}", *cells]), flush=True)


def main() -> None:
    """Print a table: one row per source, kind of break and lane."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--mixed", help="source of the documents that come in")
    parser.add_argument("--shuffles", type=int, default=3)
    options = parser.parse_args()
    detectors = all_detectors()
    if not options.sources:
        made_up_delays(detectors)
        return
    others = events_of(options.mixed, "mixed ") if options.mixed else []
    print(" | ".join(["source", "kind", "lane", "loss before, after", *detectors]), flush=True)
    counted = [false_alarms(detector) for detector in detectors.values()]
    print(" | ".join(["falling losses", "no change", "", "", *counted]), flush=True)
    for source in options.sources:
        rows: dict[tuple[str, str], list[Stream]] = {}
        for stream in streams_of(source, others, options.shuffles):
            rows.setdefault((stream.kind, stream.lane), []).append(stream)
        for (kind, lane), streams in rows.items():
            at = streams[0].broken or len(streams[0].losses)
            before = np.mean([stream.losses[at - 1000 : at].mean() for stream in streams])
            shown = f"{before:.3f}"
            if streams[0].broken:
                after = np.mean([stream.losses[at : at + 500].mean() for stream in streams])
                shown += f", {after:.3f}"
            cells = [summary(streams, detector) for detector in detectors.values()]
            print(" | ".join([source.split(":")[0], kind, lane, shown, *cells]), flush=True)


if __name__ == "__main__":
    main()
