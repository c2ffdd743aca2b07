"""Workers log in with tokens and have exactly the rights that `wirerank acls` prints."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)

from consumers.cli import new_app
from consumers.kafka.clients import new_admin
from consumers.kafka.errors import RefusedError
from consumers.kafka.oauth_tokens import TokenEndpointError, token_provider
from consumers.kafka_settings import KafkaSettings
from deploy.kafka import run_tool
from pipeline.corpora import open_source
from tests.support.command_line import wirerank
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import Streaming
from tests.support.oauth_broker import SECRET, OAuthBroker, oauth_broker, token, token_endpoint

LANE = "mmp:loss=1"
NEEDS_AN_OPERATOR = 3
Command = list[str]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OAuthBroker]:
    need_kafka()
    with oauth_broker(tmp_path_factory.mktemp("oauth") / "kafka") as broker:
        yield broker


def printed(streaming: Streaming, *options: str) -> list[Command]:
    """The commands that `wirerank acls` prints."""
    done = wirerank("acls", str(streaming.path), *options, app=new_app())
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    return [shlex.split(line) for line in lines]


def options_of(command: Command) -> dict[str, list[str]]:
    """The values of the options of a command, by name; `--add` has none."""
    parts = [part for part in command[1:] if part != "--add"]
    options: dict[str, list[str]] = {}
    for name, value in zip(parts[::2], parts[1::2], strict=True):
        options.setdefault(name.removeprefix("--"), []).append(value)
    return options


def acls(command: Command, user: str = "") -> list[Any]:
    """What a command grants, perhaps to another user."""
    given = options_of(command)
    prefixed = given.get("resource-pattern-type") == ["prefixed"]
    pattern = ACLResourcePatternType.PREFIXED if prefixed else ACLResourcePatternType.LITERAL
    ((kind, (name,)),) = (
        (kind, given[kind]) for kind in ("topic", "group", "transactional-id") if kind in given
    )
    (principal,) = given["allow-principal"]
    return [
        ACL(
            f"User:{user}" if user else principal, "*", operation_named(operation),
            ACLPermissionType.ALLOW,
            ResourcePattern(ResourceType[kind.upper().replace("-", "_")], name, pattern),
        )
        for operation in given["operation"]
    ]  # fmt: skip


def operation_named(name: str) -> Any:  # noqa: ANN401 - kafka-python has no types
    named = {"DescribeConfigs": ACLOperation.DESCRIBE_CONFIGS}
    return named.get(name) or ACLOperation[name.upper()]


def grant(broker: OAuthBroker, commands: list[Command], user: str = "") -> None:
    admin: Any = new_admin(KafkaSettings(bootstrap=broker.plaintext))
    try:
        granted = [acl for command in commands for acl in acls(command, user)]
        assert not admin.create_acls(granted)["failed"]
    finally:
        admin.close()


def by_file(broker: OAuthBroker, folder: Path, user: str) -> dict[str, str]:
    """Settings of a user whose token is in a file."""
    path = folder / f"{user}.token"
    path.write_text(f"{token(user)}\n")
    return oauth(broker, oauth_token_file=str(path))


def oauth(broker: OAuthBroker, **more: str) -> dict[str, str]:
    return {
        "bootstrap": broker.oauth,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        **more,
    }


def environment(settings: dict[str, str]) -> dict[str, str]:
    return {f"WIRERANK__KAFKA__{name.upper()}": value for name, value in settings.items()}


def needed(commands: list[Command], role: str) -> list[Command]:
    """The commands for a role."""
    return [c for c in commands if options_of(c)["allow-principal"] == [f"User:wirerank-{role}"]]


def test_a_stream_runs_with_these_rights_and_not_without(
    secured: OAuthBroker, tmp_path: Path
) -> None:
    """Each right is taken away once: the worker then ends, and names what it lacks.

    The tokenizer has its tokens from an endpoint, the learner from a file.
    """
    with Streaming(secured.plaintext, tmp_path, [LANE]) as streaming, token_endpoint() as (url, _):
        commands = printed(streaming)
        learner, tokenizer = needed(commands, "learner"), needed(commands, "tokenizer")
        grant(secured, [*learner, *tokenizer, *needed(commands, "reader")])
        own = oauth(secured, oauth_token_url=url, oauth_client_id="wirerank-tokenizer",
                    oauth_client_secret=SECRET)  # fmt: skip
        streaming.environment = environment(own)
        streaming.start("tokenize-0", "--log-format", "json")
        streaming.produce([*open_source("synthetic:30,topics=6"), b"not an event"])
        assert len(streaming.read(streaming.stream.blocks, 1, 1)) > 0
        assert len(streaming.read(streaming.stream.dead_letters, 1, 1)) == 1
        for number, command in enumerate(learner):
            if {"documents", "dead-letters"} & set(" ".join(command).replace(".", " ").split()):
                continue  # it only describes them; the tokenizers below show the same
            user = f"learner-{number}"
            grant(secured, [other for other in learner if other is not command], user)
            streaming.environment = environment(by_file(secured, tmp_path, user))
            streaming.start("learn")
            assert streaming.code("learn") == NEEDS_AN_OPERATOR, (command, streaming.log("learn"))
            assert "lacks a right that is needed" in streaming.log("learn")
            (tmp_path / "learn.log").unlink()
        streaming.environment = environment(by_file(secured, tmp_path, "wirerank-learner"))
        streaming.start("learn")
        assert len(streaming.rankings(30)) == 30
        lines = [json.loads(line) for line in streaming.log("tokenize-0").splitlines()]
        (letter,) = (line for line in lines if "event" in line)
        origin = {"topic": streaming.documents, "partition": 0, "offset": 30}
        assert letter["event"] == origin
        assert letter["message"].endswith("is a dead letter: not_json")
        assert {(line["role"], line["stream"]) for line in lines} == {("tokenizer", streaming.name)}
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
            assert SECRET not in streaming.log(name)
            assert "no right to read the settings" not in streaming.log(name)


@pytest.mark.parametrize("number", range(5))
def test_a_tokenizer_needs_each_of_its_rights(
    number: int, secured: OAuthBroker, tmp_path: Path
) -> None:
    with Streaming(secured.plaintext, tmp_path, [LANE]) as streaming:
        tokenizer = needed(printed(streaming), "tokenizer")
        assert len(tokenizer) == 5  # documents, blocks, rankings, dead letters, group
        user = f"tokenizer-{number}-{streaming.name}"
        grant(secured, [other for place, other in enumerate(tokenizer) if place != number], user)
        streaming.produce([b"not an event", *open_source("synthetic:3,topics=3")])
        streaming.environment = environment(by_file(secured, tmp_path, user))
        streaming.start("tokenize-0")
        assert streaming.code("tokenize-0") == NEEDS_AN_OPERATOR, streaming.log("tokenize-0")
        assert "lacks a right that is needed" in streaming.log("tokenize-0")


def test_a_worker_that_may_not_read_settings_warns_and_goes_on(
    secured: OAuthBroker, tmp_path: Path
) -> None:
    with Streaming(secured.plaintext, tmp_path, [LANE]) as streaming:
        commands = printed(streaming)
        for role in ("tokenizer", "learner"):
            user = f"{role}-of-{streaming.name}"
            grant(secured, [without_configs(c) for c in needed(commands, role)], user)
            streaming.environment = environment(by_file(secured, tmp_path, user))
            streaming.start("tokenize-0" if role == "tokenizer" else "learn")
        streaming.produce([b"not an event", *open_source("synthetic:3,topics=3")])
        assert len(streaming.rankings(3)) == 3
        for name in ("tokenize-0", "learn"):
            assert streaming.end(name) == 0, streaming.log(name)
            assert "no right to read the settings of" in streaming.log(name)


def without_configs(command: Command) -> Command:
    """The command without the right to read the settings of topics."""
    if "DescribeConfigs" not in command:
        return command
    place = command.index("DescribeConfigs")
    return command[: place - 1] + command[place + 1 :]


def test_kafka_takes_the_commands(secured: OAuthBroker, tmp_path: Path) -> None:
    """One of each kind, through Kafka's own program."""
    streaming = Streaming(secured.plaintext, tmp_path, [LANE])
    commands = printed(streaming, "--create", "--principal", "learner=User:alice")
    by_kind = {next(k for k in ("topic", "group", "transactional-id") if f"--{k}" in c): c
               for c in commands if "User:alice" in c}  # fmt: skip
    command = by_kind["transactional-id"]
    assert command[0] == "kafka-acls.sh"
    done = run_tool("org.apache.kafka.tools.AclCommand", *command[1:])
    assert done.returncode == 0, done.stderr
    assert "ALLOW" in done.stdout
    assert f"wirerank.{streaming.name}.learn." in done.stdout


