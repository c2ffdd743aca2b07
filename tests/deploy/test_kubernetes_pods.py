"""The containers of the chart, run as processes on a real broker, and probed as a kubelet would."""

from __future__ import annotations

import signal
import urllib.error
import urllib.request
from itertools import islice
from pathlib import Path

import orjson

from pipeline.corpora import open_source
from tests.support.fork_server import ForkedProcess, fork_server
from tests.support.helm_chart import Pod, need_tools, pod_of, pods, render
from tests.support.kafka_stream import PATIENCE_S, Streaming, eventually
from tests.support.ports import free_port

DIVIDED, WHOLE = "mmp:loss=1", "perceptron"
DOCUMENTS = 120


class Started:
    """A container as a process: its mounts are folders of the test, and it has its own address."""

    def __init__(self, pod: Pod, address: str, folder: Path, config: str) -> None:
        folder.mkdir()
        (folder / "wirerank.toml").write_text(config)
        self.pod, self.address, self.log = pod, address, folder / "log"
        self.log.touch()
        places = {"/etc/wirerank": str(folder), "/var/lib/wirerank": str(folder / "volume")}
        environment = {**pod.environment(), "WIRERANK__METRICS__HOST": address}
        environment.pop("HOME")  # the compiled kernels are there
        arguments = pod.arguments()
        for inside, outside in places.items():
            arguments = [argument.replace(inside, outside) for argument in arguments]
            environment = {n: value.replace(inside, outside) for n, value in environment.items()}
        assert pod.container["command"] == ["wirerank"]
        self.process: ForkedProcess = fork_server().start(arguments, self.log, environment)

    def probe(self, kind: str) -> bool:
        """Whether a probe of the container succeeds."""
        asked = self.pod.container[f"{kind}Probe"]["httpGet"]
        (port,) = [p for p in self.pod.container["ports"] if p["name"] == asked["port"]]
        url = f"http://{self.address}:{port['containerPort']}{asked['path']}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def end(self) -> int:
        """SIGTERM, and the exit code; a kubelet would kill it after the grace period."""
        self.process.send_signal(signal.SIGTERM)
        grace: float = pod_of(self.pod.workload)["terminationGracePeriodSeconds"]
        return self.process.wait(grace)


def test_the_containers_rank_a_stream(broker: str, tmp_path: Path) -> None:
    """One tokenizer, two shards and a learner of whole lanes, all at the same port."""
    need_tools()
    streaming = Streaming(
        broker, tmp_path, [DIVIDED, WHOLE], partitions=2, shards={DIVIDED: 2}, settings="block = 40"
    )
    values = {"metrics": {"port": free_port()}, "tokenizer": {"replicas": 1}}
    started: list[Started] = []
    try:
        for number, pod in enumerate(pods(render(streaming.text, values, tmp_path))):
            address = f"127.0.0.{number + 2}"
            started.append(Started(pod, address, tmp_path / f"pod-{number}", streaming.text))
        assert len(started) == 4
        for container in started:
            for kind in ("startup", "liveness"):
                probed = eventually(lambda: container.probe(kind), PATIENCE_S)  # noqa: B023
                assert probed, container.log.read_text()[-3000:]
        events = list(islice(open_source("synthetic:200"), DOCUMENTS))
        streaming.produce(events)
        rankings = [orjson.loads(m.value or b"") for m in streaming.rankings(2 * DOCUMENTS)]
        expected = {(orjson.loads(e)["id"], lane) for e in events for lane in (DIVIDED, WHOLE)}
        assert sorted((r["id"], r["lane"]) for r in rankings) == sorted(expected)
        assert all(container.probe("readiness") for container in started)
        assert [container.end() for container in started] == [0] * len(started)
        snapshots = [
            path for path in tmp_path.glob("pod-*/volume/snapshots/**/*") if path.is_file()
        ]
        assert len({path.relative_to(tmp_path).parts[0] for path in snapshots}) == 3
    finally:
        for container in started:
            if container.process.poll() is None:
                container.process.kill()
                container.process.wait(30)
