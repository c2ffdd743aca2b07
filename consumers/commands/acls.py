"""`wirerank acls`: the commands that grant each role the rights that it needs on the broker."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from consumers.commands.configuration import configured, stream_named
from consumers.commands.options import ConfigFile, StreamName
from consumers.kafka_rights import Role, acl_command, default_principal, rights
from pipeline.commands.failure import fail


def acls_command(
    path: ConfigFile,
    stream: StreamName = None,
    principal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=USER",
            help="The user of a role, e.g. learner=User:alice; repeat it for several. The roles "
            "are tokenizer, learner, player and reader. Default: User:wirerank-ROLE.",
        ),
    ] = None,
    reader_group: Annotated[
        str, typer.Option(metavar="GROUP", help="The consumer group that reads the rankings.")
    ] = "",
    create: Annotated[
        bool,
        typer.Option("--create", help="Also the rights to create the Kafka topics of the stream."),
    ] = False,
    command_config: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="A file for --command-config of kafka-acls.sh: how it logs in."
        ),
    ] = "",
) -> None:
    """Print commands that grant the least rights on the broker.

    Nothing is granted: look at the commands, and run them as an administrator of the broker.
    """
    config = configured(path)
    settings = stream_named(config, stream)
    principals = {role: default_principal(role) for role in Role} | named(principal or [])
    group = reader_group or f"{settings.name}.reader"
    for role in Role:
        typer.echo(f"# {role}: {principals[role]}")
        for right in rights(settings, create, group):
            if right.role is role:
                command = acl_command(
                    right, principals[role], config.kafka.bootstrap, command_config
                )
                typer.echo(shlex.join(command))


def named(given: list[str]) -> dict[Role, str]:
    """The users of roles, as options give them; ends with a message if one is wrong."""
    users = {}
    for text in given:
        role, _, user = text.partition("=")
        kind, _, name = user.partition(":")
        if role not in set(Role) or not kind or not name:
            fail(
                f"--principal must be ROLE=TYPE:NAME with one of the roles {', '.join(Role)}, such "
                f"as learner=User:alice. Got {text!r}."
            )
        users[Role(role)] = user
    return users
