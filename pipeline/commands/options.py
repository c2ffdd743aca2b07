"""Options that several commands have: what decides the result of a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learners.options import MOST
from pipeline.commands.defaults import INDEX_LANES, RANK_LANES, USUAL
from pipeline.engine.topic_index import MOST_WATCHED
from pipeline.events.formats import FORMATS
from pipeline.replay.settings import DEFAULT_LANES, ReplaySettings
from pipeline.text.tokenizer import PROFILES

DEFAULTS = ReplaySettings(source="")  # what holds where an option is not given

Source = Annotated[
    str,
    typer.Argument(
        help="FILE.jsonl, FILE.jsonl.gz, - (standard input) or kind:PATH; "
        "`wirerank corpora` lists the kinds."
    ),
]
Lanes = Annotated[
    list[str] | None,
    typer.Option(
        help="A lane, e.g. mmp:loss=1 (repeat for several); see `wirerank lanes`. "
        f"Default: {', '.join(DEFAULT_LANES)}; "
        f"for sources of many classes {', '.join(INDEX_LANES)}; "
        f"for movielens: {', '.join(RANK_LANES)}; for letor: and trec: these, with as many ranks "
        "as there are grades.",
        metavar="SPEC",
    ),
]
Limit = Annotated[int, typer.Option(min=0, max=MOST, help="Read so many events; 0 reads all.")]
Format = Annotated[
    str, typer.Option("--format", help=f"What the events are: {' or '.join(FORMATS)}.")
]
Profile = Annotated[str, typer.Option(help=f"How text is cut: {' or '.join(PROFILES)}.")]
Topics = Annotated[Path | None, typer.Option(help="A file that declares topics, one per line.")]
DeadLetters = Annotated[
    Path, typer.Option(help="Malformed events go here, if there are any (JSON lines).")
]
MaxEventBytes = Annotated[
    int, typer.Option(min=100, max=1 << 30, help="A longer event is a dead letter.")
]
MaxTerms = Annotated[
    int | None,
    typer.Option(
        min=16,
        max=MOST,
        help=f"Ceiling of the vocabulary. Default: {USUAL.features.max_terms:,}, or for index "
        "lanes what a source of many classes has.",
    ),
]
MinDf = Annotated[
    int, typer.Option(min=1, max=MOST, help="A term counts from its so-many-th document on.")
]
MaxTopics = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST,
        help=f"Ceiling of the topics. Default: {USUAL.max_topics:,}, or for index lanes what a "
        "source of many classes has.",
    ),
]
MaxPending = Annotated[
    int, typer.Option(min=0, max=MOST, help="Ceiling of documents that wait for late labels.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No narration.")]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65_535,
        metavar="PORT",
        help="Serve metrics for Prometheus at this port of 127.0.0.1 while it runs; 0 is any.",
    ),
]
MetricTopics = Annotated[
    int,
    typer.Option(
        min=0,
        max=MOST_WATCHED,
        help="So many topics have a loss of their own among the metrics.",
    ),
]
Page = Annotated[
    bool, typer.Option("--page", help="Serve a live page of the run to browsers here.")
]
PagePort = Annotated[
    int, typer.Option(min=0, max=65_535, help="The port of the page; 0 takes a free one.")
]
Kafka = Annotated[
    str | None,
    typer.Option(
        help="Write the events to a topic of this broker instead; the workers of `wirerank run` "
        "rank and learn them. The same command goes on after a stop.",
        metavar="HOST:PORT",
    ),
]
Topic = Annotated[
    str | None, typer.Option(help="The topic; made if it is missing.", metavar="NAME")
]
Speed = Annotated[
    str,
    typer.Option(
        help="As fast as it goes (max), or paced by the events' times: 60x is an hour in a minute.",
        metavar="max|FACTORx",
    ),
]
UntilRanked = Annotated[
    bool, typer.Option("--until-ranked", help="Wait until every event was ranked.")
]
Pass = Annotated[
    int,
    typer.Option(
        "--pass", min=1, max=MOST, help="2 plays a source that is there already a second time."
    ),
]
