"""Scripts that run Kafka's own command line tools, with the names that they have in Kafka.

Maven Central has the jars of Kafka, but not its scripts.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from deploy.kafka.jars import java_command

TOOLS = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}


def write_tools(folder: Path) -> None:
    """Write a script for each tool into a folder; scripts that are there are replaced."""
    folder.mkdir(0o755, parents=True, exist_ok=True)
    command = java_command(folder / "tools.log", 128, "-XX:TieredStopAtLevel=1")
    for name, main_class in TOOLS.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join([*command, main_class])} "$@"\n')
        script.chmod(0o755)
