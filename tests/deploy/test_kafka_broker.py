"""A real broker keeps what it acknowledged, restarts with its data, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from deploy.kafka import (
    BrokerError,
    Cluster,
    Options,
    jars,
    run_tool,
)
from deploy.kafka import cluster as cluster_module
from deploy.kafka.broker import Broker
from deploy.kafka.metadata_request import brokers_in_service
from deploy.kafka.ports import LOOPBACK, PortLease
from deploy.kafka.process import ProcessId
from deploy.kafka.tools import TOOLS
from tests.support.kafka_fixture import need_kafka

REPOSITORY = Path(__file__).resolve().parents[2]
CLIENT = {"reconnect_backoff_max_ms": 500, "bootstrap_timeout_ms": 20_000}


def make_topic(bootstrap: str, copies: int = 1) -> str:
    topic = f"t-{uuid.uuid4().hex[:8]}"
    admin = KafkaAdminClient(bootstrap_servers=bootstrap, **CLIENT)
    try:
        wanted = {topic: {"num_partitions": 1, "replication_factor": copies}}
        admin.create_topics(wanted, wait_for_metadata=True)
    finally:
        admin.close()
    return topic


def write(bootstrap: str, topic: str, values: list[bytes]) -> None:
    """Write records and require that each one is acknowledged."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type="lz4", **CLIENT)
    try:
        futures = [producer.send(topic, value, partition=0) for value in values]
        for future in futures:
            future.get(timeout=120)
    finally:
        producer.close(timeout=5)


