"""A real Prometheus scrapes a server that asks for a token and a certificate."""

from __future__ import annotations

import re
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from pipeline.access import Access, server_tls
from pipeline.metrics.collectors import ProcessMetrics
from pipeline.metrics.health import Health
from pipeline.metrics.scrape_target import ScrapeTarget, target_address
from pipeline.metrics.server import MetricsServer
from tests.conftest import REPOSITORY, missing
from tests.support.kafka_stream import eventually
from tests.support.prometheus_server import Prometheus
from tests.support.secured_broker import Certificates

TOKEN = "a-token-for-a-test"  # noqa: S105
PATIENCE_SECONDS = 120


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if shutil.which("openssl") is None:
        missing("openssl", "install the package openssl")
    return Certificates(tmp_path_factory.mktemp("scraped") / "certificates")


@pytest.fixture
def server(certificates: Certificates) -> Iterator[MetricsServer]:
    folder = certificates.folder
    tls = server_tls(
        folder / "server.crt", folder / "server.key", certificates.ca, ssl.CERT_OPTIONAL
    )
    registry, health = CollectorRegistry(), Health()
    ProcessMetrics(registry, health)
    access = Access(TOKEN.encode(), tls, needs_certificate=True)
    with MetricsServer(registry, health, "0.0.0.0", 0, access) as server:  # noqa: S104
        yield server


def documented(certificates: Certificates, folder: Path) -> str:
    """The scrape configuration of the book, with the files of this test."""
    text = (REPOSITORY / "docs" / "guide" / "operate" / "secure.md").read_text()
    (job,) = re.findall(r"^    (scrape_configs:\n(?:    .*\n)+)", text, re.M)
    files = {
        "/etc/wirerank/metrics.token": folder / "metrics.token",
        "/etc/wirerank/ca.pem": certificates.ca,
        "/etc/prometheus/client.pem": certificates.client,
        "/etc/prometheus/client.key": certificates.client_key,
        "/var/lib/wirerank/targets": folder / "targets",
    }
    for written, actual in files.items():
        assert written in job
        job = job.replace(written, str(actual))
    return "global: {scrape_interval: 1s}\n" + re.sub(r"^    ", "", job, flags=re.M)


@pytest.mark.parametrize("token", [TOKEN, "another-token-for-a-test"])
def test_prometheus_scrapes_with_the_token_and_a_certificate(
    token: str, server: MetricsServer, certificates: Certificates, tmp_path: Path
) -> None:
    (tmp_path / "metrics.token").write_text(f"{token}\n")
    address = target_address("0.0.0.0", server.port)  # noqa: S104
    target = ScrapeTarget(
        tmp_path / "targets", "wirerank-learner", "learner of stream wire", "wire", address, "https"
    )
    prometheus = Prometheus(tmp_path, documented(certificates, tmp_path), tmp_path / "data")
    try:
        assert eventually(prometheus.ready, PATIENCE_SECONDS)
        assert eventually(lambda: bool(prometheus.query("up")), PATIENCE_SECONDS)
        ((sample),) = prometheus.query("up")
        assert sample["metric"]["job"] == "wirerank-learner"
        if token == TOKEN:
            assert eventually(lambda: bool(prometheus.query("wirerank_ready")), PATIENCE_SECONDS)
        else:
            (seen,) = prometheus.ask("targets")["activeTargets"]
            assert "401 Unauthorized" in seen["lastError"]
            assert sample["value"][1] == "0"
    finally:
        prometheus.close()
        target.withdraw()
