"""A small second stream, whose documents topic is deleted and created again."""

from __future__ import annotations

from pathlib import Path

from tests.soak.cluster import SoakCluster
from tests.soak.configuration import TEXT
from tests.soak.history import copy_topic, read_lines, read_records
from tests.soak.load_process import LoadProcess
from tests.soak.progress import Progress
from tests.soak.recreated import RecreatedVerdict, judge_recreated
from tests.soak.topics import BY_BROKER, LARGEST, create_topic, delete_topic
from tests.soak.workers import Workers, environment_of

BRIEF, REFERENCE, LANE = "brief", "brief-reference", "brief"
SPEC = f"mmp:loss=1,name={LANE}"
PARTITIONS = 2
RATE = 6.0  # events per second
WORKERS = ("brief-tokenizer", "brief-learner")


class BriefStream:
    """One tokenizer, one learner of one lane, and a load of their own."""

    def __init__(
        self, cluster: SoakCluster, workers: Workers, scratch: Path, out: Path, seed: int
    ) -> None:
        self._cluster, self._workers = cluster, workers
        self._scratch, self._out, self._seed = scratch, out, seed
        self._progress = Progress(cluster, BRIEF)
        self._generation = 0
        self.load: LoadProcess | None = None

    def start(self) -> None:
        """Start the workers and the load."""
        self._create_documents()
        create_topic(self._cluster, f"{BRIEF}.rankings", PARTITIONS, {**LARGEST, **BY_BROKER})
        path = self._write(BRIEF, self._cluster.bootstrap)
        tokenizer, learner = WORKERS
        for name, command in ((tokenizer, "tokenize"), (learner, "learn")):
            environment = environment_of(self._scratch / f"{name}.clock")
            self._workers.start(name, command, str(path), environment=environment)
        self.load = LoadProcess(
            self._cluster.direct, f"{BRIEF}.documents", PARTITIONS,
            self._out / "brief-ledger.jsonl", self._seed, RATE,
        )  # fmt: skip

    def recreate(self) -> None:
        """Delete the documents topic and create it again; nothing is written meanwhile."""
        if self.load is None:
            return
        self.load.pause()
        delete_topic(self._cluster, f"{BRIEF}.documents")
        self._create_documents()
        self._generation += 1
        self.load.tell(f"generation {self._generation}")

    def missing(self, patience_s: float) -> str:
        """What is missing after this time, until everything is ranked."""
        return self._progress.caught_up([LANE], patience_s)

    def end(self) -> None:
        """End the workers."""
        self._workers.end(*WORKERS)

    def rank_again(self, patience_s: float) -> None:
        """Rank the log again without faults."""
        path = self._write(REFERENCE, self._cluster.direct)
        self._workers.start(REFERENCE, "learn", str(path), environment=environment_of(None))
        self._progress.caught_up([LANE], patience_s, learners=REFERENCE)
        self._workers.end(REFERENCE)

    def judge(self) -> RecreatedVerdict:
        """Copy the topics, and check them."""
        copies = []
        for stream in (BRIEF, REFERENCE):
            path = self._out / f"{stream}.records"
            copy_topic(self._cluster.direct, f"{stream}.rankings", path)
            copies.append(list(read_records(path)))
        return judge_recreated(read_lines(self._out / "brief-ledger.jsonl"), *copies)

    def _create_documents(self) -> None:
        create_topic(self._cluster, f"{BRIEF}.documents", PARTITIONS, LARGEST)

    def _write(self, stream: str, bootstrap: str) -> Path:
        path = self._scratch / f"{stream}.toml"
        text = TEXT.format(
            bootstrap=bootstrap,
            snapshots=self._scratch / "brief-snapshots",
            name=stream,
            documents=f"{BRIEF}.documents",
            blocks=f"{BRIEF}.blocks",
            partitions=PARTITIONS,
            lanes=f'  {{spec = "{SPEC}", shards = 1}},',
        )
        path.write_text(text)
        return path
