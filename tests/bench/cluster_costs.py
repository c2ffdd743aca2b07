"""What clients and brokers cost, measured on a real broker, and real runs beside the simulation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import lz4.frame
import orjson

from consumers.kafka.topics import ensure_scores_topic
from deploy.kafka import Cluster, Options
from learners.specs import parse_spec
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.planning.cost_model import Costs, fit_all
from pipeline.planning.formula import Formula, Load, Sample
from pipeline.planning.measuring import Samples
from pipeline.planning.simulation import simulate_backlog
from tests.bench.stream import records_in, span, written
from tests.conftest import REPOSITORY
from tests.support.exchanging_shards import Shards
from tests.support.kafka_stream import Streaming, eventually

TOPICS, WORDS, PARTITIONS = 1000, 180, 4
# Lane, shards, documents, and documents per block at most.
RUNS = (
    ("perceptron", 1, 10_000, 1000),
    ("perceptron", 1, 3_000, 20),
    ("perceptron", 2, 6_000, 1000),
    ("perceptron", 4, 6_000, 1000),
    ("mmp:loss=1", 1, 10_000, 1000),
    ("mmp:loss=1", 2, 6_000, 1000),
    ("mmp:loss=1", 4, 6_000, 1000),
    ("soft-arow", 1, 6_000, 1000),
    ("soft-arow", 2, 6_000, 1000),
    ("soft-arow", 4, 6_000, 1000),
)
SMALL_BLOCK = 100
LEARNED = 4096  # documents before those that count: see WARM_UP in `costs`
# Shards, bytes that each sends, and how often.
EXCHANGES = ((2, 300, 300), (2, 30_000, 100), (2, 600_000, 20), (4, 300, 100), (4, 30_000, 50))
WARM_UP = 50
COMPILING_S = 600.0  # a worker that has to compile kernels first may take this long
WARM_UP_RUN = ("perceptron", 1, 20_000, 200)
TICKS = os.sysconf("SC_CLK_TCK")


class Run(NamedTuple):
    """A real run: a backlog of documents, from the first block to the last ranking."""

    lane: str
    shards: int
    documents: int
    block: float  # documents per block
    terms: float
    seconds: float
    tokenizer_us: float  # processor time per document
    worker_us: list[float]  # of each shard
    broker_us: float
    ranking_bytes: float
    cores: float  # that others left to the run: its own time, and time that nobody used


class ExchangeCall(NamedTuple):
    """What a process needs to know that exchanges payloads with others."""

    bootstrap: str
    topic: str
    shard: int
    shards: int
    size: int  # bytes
    times: int
    broker: int  # process id


class Check(NamedTuple):
    """A real run beside the simulation of it."""

    run: Run
    simulated_rate: float  # documents per second

    @property
    def rate(self) -> float:
        return self.run.documents / self.run.seconds


def cpu_seconds(pid: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def idle_seconds() -> float:
    """The time that the cores of this machine had nothing to do so far."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / TICKS


