"""A real API server of Kubernetes on the loopback, with a real etcd; there are no nodes."""

from __future__ import annotations

import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.kafka.ports import LOOPBACK, PortLease
from deploy.kafka.process import spawn
from deploy.kubernetes.api_server import api_server, etcd
from deploy.kubernetes.tools import ToolUnavailableError
from tests.conftest import missing
from tests.support.helm_chart import Manifest

TOKEN = "of-the-test"  # noqa: S105 - the server lives as long as the test
PATIENCE_S = 240.0
PLURALS = {"NetworkPolicy": "networkpolicies"}
CLUSTER_WIDE = {"CustomResourceDefinition", "Namespace"}


class ApiServer:
    """The API server: what it says to a manifest, including its warnings."""

    def __init__(self, port: int, certificate: Path) -> None:
        self._url = f"https://{LOOPBACK}:{port}"
        self._certificate = certificate
        self._context: ssl.SSLContext | None = None  # the certificate is made at the start

    def kubeconfig(self, path: Path) -> Path:
        """Write a file with which other programs find the server."""
        cluster = {"server": self._url, "certificate-authority": str(self._certificate)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        path.write_text(json.dumps(content))
        path.chmod(0o600)
        return path

    def get(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """What the server has at a path."""
        return json.loads(self.ask("GET", path)[0])

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            self.ask("GET", "/readyz")
        except OSError:
            return False
        return True

    def ask(self, method: str, path: str, body: Manifest | None = None) -> tuple[str, list[str]]:
        """A request; returns the answer, and the warnings in its headers."""
        if self._context is None:
            self._context = ssl.create_default_context(cafile=self._certificate)
        kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
        request = urllib.request.Request(  # noqa: S310 - our own server
            f"{self._url}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60, context=self._context) as answer:  # noqa: S310
            return answer.read().decode(), answer.headers.get_all("Warning") or []

    def apply(self, manifest: Manifest, namespace: str, dry_run: bool = True) -> list[str]:
        """Apply a manifest as `kubectl apply --server-side` does; returns warnings.

        Raises AssertionError with the answer if it is refused. Unknown fields are refused.
        """
        kind, version = manifest["kind"], manifest["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        place = "" if kind in CLUSTER_WIDE else f"/namespaces/{namespace}"
        plural = PLURALS.get(kind, f"{kind.lower()}s")
        query = "fieldManager=test&fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
        path = f"{root}{place}/{plural}/{manifest['metadata']['name']}?{query}"
        try:
            return self.ask("PATCH", path, manifest)[1]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{kind}: {error.read().decode()}") from None


@contextmanager
def running_api_server(folder: Path) -> Iterator[ApiServer]:
    """Start etcd and the API server, and stop both at the end."""
    try:
        programs = etcd(), api_server()
    except ToolUnavailableError as error:
        missing("kube-apiserver", str(error))
        raise AssertionError from None
    client, peer, port = PortLease(), PortLease(), PortLease()
    store = f"http://{LOOPBACK}:{client.port}"
    peers = f"http://{LOOPBACK}:{peer.port}"
    key, tokens = folder / "key.pem", folder / "tokens.csv"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    tokens.write_text(f"{TOKEN},test,test,system:masters\n")
    commands = {
        "etcd": [
            programs[0], f"--data-dir={folder / 'etcd'}", f"--listen-client-urls={store}",
            f"--advertise-client-urls={store}", f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}",
        ],
        "api-server": [
            programs[1], f"--etcd-servers={store}", f"--bind-address={LOOPBACK}",
            f"--secure-port={port.port}", f"--cert-dir={folder / 'certificates'}",
            f"--token-auth-file={tokens}", "--authorization-mode=RBAC",
            "--service-account-issuer=https://test", f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount",
        ],
    }  # fmt: skip
    started = {name: spawn(command, folder / f"{name}.log") for name, command in commands.items()}
    server = ApiServer(port.port, folder / "certificates" / "apiserver.crt")
    try:
        until = time.monotonic() + PATIENCE_S
        while not server.is_ready():
            for name, process in started.items():
                assert process.poll() is None, (folder / f"{name}.log").read_text()[-3000:]
            assert time.monotonic() < until, (folder / "api-server.log").read_text()[-3000:]
            time.sleep(0.2)
        yield server
    finally:
        for process in reversed(started.values()):
            process.kill()
            process.wait(30)
        for lease in (client, peer, port):
            lease.release()


def established(server: ApiServer, name: str) -> bool:
    """Whether a custom resource can be used."""
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    status: dict[str, Any] = server.get(path).get("status", {})
    conditions = {c["type"]: c["status"] for c in status.get("conditions") or ()}
    return conditions.get("Established") == "True"
