"""A broker with TLS, SASL and access rights: workers run, refusals are explained, secrets kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError
from typer.testing import CliRunner

from consumers.cli import new_app
from consumers.kafka.clients import new_admin
from consumers.kafka.errors import RefusedError
from consumers.kafka.topics import ensure_topics
from consumers.player import player
from consumers.settings import KafkaSettings
from pipeline.corpora import open_source
from tests.conftest import REPOSITORY, missing
from tests.support.command_line import wirerank
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import Streaming
from tests.support.player_topic import PlayedTopic
from tests.support.secured_broker import (
    KEY_PASSWORD,
    PASSWORD,
    STRANGER,
    USER,
    Secured,
    secured_broker,
)

LANE = "mmp:loss=1"
WRONG = "wrong-battery-51d0"
SECRETS = (PASSWORD, WRONG, KEY_PASSWORD)
NEEDS_AN_OPERATOR = 3


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    need_kafka()
    if shutil.which("openssl") is None:
        missing("openssl", "install the package openssl")
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        broker.set_password(USER, PASSWORD)
        yield broker


def environment(settings: dict[str, Any]) -> dict[str, str]:
    """Settings as environment variables."""
    return {f"WIRERANK__KAFKA__{name.upper()}": str(value) for name, value in settings.items()}


def keeps_secrets(output: str) -> None:
    for secret in SECRETS:
        assert secret not in output


def test_documents_are_ranked(secured: Secured, tmp_path: Path) -> None:
    """Workers use a secured listener, with exactly the rights that the guide lists."""
    names, ways = ("tokenize-0", "learn"), ("certificate", "password")
    with ExitStack() as stack:
        streams = []
        for way in ways:
            (tmp_path / way).mkdir()
            streaming = Streaming(secured.plaintext, tmp_path / way, [LANE])
            streams.append(stack.enter_context(streaming))
        for streaming, principal, settings in zip(
            streams,
            ("CN=client", USER),
            (secured.by_certificate(), secured.by_password("SASL_SSL", "SCRAM-SHA-512")),
            strict=True,
        ):
            secured.grant(principal, streaming.name)
            streaming.environment = environment(settings)
            for name in names:
                streaming.start(name)
            streaming.produce([*open_source("synthetic:60,topics=12"), b"not an event"])
        for streaming in streams:
            rankings = streaming.rankings(60)
            assert len({message.key for message in rankings}) == len(rankings) == 60
            assert len(streaming.read(streaming.stream.dead_letters, 1, 1)) == 1
            for name in names:
                assert streaming.end(name) == 0, streaming.log(name)
                assert "settings: kafka: bootstrap = " in streaming.log(name)
                assert '_password = "**********"' in streaming.log(name)
                keeps_secrets(streaming.log(name))


@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_every_mechanism_lets_in_who_knows_the_password(
    protocol: str, mechanism: str, secured: Secured, tmp_path: Path
) -> None:
    stream = Streaming(secured.plaintext, tmp_path, [LANE]).stream
    changed = stream.model_copy(update={"blocks": f"{stream.name}.new-{mechanism}"})
    secured.grant(USER, stream.name)
    right = KafkaSettings(**secured.by_password(protocol, mechanism))
    assert ensure_topics(right, changed) == [changed.blocks]
    wrong = KafkaSettings(**secured.by_password(protocol, mechanism, sasl_password=WRONG))
    with pytest.raises(RefusedError) as error:
        new_admin(wrong, bootstrap_timeout_ms=300)
    assert f"refuses the user 'wirerank' with {mechanism} (Authentication" in str(error.value)
    keeps_secrets(str(error.value))


def test_a_client_certificate_must_be_signed_by_the_right_authority(secured: Secured) -> None:
    ours = secured.certificates
    intruder = {"ssl_certfile": ours.other_client, "ssl_keyfile": ours.other_client_key}
    with pytest.raises(RefusedError, match=r"not accept this client .* its authority signed"):
        new_admin(KafkaSettings(**secured.settings("SSL", **intruder)), bootstrap_timeout_ms=300)


def test_a_certificate_must_have_the_name_of_the_broker(secured: Secured) -> None:
    given = secured.by_certificate()
    elsewhere = {**given, "bootstrap": given["bootstrap"].replace("127.0.0.1", "localhost")}
    with pytest.raises(RefusedError, match=r"not valid for 'localhost'.* a name that is in it"):
        new_admin(KafkaSettings(**elsewhere), bootstrap_timeout_ms=300)


def test_a_listener_of_another_kind_is_recognised(secured: Secured) -> None:
    """If it answers at all; a listener that only closes the connection may be shutting down."""
    sasl, ssl = secured.by_password("SASL_SSL", "PLAIN"), secured.by_certificate()
    for given, words in (
        ({"bootstrap": ssl["bootstrap"]}, "expects TLS, and this client does not use it"),
        ({**sasl, **ssl, "security_protocol": "SASL_SSL"}, "does not use SASL at this port"),
    ):
        with pytest.raises(RefusedError, match=words):
            new_admin(KafkaSettings(**given), bootstrap_timeout_ms=300)
    with pytest.raises(KafkaTimeoutError, match="security_protocol = PLAINTEXT"):
        new_admin(
            KafkaSettings(bootstrap=secured.listeners["SASL_PLAINTEXT"]), bootstrap_timeout_ms=300
        )


def test_refusals_end_a_worker_with_the_remedy(secured: Secured, tmp_path: Path) -> None:
    """Wrong password, unknown authority, no client certificate, no rights."""
    other = secured.certificates.other_ca
    scram, address = ("SASL_SSL", "SCRAM-SHA-512"), secured.listeners
    cases = {
        "run": (
            secured.by_password(*scram, sasl_password=WRONG),
            f"the broker at {address['SASL_SSL']} refuses the user 'wirerank' with SCRAM-SHA-512",
            "correct kafka.sasl_username and kafka.sasl_password",
        ),
        "learn": (
            secured.by_password(*scram, ssl_cafile=other),
            f"the certificate of the broker at {address['SASL_SSL']} is not accepted (",
            "set kafka.ssl_cafile to the certificate of the authority that signed it",
        ),
        "tokenize": (
            secured.settings("SSL"),
            f"the broker at {address['SSL']} does not accept this client",
            "Set kafka.ssl_certfile and kafka.ssl_keyfile",
        ),
        "tokenize-1": (
            secured.by_password("SASL_SSL", "PLAIN", sasl_username=STRANGER),
            "the user lacks a right that is needed ([Error 29] TopicAuthorizationFailedError",
            "Grant the user this right, for instance with kafka-acls.sh",
        ),
    }
    with Streaming(secured.plaintext, tmp_path, [LANE]) as streaming:
        for name, (settings, _, _) in cases.items():
            streaming.environment = environment(settings)
            streaming.start(name)
        for name, (_, what, remedy) in cases.items():
            code, output = streaming.code(name), streaming.log(name)
            assert code == NEEDS_AN_OPERATOR, output
            assert what in output
            assert remedy in output
            assert "Traceback" not in output
            keeps_secrets(output)


def test_what_is_refused_later_ends_a_worker_too(secured: Secured, tmp_path: Path) -> None:
    """A group that the user may not join, and a password that is changed during the work.

    Connections that are open stay so; the next one is refused, and that is noticed.
    """
    lonely, leaver = "lonely", "leaver"
    words = {
        "learn": "GroupAuthorizationFailedError",
        "tokenize-lonely": "GroupAuthorizationFailedError",
        "tokenize-leaver": "refuses the user 'leaver' with SCRAM-SHA-256",
    }
    with Streaming(secured.plaintext, tmp_path, [LANE]) as streaming:
        for user in (leaver, lonely):
            secured.set_password(user, PASSWORD)
            secured.grant(user, streaming.name, groups=user != lonely)
        given = secured.by_password("SASL_SSL", "SCRAM-SHA-256")
        for name in words:
            user = leaver if leaver in name else lonely
            streaming.environment = environment({**given, "sasl_username": user})
            streaming.start(name)
        streaming.produce(open_source("synthetic:5,topics=3"))
        assert len(streaming.read(streaming.stream.blocks, 1, 1)) > 0
        secured.set_password(leaver, WRONG)
        for name, refused in words.items():
            assert streaming.code(name) == NEEDS_AN_OPERATOR, streaming.log(name)
            assert refused in streaming.log(name)
            assert "Traceback" not in streaming.log(name)
            keeps_secrets(streaming.log(name))


def test_playing_into_a_topic(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings come from the environment; the command names the broker."""
    monkeypatch.setattr(player, "BOOTSTRAP_MS", 500)
    topic = PlayedTopic(secured.plaintext)
    settings = secured.by_password("SASL_SSL", "SCRAM-SHA-512")
    secured.grant(USER, topic.name.replace("played", "allowed"))
    name = topic.name.replace("played", "allowed") + ".documents"
    for key, value in environment(settings).items():
        monkeypatch.setenv(key, value)
    play = ["replay", "synthetic:50,topics=5", "--kafka", settings["bootstrap"], "--topic", name]
    done = wirerank(*play, app=new_app())
    assert done.exit_code == 0, done.stderr
    topic.name = name
    assert topic.size() == 50
    keeps_secrets(done.output)
    for change, words in (
        ({"sasl_password": WRONG}, "refuses the user 'wirerank' with SCRAM-SHA-512"),
        ({"ssl_cafile": secured.certificates.other_ca}, "set kafka.ssl_cafile to the certificate"),
        (
            {"sasl_username": STRANGER, "sasl_mechanism": "PLAIN"},
            "Grant the user this right",
        ),
        ({"ssl_cafile": "absent.pem"}, "ssl_cafile = absent.pem cannot be read"),
    ):
        for key, value in environment({**settings, **change}).items():
            monkeypatch.setenv(key, value)
        started = time.monotonic()
        done = wirerank(*play, app=new_app())
        assert done.exit_code in {1, 2}
        assert time.monotonic() - started < 20
        assert words in done.stderr
        assert "Traceback" not in done.stderr
        keeps_secrets(done.output)


