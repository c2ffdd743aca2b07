"""Which answers of a registry are final, which are waited for, and what none of them may do."""

from __future__ import annotations

import shutil
import ssl
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from consumers.kafka.errors import RefusedError
from consumers.registry.client import MAX_REFERENCES, RegistryClient
from consumers.registry.http_client import MAX_ANSWER_BYTES, RegistryAwayError
from consumers.registry.resolver import MAX_IDS, SchemaResolver
from consumers.registry_settings import RegistrySettings
from pipeline.events.event import MalformedEvent
from tests.conftest import missing
from tests.support.fake_registry import NOT_FOUND, Answer, schema_answer, serving
from tests.support.secured_broker import Certificates

RECORD: dict[str, Any] = {"type": "record", "name": "A", "fields": []}
NEVER = threading.Event()


def settings(url: str, seconds: float = 5.0) -> RegistrySettings:
    return RegistrySettings(
        url=url, user="desk", password=SecretStr("swordfish"), timeout_seconds=seconds
    )


def refusal_of(answer: Answer) -> tuple[str, str]:
    with serving(lambda path: answer if path == "/schemas/ids/7" else NOT_FOUND) as server:
        found = RegistryClient(settings(server.url)).schema(7)
    assert found.schema is None
    assert found.refusal is not None
    return found.refusal


@pytest.mark.parametrize(
    ("answer", "reason", "detail"),
    [
        (NOT_FOUND, "unknown_schema", "has no schema 7"),
        (schema_answer("{"), "bad_schema", "not valid JSON"),
        (schema_answer("nothing"), "bad_schema", "not valid JSON"),
        (schema_answer({"type": "made-up"}), "bad_schema", "no type 'made-up'"),
        (schema_answer(RECORD, "AVRO", [{"subject": "s", "version": 1}]), "bad_schema",
         "version 1 of 's', which does not exist"),
        (schema_answer(RECORD, "AVRO", 7), "bad_schema", "not a list"),
        (schema_answer(RECORD, "AVRO", [7]), "bad_schema", "no subject"),
        (schema_answer('"' + "a" * (1 << 20) + '"'), "bad_schema", "more than 1,048,576 bytes"),
    ],
)  # fmt: skip
def test_final_answers(answer: Answer, reason: str, detail: str) -> None:
    found = refusal_of(answer)
    assert found[0] == reason
    assert detail in found[1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, b"<html>"), "is no Schema Registry; write the address below which"),
        ((404, b'{"error_code": 404}'), "is no Schema Registry"),
        ((401, b""), "refuses the user 'desk' (status 401): correct registry.user"),
        ((403, b'{"error_code": 40301}'), "grant the right to read schemas"),
        ((429, b""), "the status 429"),
        ((500, b'{"error_code": 50001}'), "the status 500"),
        ((503, b""), "the status 503"),
        ((200, b"<html>"), "no JSON object"),
        ((200, b"[1]"), "no JSON object"),
        ((200, b"{}"), "no text of a schema"),
        ((200, b'{"schema": 7}'), "no text of a schema"),
        ((200, b" " * (MAX_ANSWER_BYTES + 1)), "more than"),
    ],
)
def test_answers_that_are_waited_for(answer: Answer, message: str) -> None:
    with serving(lambda path: answer) as server:
        with pytest.raises(RegistryAwayError) as caught:
            RegistryClient(settings(server.url)).schema(7)
        assert message in str(caught.value)
        assert "swordfish" not in str(caught.value)


def test_a_redirection_is_not_followed() -> None:
    with serving(lambda path: NOT_FOUND) as other, serving(lambda path: (302, b"")) as server:
        server.more_headers = {"Location": f"{other.url}/schemas/ids/7"}
        with pytest.raises(RegistryAwayError, match="write that address as registry"):
            RegistryClient(settings(server.url)).schema(7)
        assert other.asked == []
        assert server.headers[0]["Authorization"].startswith("Basic ")


def test_references_are_followed_in_their_order() -> None:
    def answer(path: str) -> Answer:
        if path == "/schemas/ids/7":
            fields = [{"name": "tag", "type": "x.Tag"}, {"name": "desk", "type": "x.Desk"}]
            return schema_answer(
                {**RECORD, "fields": fields},
                references=[{"name": "x.Tag", "subject": "a/b", "version": 2}],
            )
        if path == "/subjects/a%2Fb/versions/2":
            fields = [{"name": "desk", "type": "x.Desk"}]
            references = [{"name": "x.Desk", "subject": "desk", "version": 1}]
            return schema_answer(
                {**RECORD, "name": "x.Tag", "fields": fields}, references=references * 2
            )
        assert path == "/subjects/desk/versions/1"
        return schema_answer({"type": "enum", "name": "x.Desk", "symbols": ["A", "B"]})

    with serving(answer) as server:
        found = RegistryClient(settings(f"{server.url}/")).schema(7)
        assert found.schema is not None
        assert found.refusal is None
        assert len(server.asked) == 3


def test_references_in_a_circle_and_without_an_end() -> None:
    numbers = count()

    def endless(path: str) -> Answer:
        return schema_answer(RECORD, references=[{"subject": f"s{next(numbers)}", "version": 1}])

    circle = schema_answer(RECORD, references=[{"subject": "a", "version": 1}])
    with serving(lambda path: circle) as server:
        found = RegistryClient(settings(server.url)).schema(7)
        assert found.refusal is not None
        assert "two types have the name" in found.refusal.detail
    with serving(endless) as server:
        found = RegistryClient(settings(server.url)).schema(7)
        assert found.refusal is not None
        assert f"more than {MAX_REFERENCES} schemas" in found.refusal.detail