def run_backlog(
    cluster: Cluster, folder: Path, lane: str, shards: int, documents: int, block: int
) -> Run:
    """Let workers rank a backlog of documents, after some that they have learned before."""
    source = SyntheticNewswire(documents=LEARNED + documents, topics=TOPICS, words=WORDS)
    events = list(source)
    names = ", ".join(f'"{name}"' for name in source.topics)
    settings = f"block = {block}\ntopics = [{names}]"
    folder.mkdir()
    lanes = {lane: shards}
    with Streaming(
        cluster.bootstrap, folder, lanes, PARTITIONS, (), settings, 60, shards=lanes
    ) as streaming:
        streaming.configure(lanes, shards=lanes, shared_memory=False)  # as on several machines
        workers = [f"learn@{lane}#{i}" for i in range(shards)] if shards > 1 else ["learn"]
        for name in workers:
            streaming.start(name, program=("consumers",))
        for name in workers:
            ready = eventually(lambda: "of the log" in streaming.log(name), COMPILING_S)  # noqa: B023
            assert ready, name
        streaming.start("tokenize-0", program=("consumers",))
        assert eventually(lambda: started(streaming), COMPILING_S)
        topic, kafka = streaming.stream.rankings, streaming.config.kafka
        streaming.produce(events[:LEARNED])
        done = eventually(lambda: records_in(kafka, topic) >= LEARNED, 300)
        assert done, streaming.log(workers[0])[-3000:]
        time.sleep(3)  # what is to be committed is, and everybody waits for documents
        earlier = records_in(kafka, topic), len(written(kafka, streaming.stream.blocks, 1))
        before = {name: cpu_seconds(streaming.processes[name].pid) for name in workers}
        tokenizer = streaming.processes["tokenize-0"]
        idle = cpu_seconds(tokenizer.pid)
        tokenizer.send_signal(signal.SIGSTOP)  # so that all documents wait for it
        pid = cluster.brokers[0].pid
        broker = cpu_seconds(pid)
        streaming.produce(events[LEARNED:])
        idle_before, clock = idle_seconds(), time.monotonic()
        ours = [pid, tokenizer.pid, *(streaming.processes[name].pid for name in workers)]
        ours_before = sum(map(cpu_seconds, ours))
        tokenizer.send_signal(signal.SIGCONT)
        done = eventually(lambda: records_in(kafka, topic) >= earlier[0] + documents, 300)
        assert done, streaming.log(workers[0])[-3000:]
        after = {name: cpu_seconds(streaming.processes[name].pid) for name in workers}
        tokenized = cpu_seconds(tokenizer.pid) - idle
        free = sum(map(cpu_seconds, ours)) - ours_before + idle_seconds() - idle_before
        cores = free / (time.monotonic() - clock)
        broker = cpu_seconds(pid) - broker
        published = streaming.rankings(LEARNED + documents, seconds=30)
        published = sorted(published, key=lambda message: message.timestamp)[LEARNED:]
        blocks = written(kafka, streaming.stream.blocks, 1)[earlier[1] :]
        for name in ("tokenize-0", *workers):
            assert streaming.end(name) == 0, streaming.log(name)
    values = [message.value or b"" for message in published]
    batches = (b"".join(values[start : start + 1000]) for start in range(0, documents, 1000))
    packed = sum(len(lz4.frame.compress(batch)) for batch in batches) / documents
    return Run(
        lane, shards, documents, documents / len(blocks), 0.0,
        span(published)[1] - span(blocks)[0],
        1e6 * tokenized / documents,
        [1e6 * (after[name] - before[name]) / documents for name in workers],
        1e6 * broker / documents,
        packed, cores,
    )  # fmt: skip


def started(streaming: Streaming) -> bool:
    """Whether the tokenizer serves its metrics, the last thing before it reads."""
    return bool(streaming.address("tokenize-0"))


def exchange_loop(call: ExchangeCall) -> None:
    """One shard that exchanges payloads; prints microseconds per exchange: own, broker's, clock."""
    made = Shards(call.bootstrap)
    made.topic = call.topic
    exchange = made.new(call.shard, call.shards)
    payload = os.urandom(call.size)
    for number in range(WARM_UP):
        exchange.swap(number, payload)
    before = time.process_time(), cpu_seconds(call.broker), time.perf_counter()
    for number in range(WARM_UP, WARM_UP + call.times):
        exchange.swap(number, payload)
    after = time.process_time(), cpu_seconds(call.broker), time.perf_counter()
    made.close()
    taken = [1e6 * (b - a) / call.times for a, b in zip(before, after, strict=True)]
    print(orjson.dumps(taken).decode())


def measure_exchange(cluster: Cluster, shards: int, size: int, times: int) -> list[float]:
    """Microseconds per exchange: core time of a shard and of the broker, and by the clock."""
    made = Shards(cluster.bootstrap)
    ensure_scores_topic(made.settings, made.topic)
    pid = cluster.brokers[0].pid
    program = "from tests.bench.cluster_costs import ExchangeCall, exchange_loop; exchange_loop({})"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program.format(
                ExchangeCall(cluster.bootstrap, made.topic, shard, shards, size, times, pid))],
            cwd=REPOSITORY, stdout=subprocess.PIPE,
        )
        for shard in range(shards)
    ]  # fmt: skip
    results = [orjson.loads(process.communicate(timeout=300)[0]) for process in running]
    made.close()
    return [sum(column) / shards for column in zip(*results, strict=True)]