def test_init_reads_a_secured_broker(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the settings from the environment, and writes none of them."""
    path = tmp_path / "secured.toml"
    with Streaming(secured.plaintext, tmp_path, [LANE]) as streaming:
        streaming.produce([b'{"articleId": 7, "headline": "Wheat", "body": "Prices rose."}'])
        secured.grant(USER, streaming.name)
        settings = secured.by_password("SASL_SSL", "SCRAM-SHA-512")
        for name, value in environment(settings).items():
            monkeypatch.setenv(name, value)
        command = ["init", streaming.documents, "--kafka", settings["bootstrap"]]
        done = CliRunner().invoke(new_app(), [*command, "--output", str(path)])
        assert done.exit_code == 0, done.output
    text = path.read_text()
    assert 'id = "articleId"' in text
    assert "\nsecurity_protocol" not in text
    keeps_secrets(text + done.output)


def test_a_crash_shows_no_secret(secured: Secured, tmp_path: Path) -> None:
    """A traceback shows no values of variables, wherever the program fails."""
    streaming = Streaming(secured.plaintext, tmp_path, [LANE])
    breaks = "import consumers.kafka.clients as c; c.KafkaAdminClient = lambda **given: 1 / 0; "
    done = subprocess.run(
        [sys.executable, "-c", f"{breaks}from consumers.cli import main; main()",
         "tokenize", str(streaming.path)],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
        env={**os.environ, **environment(secured.by_password("SASL_SSL", "PLAIN"))},
    )  # fmt: skip
    assert "ZeroDivisionError" in done.stderr
    keeps_secrets(done.stdout + done.stderr)