def test_tokens_that_are_refused(secured: OAuthBroker, tmp_path: Path) -> None:
    path = tmp_path / "expired"
    path.write_text(token("wirerank-learner", seconds=-30))
    expired = KafkaSettings(**oauth(secured, oauth_token_file=str(path)))  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match=r"refuses this client with OAUTHBEARER.*not expired"):
        new_admin(expired, bootstrap_timeout_ms=300)


def test_an_endpoint_is_asked_once_per_life_of_a_token(secured: OAuthBroker) -> None:
    def settings(url: str, secret: str = SECRET) -> KafkaSettings:
        given = oauth(secured, oauth_token_url=url, oauth_client_id="a b",
                      oauth_client_secret=secret)  # fmt: skip
        return KafkaSettings(**given)  # type: ignore[arg-type]

    with token_endpoint() as (url, endpoint):
        provider: Any = token_provider(settings(url))
        assert provider.token() == provider.token()
        assert endpoint.given == 1
        with pytest.raises(RefusedError, match="refuses the client with status 401") as error:
            token_provider(settings(url, "wrong-secret-of-a-client")).token()
        assert "wrong-secret" not in str(error.value)
    with token_endpoint(life_seconds=0) as (url, endpoint):
        provider = token_provider(settings(url))
        provider.token()
        provider.token()
        assert endpoint.given == 2
    with pytest.raises(TokenEndpointError, match=r"token endpoint at 127\.0\.0\.1"):
        provider.token()
