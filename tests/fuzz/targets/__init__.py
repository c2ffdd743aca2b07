"""All targets by name."""

from __future__ import annotations

from tests.fuzz.target import Target
from tests.fuzz.targets.archives import Archives
from tests.fuzz.targets.avro import Avro
from tests.fuzz.targets.configuration import Configuration, LaneSpecs, SourceTexts
from tests.fuzz.targets.corpora import (
    Letor,
    Movielens,
    Newsgroups,
    Rcv1Labels,
    Rcv1Newsml,
    Rcv1Tokens,
    Reuters,
    TextFiles,
    TrecJudgements,
    TrecRuns,
)
from tests.fuzz.targets.engine import Streams
from tests.fuzz.targets.events import EventLines, NinjsEvents, WirerankEvents
from tests.fuzz.targets.http_servers import MetricsTarget, PageTarget
from tests.fuzz.targets.kafka_batches import KafkaBatches
from tests.fuzz.targets.learner_files import LearnerFiles
from tests.fuzz.targets.mappings import Mappings
from tests.fuzz.targets.own_files import CsvFiles, FasttextFiles, NewsmlG2Files
from tests.fuzz.targets.rank_requests import RankRequests
from tests.fuzz.targets.records import (
    Containers,
    LogRecords,
    PlayedHeaders,
    ScoreRecordsTarget,
)
from tests.fuzz.targets.reports import ExperimentResults, MetricLabels, Times
from tests.fuzz.targets.snapshots import InspectedSnapshots, RestoredSnapshots
from tests.fuzz.targets.text import Markup, TokenizerTarget

EVERY: tuple[type[Target], ...] = (
    WirerankEvents, NinjsEvents, EventLines, Markup, TokenizerTarget, LaneSpecs, SourceTexts,
    Configuration, Containers, LogRecords, ScoreRecordsTarget, PlayedHeaders, RestoredSnapshots,
    InspectedSnapshots, KafkaBatches, Reuters, Newsgroups, Rcv1Tokens, Rcv1Labels, Rcv1Newsml,
    Letor, TrecRuns, TrecJudgements, Movielens, TextFiles, Archives, ExperimentResults, Times,
    MetricLabels, MetricsTarget, PageTarget, Streams, CsvFiles, FasttextFiles, NewsmlG2Files,
    Mappings, Avro, LearnerFiles, RankRequests,
)  # fmt: skip
TARGETS: dict[str, type[Target]] = {target.name: target for target in EVERY}