def measure_exchanges(cluster: Cluster) -> Samples:
    """Core time of clients and broker per exchange, and the time that nobody computes."""
    found: Samples = {"exchange client": [], "exchange broker": [], "exchange latency": []}
    measure_exchange(cluster, *EXCHANGES[0])  # the broker compiles what it does often
    for shards, size, times in EXCHANGES:
        client, broker, clock = measure_exchange(cluster, shards, size, times)
        load = Load(shards=shards, payload=size)
        found["exchange client"].append(Sample(load, client))
        found["exchange broker"].append(Sample(load, max(broker, 1.0)))
        if shards == 2 and size == EXCHANGES[0][1]:
            found["exchange latency"].append(Sample(load, max(clock - client - broker, 100.0)))
        times_us = f"client {client:,.0f} us, broker {broker:,.0f} us, {clock:,.0f} us by the clock"
        print(f"  {shards} shards, {size:,} bytes: {times_us}", flush=True)
    return found


def client_samples(runs: Sequence[Run], costs: Costs) -> Samples:
    """What workers and broker take beside the work that was measured without Kafka.

    From runs without shards, so that those with shards are a check of everything.
    """
    found: Samples = {
        "tokenizer client": [],
        "worker client": [],
        "broker": [],
        "ranking bytes": [],
    }
    for run in runs:
        load = Load(TOPICS, run.terms, run.shards, run.block)
        rest = run.tokenizer_us - costs.at("tokenizer", load)
        found["tokenizer client"].append(Sample(load, max(rest, 1.0)))
        if run.shards == 1:
            known = costs.at("vocabulary", load) + costs.lane_us(parse_spec(run.lane), load)
            found["worker client"].append(Sample(load, max(run.worker_us[0] - known, 1.0)))
            found["broker"].append(Sample(load, max(run.broker_us, 1.0)))
            found["ranking bytes"].append(Sample(load, run.ranking_bytes))
    return {name: averaged(samples) for name, samples in found.items()}


def averaged(samples: Sequence[Sample]) -> list[Sample]:
    """The mean of the samples with small blocks, and of those with large ones.

    What is left beside the known work is small with large blocks, and has the noise of all of it.
    """
    means = []
    for is_small in (True, False):
        chosen = [one for one in samples if (one.load.block < SMALL_BLOCK) == is_small]
        if chosen:
            block = fmean(one.load.block for one in chosen)
            load = chosen[0].load._replace(block=block)
            means.append(Sample(load, fmean(one.value for one in chosen)))
    return means


def run(
    folder: Path, formulas: Mapping[str, Formula], machine: Mapping[str, str]
) -> tuple[Costs, list[Check]]:
    """Measure on a broker; return all costs, and the real runs beside their simulations."""
    terms = text_terms()
    with Cluster(folder / "kafka", options=Options(heap_mb=1024, quick=False)) as cluster:
        exchanges = fit_all(measure_exchanges(cluster))
        run_backlog(cluster, folder / "warm-up", *WARM_UP_RUN)
        runs = []
        for number, (lane, shards, documents, block) in enumerate(RUNS):
            made = run_backlog(cluster, folder / f"run-{number}", lane, shards, documents, block)
            runs.append(made._replace(terms=terms))
            print(f"  {runs[-1]}", flush=True)
    known = Costs(machine, {**formulas, **exchanges})
    costs = Costs(machine, {**known.formulas, **fit_all(client_samples(runs, known))})
    checks = [Check(r, simulated_rate(costs, r)) for r in runs]
    return costs, checks


def simulated_rate(costs: Costs, run: Run) -> float:
    """Documents per second of the simulation of a real run."""
    return simulate_backlog(costs, parse_spec(run.lane), load_of(run), run.documents, run.cores)


def load_of(run: Run) -> Load:
    """The load of a real run."""
    return Load(TOPICS, run.terms, run.shards, run.block)


def text_terms() -> float:
    """Terms per document of the runs."""
    from pipeline.planning.measuring import make_workload

    return make_workload(TOPICS, WORDS, blocks=2).terms
