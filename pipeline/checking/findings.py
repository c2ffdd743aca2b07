"""The lines that `wirerank check` prints about a sample."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.checking.sample import Example, Sample
from pipeline.events.event import Event
from pipeline.events.sniffing import explain_sample
from pipeline.printable import printable

SHOWN_CHARACTERS = 60
MOST_SHOWN = 8  # topics, keys
ADVICE_FROM = 0.1  # the share of events that cannot be used


def describe(sample: Sample, profile: str, kafka: bool) -> Iterator[str]:
    """Yield what became of the events, first one by one, then all together."""
    for example in sample.examples:
        yield printable(describe_example(example))
    if sample.examples:
        yield ""
    yield describe_events(sample)
    for reason, example in sample.refused.items():
        count = sample.reasons[reason]
        yield printable(f"  {reason} {count:,}, first at {example.origin}: {example.detail}")
    yield from describe_documents(sample, profile)
    if len(sample.times) == 2 and sample.times[1] > sample.times[0]:
        rate = (sample.events - 1) / (sample.times[1] - sample.times[0]) * 1000
        unit = "second" if rate >= 0.01 else "day"
        rate *= 1 if rate >= 0.01 else 86_400
        number = f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"
        yield f"rate: {number} events per {unit} while the sample was written"
    if sample.unmapped:
        named = ", ".join(f"{key} ({n:,})" for key, n in sample.unmapped.most_common(MOST_SHOWN))
        more = len(sample.unmapped) - MOST_SHOWN
        others = f" and {more:,} more" if more > 0 else ""
        yield printable(f"keys that no field is read from: {named}{others}")
    yield from describe_advice(sample, kafka)


def describe_events(sample: Sample) -> str:
    """How many events of each kind there are."""
    dead = sample.reasons.total()
    return (
        f"{sample.events:,} events: {sample.documents:,} documents ({sample.labelled:,} "
        f"labelled), {sample.labels:,} late labels, {dead:,} dead letters"
    )


def describe_example(example: Example) -> str:
    """One event in one line."""
    if example.event is None:
        return f"{example.origin}: dead letter ({example.reason}): {example.detail}"
    event = example.event
    kind = "label" if event.content is None else "document"
    parts = [f"{example.origin}: {kind} {event.id!r}", *labels_of(event)]
    if isinstance(event.content, str):
        text = " ".join(event.content[: 4 * SHOWN_CHARACTERS].split())
        cut = "..." if len(text) > SHOWN_CHARACTERS else ""
        parts.append(f'"{text[:SHOWN_CHARACTERS]}{cut}"')
    elif event.content is not None:
        parts.append(f"{len(event.content):,} features")
    return ", ".join(parts)


def labels_of(event: Event) -> Iterator[str]:
    """Yield topics, rank and time of an event."""
    if event.topics is not None:
        named = ", ".join(event.topics[:MOST_SHOWN]) + (", ..." if len(event.topics) > 8 else "")
        yield f"topics [{named}]"
    if event.rank is not None:
        yield f"rank {event.rank}"
    if event.time is not None:
        yield f"time {event.time}"


def describe_documents(sample: Sample, profile: str) -> Iterator[str]:
    """Yield the number of topics, terms and tokens."""
    if sample.topics:
        named = ", ".join(f"{topic} ({n:,})" for topic, n in sample.topics.most_common(MOST_SHOWN))
        yield printable(f"topics: {len(sample.topics):,} different; most frequent: {named}")
    if sample.documents:
        terms, tokens = sample.terms(profile)
        yield f"terms: {terms:,} different, {tokens:,.1f} tokens per document"
        yield from (f"warning: {problem}" for problem in sample.term_problems(profile))


def describe_advice(sample: Sample, kafka: bool) -> Iterator[str]:
    """Yield what the first event that cannot be used looks like, and what reads it.

    A few bad events among many good ones say nothing about the settings.
    """
    if sample.reasons.total() < ADVICE_FROM * sample.events:
        return
    if sample.first_refused and (advice := explain_sample(sample.first_refused, kafka)):
        yield printable(f"advice: {advice}")
