"""Shell completion: the words that may follow, for arguments with known values."""

from __future__ import annotations

from collections.abc import Iterable

from learners.specs import LEARNERS
from pipeline.corpora import catalogue
from pipeline.events.formats import FILE_FORMATS
from pipeline.experiments.registry import EXPERIMENTS
from pipeline.experiments.run_all import ALL
from pipeline.text.profile import INGREDIENTS, PROFILES


def complete_source(incomplete: str) -> list[str]:
    """Complete the kind of a corpus; the shell completes file names.

    >>> complete_source("syn")
    ['synthetic:']
    """
    kinds = {
        corpus.source.partition(":")[0] for corpus in catalogue.CORPORA if ":" in corpus.source
    }
    return starting_with(incomplete, sorted(f"{kind}:" for kind in kinds))


def complete_lane(incomplete: str) -> list[str]:
    """Complete the learner of a lane.

    >>> complete_lane("per")
    ['perceptron']
    """
    return starting_with(incomplete, LEARNERS)


def complete_format(incomplete: str) -> list[str]:
    """Complete the name of a format of events."""
    return starting_with(incomplete, FILE_FORMATS)


def complete_profile(incomplete: str) -> list[str]:
    """Complete the name of a profile, then its ingredients and their choices.

    >>> complete_profile("news:norm=")
    ['news:norm=none', 'news:norm=l2']
    """
    name, colon, rest = incomplete.partition(":")
    if not colon:
        return starting_with(incomplete, PROFILES)
    written, comma, last = rest.rpartition(",")
    before = f"{name}:{written}{comma}"
    words = []
    for option in INGREDIENTS:
        if last.startswith(f"{option.name}=") and option.choices:
            words += [f"{before}{option.name}={choice}" for choice in option.choices]
        else:
            words.append(f"{before}{option.name}=")
    return starting_with(incomplete, words)


def complete_experiment(incomplete: str) -> list[str]:
    """Complete the name of an experiment."""
    return starting_with(incomplete, [*EXPERIMENTS, ALL])


def complete_fetchable(incomplete: str) -> list[str]:
    """Complete the name of a corpus that can be fetched."""
    return starting_with(incomplete, [c.name for c in catalogue.CORPORA if c.archive])


def starting_with(incomplete: str, words: Iterable[str]) -> list[str]:
    """The words that start with what was typed so far."""
    return [word for word in words if word.startswith(incomplete)]
