"""Tokens, certificates and secrets in files: who is let in, and what is refused."""

from __future__ import annotations

import base64
import shutil
import ssl
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from prometheus_client import CollectorRegistry, Gauge

from consumers.tls import client_context
from pipeline.access import Access, checked_token, read_secret, server_tls
from pipeline.errors import UsageError
from pipeline.metrics.health import Health
from pipeline.metrics.server import MetricsServer
from pipeline.page.server import PageServer
from tests.conftest import missing
from tests.support.model_server import ModelServer, save_model
from tests.support.page_stream import Stream
from tests.support.secured_broker import Certificates

TOKEN = b"a-token-for-a-test"
BEARER, BASIC = (
    {"Authorization": f"{kind} {value}"}
    for kind, value in (
        ("Bearer", TOKEN.decode()),
        ("Basic", base64.b64encode(b"anybody:" + TOKEN).decode()),
    )
)
WRONG = {"Authorization": "Bearer a-token-for-a-tesT"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if shutil.which("openssl") is None:
        missing("openssl", "install the package openssl")
    return Certificates(tmp_path_factory.mktemp("access") / "certificates")


def server_files(certificates: Certificates) -> tuple[Path, Path]:
    return certificates.folder / "server.crt", certificates.folder / "server.key"


class Client:
    """Asks a server, perhaps with TLS and a certificate of its own."""

    def __init__(self, address: str, ca: Path | None = None, *own: Path) -> None:
        parts = urlsplit(address)
        self._where = parts.hostname or "", parts.port
        cert, key = own or (None, None)
        self._context = None if ca is None else client_context(ca, cert, key, None)

    def status(self, path: str, headers: dict[str, str] | None = None) -> int:
        connection = (
            HTTPConnection(*self._where, timeout=60)
            if self._context is None
            else HTTPSConnection(*self._where, timeout=60, context=self._context)
        )
        try:
            connection.request("GET", path, headers=headers or {})
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()


def metrics_server(access: Access) -> MetricsServer:
    return MetricsServer(CollectorRegistry(), Health(), access=access)


def test_metrics_need_the_token_and_probes_do_not() -> None:
    with metrics_server(Access(TOKEN)) as server:
        client = Client(server.url)
        assert [client.status("/metrics", h) for h in (None, WRONG, BEARER, BASIC)] == [
            401, 401, 200, 200,
        ]  # fmt: skip
        assert [client.status(path) for path in ("/", "/healthz", "/nothing")] == [200, 200, 404]


def test_metrics_with_tls_and_certificates_of_clients(certificates: Certificates) -> None:
    ours = certificates
    tls = server_tls(*server_files(ours), None)
    with metrics_server(Access(TOKEN, tls)) as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert Client(server.url, ours.ca).status("/metrics", BEARER) == 200
        assert Client(server.url, ours.ca).status("/metrics") == 401
        with pytest.raises(OSError, match="certificate verify failed"):
            Client(server.url, ours.other_ca).status("/healthz")
        with pytest.raises((OSError, ValueError)):
            Client(server.url.replace("https", "http")).status("/metrics", BEARER)
    mutual = server_tls(*server_files(ours), ours.ca, ssl.CERT_OPTIONAL)
    with metrics_server(Access(None, mutual, needs_certificate=True)) as server:
        known = Client(server.url, ours.ca, ours.client, ours.client_key)
        stranger = Client(server.url, ours.ca)
        assert (known.status("/metrics"), stranger.status("/metrics")) == (200, 401)
        assert stranger.status("/healthz") == 200
        intruder = Client(server.url, ours.ca, ours.other_client, ours.other_client_key)
        with pytest.raises(OSError, match=r"alert|reset|closed|EOF"):
            intruder.status("/healthz")


def test_a_large_answer_goes_through_tls_whole(certificates: Certificates) -> None:
    registry = CollectorRegistry()
    gauge = Gauge("many", "Series.", ["number"], registry=registry)
    for number in range(20_000):
        gauge.labels(str(number)).set(number)
    tls = server_tls(*server_files(certificates), None)
    with MetricsServer(registry, Health(), access=Access(None, tls)) as server:
        where = urlsplit(server.url)
        context = client_context(certificates.ca, None, None, None)
        connection = HTTPSConnection("127.0.0.1", where.port, timeout=60, context=context)
        connection.request("GET", "/metrics")
        body = connection.getresponse().read()
        connection.close()
    assert body.count(b"\nmany{") == 20_000
    assert body.endswith(b"\n")


def test_a_renewed_certificate_is_taken_up(certificates: Certificates, tmp_path: Path) -> None:
    """The server begins with a certificate that the client does not trust, and keeps a good one."""
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    shutil.copy(certificates.other_client, cert)
    shutil.copy(certificates.other_client_key, key)
    with metrics_server(Access(None, server_tls(cert, key, None))) as server:
        client = Client(server.url, certificates.ca)
        with pytest.raises(OSError, match="certificate verify failed"):
            client.status("/healthz")
        good_cert, good_key = server_files(certificates)
        shutil.copy(good_cert, cert)
        shutil.copy(good_key, key)
        assert client.status("/healthz") == 200
        key.write_text("half")
        assert client.status("/healthz") == 200


@pytest.fixture
def stream() -> Stream:
    return Stream()


def test_the_page_needs_its_token(stream: Stream, certificates: Certificates) -> None:
    """At any address; a browser sends it as a password."""
    tls = server_tls(*server_files(certificates), None)
    with PageServer(stream.feed, 0, "0.0.0.0", Access(TOKEN, tls)) as server:  # noqa: S104
        client = Client(server.address.replace("0.0.0.0", "127.0.0.1"), certificates.ca)  # noqa: S104
        for path in ("/", "/updates", "/plotly.min.js", "/static/page.js"):
            assert [client.status(path, h) for h in (None, WRONG, BEARER, BASIC)] == [
                401, 401, 200, 200,
            ], path  # fmt: skip
        assert client.status("/", {**BEARER, "Host": "wirerank.example"}) == 200


def test_a_page_for_clients_with_certificates(stream: Stream, certificates: Certificates) -> None:
    ours = certificates
    access = Access(None, server_tls(*server_files(ours), ours.ca), needs_certificate=True)
    with PageServer(stream.feed, access=access) as server:
        assert Client(server.address, ours.ca, ours.client, ours.client_key).status("/") == 200
        with pytest.raises(OSError, match=r"alert|reset|closed|EOF|required"):
            Client(server.address, ours.ca).status("/")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"), "mmp:loss=1", events=40)


@pytest.mark.slow
def test_a_model_is_served_with_tls(model: Path, certificates: Certificates) -> None:
    ours = certificates
    cert, key = map(str, server_files(ours))
    options = ["--tls-cert", cert, "--tls-key", key, "--client-ca", str(ours.ca)]
    # With certificates of clients no token is needed beyond loopback.
    with ModelServer(model, *options, "--host", "0.0.0.0") as server:  # noqa: S104
        address = f"https://127.0.0.1:{server.port}"
        known = Client(address, ours.ca, ours.client, ours.client_key)
        assert (known.status("/v1/model"), known.status("/healthz")) == (200, 200)
        with pytest.raises(OSError, match=r"alert|reset|closed|EOF|required"):
            Client(address, ours.ca).status("/v1/model")


def test_secrets_in_files(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    for content, expected in ((b"swordfish\n", "swordfish"), (b" a b \r\n", " a b "), (b"x", "x")):
        path.write_bytes(content)
        assert read_secret(path) == expected
    for content, words in ((b"", "holds nothing"), (b"\n", "holds nothing"), (b"\xff", "UTF-8"),
                           (b"x" * 70_000, "65,536 bytes")):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            read_secret(path)
    with pytest.raises(ValueError, match="No such file"):
        read_secret(tmp_path / "absent")


@pytest.mark.parametrize("token", [b"short", b"with a space in it, long", b"x" * 2000, b""])
def test_tokens_that_are_none(token: bytes) -> None:
    with pytest.raises(UsageError, match="16 to 1,024 printable ASCII") as error:
        checked_token(token, "metrics.token")
    assert token == b"" or token.decode() not in str(error.value)


def test_certificates_that_are_none(certificates: Certificates, tmp_path: Path) -> None:
    cert, key = server_files(certificates)
    (tmp_path / "none").write_text("none")
    for given, words in (
        ((tmp_path / "absent", key, None), "No such file"),
        ((tmp_path / "none", key, None), "without a password, cannot be read"),
        ((cert, certificates.client_key, None), "without a password, cannot be read"),
        ((cert, certificates.locked_key, None), "without a password, cannot be read"),
        ((cert, key, tmp_path / "none"), "holds no certificate"),
    ):
        with pytest.raises(ValueError, match=words):
            server_tls(*given)
