"""One run of the soak: start everything, let faults happen, wait, rank again, and judge."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.soak.brief import BriefStream
from tests.soak.checker import LONGEST_STALL_S, Verdict, judge
from tests.soak.cluster import SoakCluster
from tests.soak.configuration import LANES, REFERENCE, SPLIT, STREAM, Configuration
from tests.soak.disk import SnapshotDisk
from tests.soak.faults import Faults
from tests.soak.history import copy_topic, read_history
from tests.soak.journal import Journal
from tests.soak.load_process import LoadProcess
from tests.soak.plan import draw_faults
from tests.soak.progress import Progress
from tests.soak.report import write_report
from tests.soak.topics import BY_BROKER, LARGEST, create_topic
from tests.soak.workers import Workers, environment_of

START_S = 900.0  # the first start on a machine compiles kernels
SETTLE_S = 300.0
REFERENCE_S = 600.0
PARTITIONS = 4
TURN_S = 0.05
RECREATE = "recreate"  # the kind of fault that needs the second stream


@dataclass(frozen=True)
class Plan:
    """What a run is to do."""

    seed: int
    faults: int  # at most so many
    seconds: float  # at most so long
    every: float = 3.0  # seconds between two faults, on average
    wave: int = 50  # faults until a calm, in which the workers must catch up
    rate: float = 25.0  # events per second
    kinds: tuple[str, ...] = ()  # all that are possible
    longest_stall: float = LONGEST_STALL_S  # without a fault, in seconds


class Soak:
    """A run: everything that it starts ends with `close`."""

    def __init__(self, plan: Plan, out: Path, say: Callable[[str], None]) -> None:
        self.plan, self.out, self._say = plan, out, say
        out.mkdir(parents=True, exist_ok=True)
        for former in [*out.glob("*.jsonl"), *out.glob("*.records"), *out.glob("*.log")]:
            former.unlink()
        self._scratch = Path(tempfile.mkdtemp(prefix="wirerank-soak-"))
        self._disk = SnapshotDisk(self._scratch)
        self._cluster = SoakCluster(self._scratch / "kafka")
        self._workers = Workers(out, out / "exits.jsonl", out / "memory.jsonl")
        self._journal = Journal(out / "faults.jsonl")
        self._settings = Configuration(
            self._scratch, self._cluster.bootstrap, self._disk.path, PARTITIONS
        )
        self._brief = BriefStream(self._cluster, self._workers, self._scratch, out, plan.seed)
        self.faults = Faults(
            self._cluster, self._workers, self._disk, self._settings, self._scratch,
            self._journal, self._more_partitions, self._brief.recreate,
        )  # fmt: skip
        self._progress = Progress(self._cluster, STREAM)
        self._load: LoadProcess | None = None

    def run(self) -> Verdict:
        """Do everything, and return the verdict, which is also written to the folder."""
        began = time.monotonic()
        self._start()
        self._say(f"started in {time.monotonic() - began:.0f} s; faults begin")
        self._let_faults_happen()
        self._settle()
        self._rank_again()
        self._copy_topics()
        verdict = judge(read_history(self.out, list(LANES), [SPLIT]), self.plan.longest_stall)
        if self._brief.load is not None:
            replaced = self._brief.judge()
            verdict.recreated = replaced.as_json()
            verdict.violations += replaced.violations()
        settings = {
            "seed": self.plan.seed, "faults": self.plan.faults, "every": self.plan.every,
            "rate": self.plan.rate, "wave": self.plan.wave, "kinds": self.kinds(),
            "skipped": self.faults.skipped, "seconds": round(time.monotonic() - began, 1),
        }  # fmt: skip
        write_report(self.out, verdict, settings)
        return verdict

    def _more_partitions(self, number: int) -> None:
        if self._load is not None:
            self._load.tell(f"partitions {number}")

    def kinds(self) -> list[str]:
        """The kinds of faults of this run."""
        possible = self.faults.possible()
        return [kind for kind in possible if not self.plan.kinds or kind in self.plan.kinds]

    def close(self) -> None:
        """End everything that was started."""
        with suppress(Exception):  # a broker may be down; orphans of a supervisor are ended here
            self.faults.end_all()
        self._workers.close()
        for load in self._loads():
            load.kill()
        self._cluster.close()
        self._disk.close()
        self._journal.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    # The steps

    def _start(self) -> None:
        self._cluster.start()
        began = time.time()
        self._make_topics()
        self.faults.start_run()
        self.faults.start_shards()
        self._load = LoadProcess(
            self._cluster.direct, f"{STREAM}.documents", PARTITIONS, self.out / "ledger.jsonl",
            self.plan.seed, self.plan.rate,
        )  # fmt: skip
        if RECREATE in self.kinds():
            self._brief.start()
        missing = self._progress.caught_up(list(LANES), START_S, self._check_load)
        if missing:
            raise RuntimeError(f"the workers did not come up in {START_S:.0f} s: {missing}")
        entry = {"kind": "start", "touches": ["*"], "began": began, "ended": time.time()}
        self._journal.write(entry)

    def _make_topics(self) -> None:
        """The workers create the others."""
        create_topic(self._cluster, f"{STREAM}.documents", PARTITIONS, LARGEST)
        create_topic(self._cluster, f"{STREAM}.rankings", PARTITIONS, {**LARGEST, **BY_BROKER})

    def _check_load(self) -> None:
        self.faults.end_due()
        for load in self._loads():
            load.check()

    def _loads(self) -> list[LoadProcess]:
        return [load for load in (self._load, self._brief.load) if load is not None]

    def _let_faults_happen(self) -> None:
        end = time.monotonic() + self.plan.seconds
        in_wave = done = 0
        for fault in draw_faults(self.plan.seed, self.kinds()):
            if done >= self.plan.faults or time.monotonic() > end:
                break
            due = time.monotonic() + fault.pause * self.plan.every
            while time.monotonic() < due:
                self._check_load()
                time.sleep(TURN_S)
            if self.faults.inject(fault):
                done, in_wave = done + 1, in_wave + 1
                if done % 10 == 0:
                    self._say(f"{done} faults, {self.faults.skipped} skipped")
            if in_wave >= self.plan.wave:
                self._calm()
                in_wave = 0
        if in_wave:
            self._calm()

    def _calm(self) -> None:
        """End all faults, and measure how long the workers need until they have caught up."""
        self.faults.restore()
        began = time.time()
        missing = self._progress.caught_up(list(LANES), SETTLE_S, self._check_load)
        entry = {"kind": "calm", "began": began, "ended": time.time(), "missing": missing}
        self._journal.write(entry)
        self._say(f"calm: caught up in {time.time() - began:.0f} s. {missing}")

    def _settle(self) -> None:
        """Stop the load, wait for the last rankings, and end the workers."""
        for load in self._loads():
            load.stop(SETTLE_S)
        missing = self._progress.caught_up(list(LANES), SETTLE_S)
        if self._brief.load is not None:
            missing = missing or self._brief.missing(SETTLE_S)
        if missing:
            self._say(f"still missing after {SETTLE_S:.0f} s: {missing}")
        self.faults.end_run()
        self.faults.end_shards()
        self._brief.end()

    def _rank_again(self) -> None:
        """The reference: one fresh worker ranks the same log, without faults."""
        self._say("ranking the log again, without faults")
        path = self._settings.write_reference(self._cluster.direct)
        self._workers.start("reference", "learn", str(path), environment=environment_of(None))
        missing = self._progress.caught_up(list(LANES), REFERENCE_S, learners=REFERENCE)
        self._workers.end("reference")
        if self._brief.load is not None:
            self._brief.rank_again(REFERENCE_S)
        if missing:
            raise RuntimeError(f"the reference did not reach the end of the log: {missing}")

    def _copy_topics(self) -> None:
        names = {
            "documents": f"{STREAM}.documents", "rankings": f"{STREAM}.rankings",
            "reference": f"{REFERENCE}.rankings", "dead-letters": f"{STREAM}.dead-letters",
        }  # fmt: skip
        for name, topic in names.items():
            copy_topic(self._cluster.direct, topic, self.out / f"{name}.records")
