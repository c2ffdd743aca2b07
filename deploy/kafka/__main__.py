"""`python -m deploy.kafka start|stop|status|tools`: Apache Kafka in the background, on loopback.

`tools` writes scripts that run Kafka's own tools, such as kafka-topics.sh, and prints their folder.

Exit codes: 0 success, 1 failure (the message says why), 2 wrong argument; of `status` also 3 Kafka
does not run, 4 Kafka runs but does not serve clients.
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
from deploy.kafka.metadata_request import brokers_in_service
from deploy.kafka.process import ProcessId
from deploy.kafka.settings import Options
from deploy.kafka.tools import write_tools

_STOP_TIMEOUT = 20.0
_FAILED, _NOT_RUNNING, _NOT_SERVING = 1, 3, 4


def default_data() -> Path:
    """Return the default folder of the data."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "wirerank" / "kafka"


def running_nodes(data: Path) -> dict[Path, ProcessId]:
    """Return the folders of the nodes whose process runs, with their processes."""
    processes = {path.parent: ProcessId.read(path) for path in sorted(data.glob("node-*/pid"))}
    return {node: process for node, process in processes.items() if process and process.alive()}


def address(node: Path) -> tuple[str, int]:
    """Return the host and port of the broker of this folder."""
    text = (node / "server.properties").read_text()
    match = re.search(r"^advertised\.listeners=PLAINTEXT://(.+):(\d+)$", text, re.MULTILINE)
    if match is None:
        raise BrokerError(f"{node}/server.properties has no advertised.listeners")
    return match[1], int(match[2])


def bootstrap(nodes: dict[Path, ProcessId]) -> str:
    """Return the bootstrap addresses of these nodes."""
    return ",".join("{}:{}".format(*address(node)) for node in nodes)


def start(data: Path, port: int, nodes: int) -> int:
    """Start Kafka in the background, unless it runs already; print the bootstrap addresses."""
    running = running_nodes(data)
    if running:
        wanted = ",".join(f"127.0.0.1:{port + number}" for number in range(nodes))
        if bootstrap(running) != wanted:
            raise BrokerError(
                f"Kafka with its data in {data} runs already, at {bootstrap(running)}, "
                f"not {wanted}. Stop it first, or choose another folder with --data"
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
        f"with data and logs in {data}. Its address:"
    )
    print(cluster.bootstrap)
    return 0


def stop(data: Path) -> int:
    """Stop the brokers of this folder: cleanly, or by SIGKILL if that takes too long."""
    running = running_nodes(data)
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
                raise BrokerError(f"process {process.pid} did not end after SIGKILL")
        (node / "pid").unlink(missing_ok=True)
    say(f"Stopped. The data stays in {data}.")
    return 0


def status(data: Path) -> int:
    """Print which brokers run, and whether they answer."""
    running = running_nodes(data)
    if not running:
        say(f"No Kafka runs with its data in {data}.")
        return _NOT_RUNNING
    healthy = True
    for node, process in running.items():
        host, port = address(node)
        try:
            seen = f"reports brokers {sorted(brokers_in_service(host, port))} in service"
        except OSError as error:
            seen, healthy = f"does not answer ({error})", False
        say(f"{node.name}: process {process.pid}, {host}:{port}, {seen}; log {node}/server.log")
    down = len(list(data.glob("node-*"))) - len(running)
    if down:
        say(f"{down} more node(s) of this folder do not run.")
    print(bootstrap(running))
    return 0 if healthy and not down else _NOT_SERVING


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m deploy.kafka", description=__doc__)
    parser.add_argument("command", choices=("start", "stop", "status", "tools"))
    parser.add_argument("--data", type=Path, default=default_data(), help="default: %(default)s")
    parser.add_argument("--port", type=int, default=9092, help="default: %(default)s")
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=1, help="default: 1")
    arguments = parser.parse_args()
    if not 1024 <= arguments.port <= 65_533:
        parser.error(f"--port must be from 1024 to 65533, got {arguments.port}")
    data = arguments.data.expanduser().absolute()
    try:
        if arguments.command == "status":
            return status(data)
        if arguments.command == "tools":
            write_tools(data / "bin")
            print(data / "bin")
            return 0
        if arguments.command == "start":
            data.mkdir(0o700, parents=True, exist_ok=True)
        elif not data.is_dir():
            return stop(data)
        with locked(data / "lock", f"Another command uses {data}; waiting for it ..."):
            return (
                stop(data)
                if arguments.command == "stop"
                else start(data, arguments.port, arguments.nodes)
            )
    except (BrokerError, KafkaUnavailableError) as error:
        say(f"Error: {error}")
    except OSError as error:
        say(f"Error: {error} (folder {data}; choose another one with --data)")
    except KeyboardInterrupt:
        say("Interrupted.")
    return _FAILED


if __name__ == "__main__":
    sys.exit(main())