@pytest.mark.parametrize(
    ("answer", "message"),
    [((401, b""), "refuses the user 'desk'"), ((404, b"<html>"), "there is no Schema Registry at")],
)
def test_what_is_certainly_wrong_is_refused_at_the_start(answer: Answer, message: str) -> None:
    with serving(lambda path: answer) as server, pytest.raises(RefusedError) as caught:
        SchemaResolver(settings(server.url)).check()
    assert message in str(caught.value)


@pytest.mark.parametrize("answer", [(200, b"[]"), (500, b""), (403, b""), NOT_FOUND])
def test_what_may_pass_is_not_refused_at_the_start(answer: Answer) -> None:
    with serving(lambda path: answer) as server:
        SchemaResolver(settings(server.url)).check()
    SchemaResolver(settings(server.url)).check()  # nobody listens there now


def test_schemas_are_asked_for_once() -> None:
    """Also those that are missing; the connection is kept."""
    with serving(
        lambda path: NOT_FOUND if path.endswith("/9") else schema_answer(RECORD)
    ) as server:
        resolver = SchemaResolver(settings(server.url))
        for _ in range(3):
            resolver.begin()
            assert resolver.resolve([7, None, 9, 7, 9], NEVER) == 5
            assert resolver.lookup(7).type == "AVRO"
            with pytest.raises(MalformedEvent, match="has no schema 9"):
                resolver.lookup(9)
        assert server.asked == ["/schemas/ids/7", "/schemas/ids/9"]


def test_a_flood_of_ids_comes_in_parts() -> None:
    with serving(lambda path: NOT_FOUND) as server:
        resolver = SchemaResolver(settings(server.url))
        resolver.begin()
        assert resolver.resolve(range(1000), NEVER) == MAX_IDS
        assert len(server.asked) == MAX_IDS
        resolver.begin()
        assert resolver.resolve(range(MAX_IDS, 1000), NEVER) == MAX_IDS


def test_a_registry_that_hangs_does_not_hinder_a_stop() -> None:
    stop = threading.Event()
    with serving(lambda path: None) as server:
        resolver = SchemaResolver(settings(server.url, 30.0))
        resolver.begin()
        threading.Timer(0.3, stop.set).start()
        with pytest.raises(RegistryAwayError):
            resolver.resolve([7], stop)
        assert server.asked == ["/schemas/ids/7"]


def test_a_registry_that_hangs_is_away() -> None:
    with serving(lambda path: None) as server:
        resolver = SchemaResolver(settings(server.url, 0.1))
        resolver.begin()
        with pytest.raises(RegistryAwayError, match="no answer within"):
            resolver.resolve([7], NEVER)
        server.answer = lambda path: schema_answer(RECORD)
        assert resolver.resolve([7], NEVER) == 1


def test_waiting_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()
    resolver = SchemaResolver(settings("http://127.0.0.1:1"))
    resolver._pause = 0.0
    for reason in ("Connection refused", "Connection refused", "the status 401"):
        resolver.wait(RegistryAwayError(reason), stop)
        assert resolver.is_away
    resolver.is_back()
    resolver.is_back()
    assert not resolver.is_away
    assert [record.message.split(": ")[-1] for record in caplog.records[:2]] == [
        "Connection refused", "the status 401",
    ]  # fmt: skip
    assert "answers again after" in caplog.records[2].message
    assert len(caplog.records) == 3
    assert "swordfish" not in caplog.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"url": "registry:8081"}, "expected an address of HTTP"),
        ({"url": "ftp://registry"}, "expected an address of HTTP"),
        ({"url": "http://"}, "expected an address of HTTP"),
        ({"url": "http://registry:99999"}, "no address"),
        ({"url": "http://desk:swordfish@registry"}, "no user and password here"),
        ({"url": "http://registry/?a=1"}, "without ?"),
        ({"url": "http://registry/a b"}, "without blanks"),
        ({"user": "desk", "password": "swordfish"}, "url must be given"),
        ({"url": "http://registry", "user": "desk"}, "belong together"),
        ({"url": "http://registry", "user": "a:b", "password": "x"}, "colon"),
        ({"url": "http://registry", "ssl_cafile": "ca.pem"}, "does not begin with https:"),
        ({"url": "https://registry", "ssl_keyfile": "k.pem"}, "without ssl_certfile"),
        ({"url": "https://registry", "ssl_cafile": "/nowhere/ca.pem"}, "cannot be read"),
        ({"url": "http://registry", "timeout_seconds": 0}, "greater than or equal to 0.1"),
    ],
)
def test_refused_settings(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")) as caught:
        RegistrySettings(**given)
    assert "swordfish" not in str(caught.value)


def test_tls_with_a_client_certificate(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        missing("openssl", "install the package openssl")
    made = Certificates(tmp_path / "certificates")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.server)
    context.load_verify_locations(made.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    files = {"ssl_certfile": made.client, "ssl_keyfile": made.client_key}
    with serving(lambda path: schema_answer(RECORD), context) as server:
        given = RegistrySettings(url=server.url, ssl_cafile=made.ca, **files)  # type: ignore[arg-type]
        assert RegistryClient(given).schema(7).schema is not None
        assert RegistryClient(given).schema(7).schema is not None
        stranger = RegistrySettings(url=server.url, ssl_cafile=made.ca)
        with pytest.raises(RegistryAwayError):
            RegistryClient(stranger).schema(7)
        trusting_another = RegistrySettings(url=server.url, ssl_cafile=made.other_ca, **files)  # type: ignore[arg-type]
        with pytest.raises(RegistryAwayError, match="its certificate is not accepted"):
            RegistryClient(trusting_another).schema(7)
        assert len(server.asked) == 2
