"""`python -m deploy.kafka start|stop|status`: Apache Kafka in the background, on the loopback.

Exit codes: 0 done, 1 it failed (the message says why), 2 a wrong argument, and of `status`
3 nothing runs, 4 something runs but does not serve clients.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from pathlib import Path

from deploy.kafka.cluster import Cluster
from deploy.kafka.errors import BrokerError, KafkaUnavailableError
from deploy.kafka.jars import kafka_version, locked, say
from deploy.kafka.process import ProcessId
from deploy.kafka.settings import Options
from deploy.kafka.wire import members

_STOP_TIMEOUT = 20.0
_FAILED, _NOT_RUNNING, _NOT_SERVING = 1, 3, 4


def default_data() -> Path:
    """Where the data goes when nobody says."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "wirerank" / "kafka"


def living(data: Path) -> dict[Path, ProcessId]:
    """The folders of the nodes whose process runs."""
    found = {path.parent: ProcessId.read(path) for path in sorted(data.glob("node-*/pid"))}
    return {node: process for node, process in found.items() if process and process.alive()}


def address(node: Path) -> tuple[str, int]:
    """Where the broker of this folder listens."""
    text = (node / "server.properties").read_text()
    match = re.search(r"^advertised\.listeners=PLAINTEXT://(.+):(\d+)$", text, re.MULTILINE)
    if match is None:
        raise BrokerError(f"{node}/server.properties has no advertised.listeners")
    return match[1], int(match[2])


def bootstrap(nodes: dict[Path, ProcessId]) -> str:
    """What a client needs to find these nodes."""
    return ",".join("{}:{}".format(*address(node)) for node in nodes)


def start(data: Path, port: int, nodes: int) -> int:
    """Start in the background, unless it runs already; print the bootstrap address."""
    running = living(data)
    if running:
        asked = ",".join(f"127.0.0.1:{port + number}" for number in range(nodes))
        if bootstrap(running) != asked:
            raise BrokerError(
                f"Kafka with its data in {data} runs already, at {bootstrap(running)}, "
                f"not {asked}. Stop it first, or name another folder with --data"
            )
        say("Kafka runs already.")
        print(bootstrap(running))
        return 0
    options = Options(heap_mb=512, quick=False, detached=True)
    cluster = Cluster(data, nodes=nodes, port=port, options=options)
    began = time.monotonic()
    cluster.start()
    say(
        f"Apache Kafka {kafka_version()} is ready ({time.monotonic() - began:.1f} s), "
        f"data and logs in {data}. Its address:"
    )
    print(cluster.bootstrap)
    return 0


def stop(data: Path) -> int:
    """Stop what runs on this folder: in order, and if that takes too long, by force."""
    running = living(data)
    if not running:
        say(f"No Kafka runs with its data in {data}.")
        return 0
    for process in running.values():
        process.signal(signal.SIGCONT)
        process.signal(signal.SIGTERM)
    end = time.monotonic() + _STOP_TIMEOUT
    for node, process in running.items():
        if not process.wait(max(0.0, end - time.monotonic())):
            say(f"{node.name} has not stopped in {_STOP_TIMEOUT:.0f} s; killing it.")
            process.signal(signal.SIGKILL)
            if not process.wait(5.0):
                raise BrokerError(f"process {process.pid} does not end")
        (node / "pid").unlink(missing_ok=True)
    say(f"Stopped. The data stays in {data}.")
    return 0


def status(data: Path) -> int:
    """Say what runs, and whether it answers."""
    running = living(data)
    if not running:
        say(f"No Kafka runs with its data in {data}.")
        return _NOT_RUNNING
    healthy = True
    for node, process in running.items():
        host, port = address(node)
        try:
            seen = f"sees brokers {sorted(members(host, port))} in service"
        except OSError as error:
            seen, healthy = f"does not answer ({error})", False
        say(f"{node.name}: process {process.pid}, {host}:{port}, {seen}; log {node}/server.log")
    down = len(list(data.glob("node-*"))) - len(running)
    if down:
        say(f"{down} further node(s) of this folder do not run.")
    print(bootstrap(running))
    return 0 if healthy and not down else _NOT_SERVING


def main() -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m deploy.kafka", description=__doc__)
    parser.add_argument("command", choices=("start", "stop", "status"))
    parser.add_argument("--data", type=Path, default=default_data(), help="default: %(default)s")
    parser.add_argument("--port", type=int, default=9092, help="default: %(default)s")
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=1, help="default: 1")
    asked = parser.parse_args()
    if not 1024 <= asked.port <= 65_533:
        parser.error(f"--port {asked.port}: choose one from 1024 to 65533")
    data = asked.data.expanduser().absolute()
    try:
        if asked.command == "status":
            return status(data)
        if asked.command == "start":
            data.mkdir(parents=True, exist_ok=True)
        elif not data.is_dir():
            return stop(data)
        with locked(data / "lock", f"Another command works on {data}; waiting for it ..."):
            return stop(data) if asked.command == "stop" else start(data, asked.port, asked.nodes)
    except (BrokerError, KafkaUnavailableError) as error:
        say(f"Error: {error}")
    except OSError as error:
        say(f"Error: {error} (folder {data}; name another one with --data)")
    except KeyboardInterrupt:
        say("Interrupted.")
    return _FAILED


if __name__ == "__main__":
    sys.exit(main())