def read(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[bytes]:
    """Return all records of the only partition."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, isolation_level=isolation, **CLIENT
    )
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        values: list[bytes] = []
        limit = time.monotonic() + 30
        while consumer.position(partition) < end:
            assert time.monotonic() < limit, f"read {len(values)} records, then nothing"
            for records in consumer.poll(200).values():
                values += [record.value for record in records]
        return values
    finally:
        consumer.close()


def numbered(first: int, last: int) -> list[bytes]:
    return [b"%d " % number * 50 for number in range(first, last)]


def until(true: Callable[[], bool], seconds: float = 15.0) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def in_service(node: Broker) -> bool:
    """Whether a broker answers, and is in service. A machine under load lets it time out."""
    try:
        return brokers_in_service(LOOPBACK, node.ports.port) == {1}
    except OSError:
        return False


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A broker that may be killed."""
    need_kafka()
    with Cluster(tmp_path_factory.mktemp("own")) as kafka:
        yield kafka


def test_produce_and_consume(broker: str) -> None:
    topic = make_topic(broker)
    write(broker, topic, numbered(0, 500))
    assert read(broker, topic) == numbered(0, 500)


def test_transactions(broker: str) -> None:
    topic = make_topic(broker)
    producer = KafkaProducer(bootstrap_servers=broker, transactional_id=topic, **CLIENT)
    try:
        producer.init_transactions()
        for value, commit in ((b"first", True), (b"aborted", False), (b"second", True)):
            producer.begin_transaction()
            producer.send(topic, value, partition=0).get(timeout=120)
            if commit:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    finally:
        producer.close(timeout=5)
    assert read(broker, topic) == [b"first", b"second"]
    assert read(broker, topic, "read_uncommitted") == [b"first", b"aborted", b"second"]


def test_console_tools_see_a_group_and_its_lag(broker: str) -> None:
    need_kafka()
    topic = make_topic(broker)
    write(broker, topic, numbered(0, 10))
    consumer = KafkaConsumer(
        topic, bootstrap_servers=broker, group_id=topic, enable_auto_commit=False,
        auto_offset_reset="earliest", max_poll_records=4, **CLIENT,
    )  # fmt: skip
    try:
        assert until(lambda: bool(consumer.poll(1000)))
        consumer.commit()
    finally:
        consumer.close()
    done = run_tool(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--bootstrap-server", broker, "--describe", "--group", topic,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith(topic))
    assert row[1:6] == [topic, "0", "4", "10", "6"]  # topic, partition, offset, end, lag


def test_scripts_have_the_names_of_kafkas_tools(broker: str, tmp_path: Path) -> None:
    need_kafka()
    topic = make_topic(broker)
    command = [sys.executable, "-m", "deploy.kafka", "tools", "--data", str(tmp_path)]
    folder = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert {path.name for path in Path(folder).glob("*.sh")} == set(TOOLS)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    shown = subprocess.run(
        ["sh", "-c", f"kafka-topics.sh --bootstrap-server {broker} --list"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert topic in shown.stdout.split(), shown.stderr


def test_an_unknown_topic_is_not_created(own: Cluster) -> None:
    producer = KafkaProducer(bootstrap_servers=own.bootstrap, max_block_ms=1000, **CLIENT)
    try:
        with pytest.raises(Exception, match=r"(?i)metadata|unknown|timeout|failed"):
            producer.send("nobody-made-it", b"x").get(timeout=5)
    finally:
        producer.close(timeout=1)
    admin = KafkaAdminClient(bootstrap_servers=own.bootstrap, **CLIENT)
    try:
        assert "nobody-made-it" not in admin.list_topics()
    finally:
        admin.close()


def test_restart_and_kill_keep_the_data_and_the_port(own: Cluster) -> None:
    node, bootstrap = own.brokers[0], own.bootstrap
    topic = make_topic(bootstrap)
    write(bootstrap, topic, numbered(0, 200))
    pid = node.pid
    node.stop()
    assert ProcessId.of(pid) is None
    node.restart()
    assert read(bootstrap, topic) == numbered(0, 200)
    write(bootstrap, topic, numbered(200, 400))
    node.kill()
    assert not node.running
    began = time.monotonic()
    node.start()
    assert time.monotonic() - began < 20
    assert own.bootstrap == bootstrap
    assert read(bootstrap, topic) == numbered(0, 400)


def test_the_classes_are_recorded_once(own: Cluster) -> None:
    assert own.brokers[0].running
    recorded = jars.class_archive()
    assert recorded.exists()
    assert not list(recorded.parent.glob("recording-*"))
    assert (str(recorded) in " ".join(jars.java_command(own.folder / "log", 64))) == (
        recorded.stat().st_size > 0
    )


def test_pause_and_resume(own: Cluster) -> None:
    node = own.brokers[0]
    node.pause()
    try:
        with pytest.raises(OSError, match="timed out"):
            brokers_in_service(LOOPBACK, node.ports.port, timeout=0.5)
    finally:
        node.resume()
    assert until(lambda: in_service(node))


def test_a_broker_outlives_the_thread_that_started_it(own: Cluster) -> None:
    node = own.brokers[0]
    node.kill()
    thread = threading.Thread(target=node.start)
    thread.start()
    thread.join()
    time.sleep(0.3)
    assert node.running
    assert brokers_in_service(LOOPBACK, node.ports.port) == {1}


def test_three_nodes_survive_the_loss_of_one_and_the_death_of_all(tmp_path: Path) -> None:
    need_kafka()
    with Cluster(tmp_path, nodes=3) as kafka:
        topic = make_topic(kafka.bootstrap, copies=3)
        write(kafka.bootstrap, topic, numbered(0, 200))
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap, **CLIENT)
        leader = admin.describe_topics([topic])[0]["partitions"][0]["leader_id"]
        admin.close()
        kafka.brokers[leader - 1].kill()
        write(kafka.bootstrap, topic, numbered(200, 400))
        assert read(kafka.bootstrap, topic) == numbered(0, 400)
        kafka.kill()
        kafka.start()
        assert read(kafka.bootstrap, topic) == numbered(0, 400)
        pids = [node.pid for node in kafka.brokers]
        kafka.kill()
    assert [pid for pid in pids if ProcessId.of(pid)] == []


def test_brokers_die_with_the_process_that_started_them(tmp_path: Path) -> None:
    need_kafka()
    program = (
        "import sys, time; from pathlib import Path; from deploy.kafka import Cluster\n"
        "kafka = Cluster(Path(sys.argv[1])); kafka.start()\n"
        "print(kafka.brokers[0].pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        line = parent.stdout.readline()
        parent.send_signal(signal.SIGKILL)
    process = ProcessId.of(int(line))
    assert process is None or process.wait(10)


def test_a_port_taken_meanwhile_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_kafka()
    with socket.create_server((LOOPBACK, 0)) as intruder:
        taken = intruder.getsockname()[1]
        handed_out = 0

        class Race(PortLease):
            def __init__(self) -> None:
                nonlocal handed_out
                super().__init__()
                handed_out += 1
                if handed_out == 1:
                    self.port = taken

        monkeypatch.setattr(cluster_module, "PortLease", Race)
        with Cluster(tmp_path / "a") as kafka:
            assert handed_out == 4
            assert str(taken) not in kafka.bootstrap
        with pytest.raises(BrokerError, match=f"another program listens on 127.0.0.1:{taken}"):
            Cluster(tmp_path / "b", port=taken).start()


def test_a_failing_start_shows_the_log(tmp_path: Path) -> None:
    need_kafka()
    kafka = Cluster(tmp_path, options=Options(settings={"num.io.threads": "none"}))
    with pytest.raises(BrokerError, match=r"num\.io\.threads"):
        kafka.start()
    assert not kafka.brokers[0].running


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deploy.kafka", *arguments],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_command_line(tmp_path: Path) -> None:
    need_kafka()
    lease = PortLease()
    data, port, address = str(tmp_path), str(lease.port), f"127.0.0.1:{lease.port}"
    assert command("status", "--data", data).returncode == 3
    try:
        started = command("start", "--data", data, "--port", port)
        assert (started.returncode, started.stdout) == (0, f"{address}\n"), started.stderr
        process = ProcessId.read(tmp_path / "node-1" / "pid")
        assert process is not None
        assert process.alive()
        topic = make_topic(address)
        write(address, topic, [b"x"])
        assert command("status", "--data", data).returncode == 0
        again = command("start", "--data", data, "--port", port)
        assert (again.returncode, again.stdout) == (0, f"{address}\n")
        other = command("start", "--data", data, "--port", "9999")
        assert other.returncode == 1
        assert "runs already" in other.stderr
    finally:
        stopped = command("stop", "--data", data)
    assert stopped.returncode == 0, stopped.stderr
    assert not process.alive()
    assert not (tmp_path / "node-1" / "pid").exists()
    assert command("stop", "--data", data).returncode == 0
    wrong = command("start", "--data", data, "--port", port, "--nodes", "3")
    assert wrong.returncode == 1
    assert "--nodes 1" in wrong.stderr


def test_a_stale_pid_file_does_no_harm(tmp_path: Path) -> None:
    node = tmp_path / "node-1"
    node.mkdir()
    with subprocess.Popen(["sleep", "60"]) as innocent:
        ProcessId(innocent.pid, "another-boot:1").write(node / "pid")
        assert command("stop", "--data", str(tmp_path)).returncode == 0
        assert innocent.poll() is None
        innocent.kill()
