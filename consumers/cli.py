"""The `wirerank` program: the commands of the pipeline, and those that need Kafka."""

from __future__ import annotations

import typer

import pipeline.commands.app as without_kafka
from consumers.commands.acls import acls_command
from consumers.commands.backup import backup_command
from consumers.commands.check import check_command
from consumers.commands.config import config_command
from consumers.commands.dead_letters import dead_letters_app
from consumers.commands.init import init_command
from consumers.commands.learn import learn_command
from consumers.commands.play import play_into_kafka
from consumers.commands.restore import restore_command
from consumers.commands.run import run_workers_command
from consumers.commands.tokenize import tokenize_command
from consumers.commands.trim import trim_command
from pipeline.commands.plain_command import PlainCommand


def new_app() -> typer.Typer:
    """Build the program with all its commands."""
    app = without_kafka.new_app(play_into_kafka)
    app.command("tokenize", cls=PlainCommand)(tokenize_command)
    app.command("learn", cls=PlainCommand)(learn_command)
    app.command("run", cls=PlainCommand)(run_workers_command)
    app.command("config", cls=PlainCommand)(config_command)
    app.command("check", cls=PlainCommand)(check_command)
    app.command("init", cls=PlainCommand)(init_command)
    app.command("acls", cls=PlainCommand)(acls_command)
    app.add_typer(dead_letters_app, name="dead-letters")
    app.command("backup", cls=PlainCommand)(backup_command)
    app.command("restore", cls=PlainCommand)(restore_command)
    app.command("trim", cls=PlainCommand)(trim_command)
    return app


def main() -> None:
    """Run the program with the arguments of this process."""
    without_kafka.run_app(new_app())
