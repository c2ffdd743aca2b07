"""Arguments and options of commands that replay a source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learners.options import MOST
from pipeline.commands.completion import (
    complete_format,
    complete_lane,
    complete_profile,
    complete_source,
)
from pipeline.commands.defaults import ENGINE_DEFAULTS, INDEX_LANES, RANK_LANES
from pipeline.engine.topic_index import MAX_WATCHED
from pipeline.events.formats import FILE_FORMATS
from pipeline.replay.settings import DEFAULT_LANES, ReplaySettings
from pipeline.text.profile import PROFILES

DEFAULTS = ReplaySettings(source="")

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="The events to read: a FILE of JSON lines or a JSON array, packed or not, - for "
        "standard input, or a corpus as KIND:PATH. synthetic:N makes N documents. `wirerank "
        "corpora` lists the kinds.",
        autocompletion=complete_source,
    ),
]
Lanes = Annotated[
    list[str] | None,
    typer.Option(
        help="A learner with its options, e.g. mmp:loss=1; repeat for several lanes. `wirerank "
        f"lanes` lists the learners. Default: {', '.join(DEFAULT_LANES)}; "
        f"for sources with many classes {', '.join(INDEX_LANES)}; "
        f"for movielens {', '.join(RANK_LANES)}; for letor and trec the same learners, with one "
        "rank per grade.",
        metavar="SPEC",
        autocompletion=complete_lane,
    ),
]
Limit = Annotated[
    int, typer.Option(min=0, max=MOST, metavar="N", help="Read at most N events; 0 reads all.")
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"The format of the events: {', '.join(FILE_FORMATS)}.",
        autocompletion=complete_format,
    ),
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--fields",
        metavar="NAME=PATH|FILE.toml",
        help="Where a field of the events is, e.g. title=headline or 'topics=tags[].slug'; repeat "
        "for several. Or a TOML file with these settings, also that of the workers.",
    ),
]
Profile = Annotated[
    str,
    typer.Option(
        metavar="PROFILE",
        help=f"How text becomes terms and weights: {', '.join(PROFILES)}, or one of them with "
        "other ingredients, e.g. news:stem=german. `wirerank profiles` lists them.",
        autocompletion=complete_profile,
    ),
]
Topics = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file that declares topics, one per line.")
]
DeadLetters = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        help="Append events that cannot be used to this file, with the reason (JSON lines).",
    ),
]
MaxEventBytes = Annotated[
    int,
    typer.Option(
        min=100, max=1 << 30, metavar="N", help="Treat events of more than N bytes as dead letters."
    ),
]
MaxTerms = Annotated[
    int | None,
    typer.Option(
        min=16,
        max=MOST,
        metavar="N",
        help="Keep at most N terms in the vocabulary. Default: "
        f"{ENGINE_DEFAULTS.features.max_terms:,}; more for feature-focus and independent on "
        "sources with many topics.",
    ),
]
MinDf = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST,
        metavar="N",
        help="Ignore terms that occur in fewer than N documents. Default: as the profile says, "
        "usually 1.",
    ),
]
MaxTopics = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST,
        metavar="N",
        help=f"Keep at most N topics. Default: {ENGINE_DEFAULTS.max_topics:,}; more for "
        "feature-focus and independent on sources with many topics.",
    ),
]
MaxPending = Annotated[
    int,
    typer.Option(
        min=0, max=MOST, metavar="N", help="Let at most N documents wait for their late labels."
    ),
]
MaxPendingBytes = Annotated[
    int,
    typer.Option(
        min=0,
        max=1 << 60,
        metavar="N",
        help="Let waiting documents take at most N bytes, and labels that wait as many.",
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Save the model to this file at the end of the run, also after Ctrl-C.",
    ),
]
SaveEvery = Annotated[
    int,
    typer.Option(
        min=0,
        max=MOST,
        metavar="N",
        help="With --save: also save the model each time N more documents are learned; 0 does not.",
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Go on from this model, with its lanes and settings. Events of SOURCE that the model "
        "has read are skipped; a new source is learned from its first event.",
    ),
]
FromStart = Annotated[
    bool,
    typer.Option(
        "--from-start",
        help="With --resume: learn SOURCE from its first event, even if the model has read it.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Show results and problems only, no progress.")
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65_535,
        metavar="PORT",
        help="Serve metrics for Prometheus at this port of 127.0.0.1 during the run; 0 takes any "
        "free port.",
    ),
]
MetricTopics = Annotated[
    int,
    typer.Option(
        min=0,
        max=MAX_WATCHED,
        metavar="N",
        help="Export the losses of the first N topics as metrics, one series per topic; all others "
        "share one series.",
    ),
]
Page = Annotated[bool, typer.Option("--page", help="Serve a live page of the run on this machine.")]
PagePort = Annotated[
    int,
    typer.Option(
        min=0,
        max=65_535,
        metavar="PORT",
        help="The port of the live page; 0 takes any free port.",
    ),
]
Kafka = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Do not rank here: write the events to a Kafka topic of this broker, for the workers "
        "of `wirerank run`. After an interruption the same command continues.",
    ),
]
Topic = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --kafka: the Kafka topic; created if it does not exist.",
    ),
]
Speed = Annotated[
    str,
    typer.Option(
        metavar="max|FACTORx",
        help="With --kafka: as fast as possible (max), or by the times of the events; 60x plays an "
        "hour in a minute.",
    ),
]
UntilRanked = Annotated[
    bool,
    typer.Option("--until-ranked", help="With --kafka: wait until all events are ranked."),
]
Pass = Annotated[
    int,
    typer.Option(
        "--pass",
        min=1,
        max=MOST,
        metavar="N",
        help="With --kafka: number of this pass over the source; 2 plays it a second time.",
    ),
]
