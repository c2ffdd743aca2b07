"""A broker with TLS, SASL and access rights, for tests; openssl makes the certificates."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
    UserScramCredentialUpsertion,
)

from consumers.kafka.clients import new_admin
from consumers.settings import KafkaSettings
from deploy.kafka import Cluster, Options
from deploy.kafka.ports import LOOPBACK, PortLease

PASSWORD = "correct-horse-7f3a"  # noqa: S105 - of the tests' own broker
KEY_PASSWORD = "staple-9c1e"  # noqa: S105
USER, STRANGER = "wirerank", "stranger"
PROTOCOLS = ("SSL", "SASL_SSL", "SASL_PLAINTEXT")
TOPIC_RIGHTS = (
    ACLOperation.READ,
    ACLOperation.WRITE,
    ACLOperation.CREATE,
    ACLOperation.DESCRIBE_CONFIGS,
)
CONFIG = """
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[server]
subjectAltName = IP:127.0.0.1
extendedKeyUsage = serverAuth
[client]
extendedKeyUsage = clientAuth
"""


class Certificates:
    """Certificates of two authorities, a server and two clients; the broker trusts the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "openssl.cnf").write_text(CONFIG)
        self.ca = self._authority("ca")
        self.other_ca = self._authority("other")
        self._signed("server", "server", "ca")
        self.client, self.client_key = self._signed("client", "client", "ca")
        self.other_client, self.other_client_key = self._signed("intruder", "client", "other")
        self.locked_key = folder / "client-locked.key"
        self._openssl(
            "pkey", "-in", str(self.client_key), "-aes-256-cbc", "-passout",
            f"pass:{KEY_PASSWORD}", "-out", str(self.locked_key),
        )  # fmt: skip
        self.server = folder / "server.pem"  # the key, then the certificate: Java needs this order
        self.server.write_text(
            (folder / "server.key").read_text() + (folder / "server.crt").read_text()
        )

    def _authority(self, name: str) -> Path:
        path = self.folder / f"{name}.crt"
        self._openssl(
            "req", "-x509", "-config", "openssl.cnf", "-extensions", "ca", "-subj", f"/CN={name}",
            *self._new_key(name), "-days", "2", "-out", str(path),
        )  # fmt: skip
        return path

    def _signed(self, name: str, use: str, authority: str) -> tuple[Path, Path]:
        path, request = self.folder / f"{name}.crt", self.folder / f"{name}.csr"
        self._openssl(
            "req", "-new", "-config", "openssl.cnf", "-subj", f"/CN={name}", *self._new_key(name),
            "-out", str(request),
        )  # fmt: skip
        self._openssl(
            "x509", "-req", "-in", str(request), "-CA", f"{authority}.crt", "-CAkey",
            f"{authority}.key", "-CAcreateserial", "-days", "2", "-extfile", "openssl.cnf",
            "-extensions", use, "-out", str(path),
        )  # fmt: skip
        return path, self.folder / f"{name}.key"

    def _new_key(self, name: str) -> list[str]:
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        return [*curve, "-keyout", f"{name}.key"]

    def _openssl(self, *arguments: str) -> None:
        done = subprocess.run(
            ["openssl", *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Secured:
    """A running broker with one listener per security protocol."""

    certificates: Certificates
    plaintext: str
    listeners: dict[str, str]  # by protocol

    def settings(self, protocol: str, **given: object) -> dict[str, Any]:
        """Settings of a client that trusts the broker."""
        tls = {"ssl_cafile": self.certificates.ca} if "SSL" in protocol else {}
        where = {"bootstrap": self.listeners[protocol], "security_protocol": protocol}
        return {**where, **tls, **given}

    def by_certificate(self, **given: object) -> dict[str, Any]:
        """Settings of a client with a certificate, whose key has a password."""
        own = {
            "ssl_certfile": self.certificates.client,
            "ssl_keyfile": self.certificates.locked_key,
        }
        return self.settings("SSL", **own, ssl_password=KEY_PASSWORD, **given)

    def by_password(self, protocol: str, mechanism: str, **given: object) -> dict[str, Any]:
        """Settings of a client with a user and a password."""
        user = {"sasl_username": USER, "sasl_password": PASSWORD, "sasl_mechanism": mechanism}
        return self.settings(protocol, **{**user, **given})

    @contextmanager
    def admin(self) -> Iterator[Any]:
        """An administration client with all rights."""
        admin: Any = new_admin(KafkaSettings(bootstrap=self.plaintext))
        try:
            yield admin
        finally:
            admin.close()

    def set_password(self, user: str, password: str) -> None:
        """Create a user for SCRAM, or change its password."""
        with self.admin() as admin:
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                made = UserScramCredentialUpsertion(user, mechanism, password)
                assert admin.alter_user_scram_credentials([made]) == {user: None}

    def grant(self, principal: str, stream: str, groups: bool = True) -> None:
        """Give a user the rights that docs/guide/secure-kafka.md lists, and no others."""
        rights = [
            *product([ResourceType.TOPIC], [f"{stream}."], TOPIC_RIGHTS),
            (ResourceType.TRANSACTIONAL_ID, f"wirerank.{stream}.", ACLOperation.WRITE),
        ]
        if groups:
            rights.append((ResourceType.GROUP, f"wirerank.{stream}.", ACLOperation.READ))
        granted = [
            ACL(
                f"User:{principal}", "*", operation, ACLPermissionType.ALLOW,
                ResourcePattern(kind, name, ACLResourcePatternType.PREFIXED),
            )
            for kind, name, operation in rights
        ]  # fmt: skip
        with self.admin() as admin:
            assert not admin.create_acls(granted)["failed"]


@contextmanager
def secured_broker(folder: Path) -> Iterator[Secured]:
    """A broker with a listener per protocol; the one for SSL requires client certificates.

    Who comes by the plain listener may do everything, all others what they are granted.
    """
    certificates = Certificates(folder / "certificates")
    leases = [PortLease() for _ in range(2 + len(PROTOCOLS))]
    plain, controller, *others = [lease.port for lease in leases]
    ports = {"PLAINTEXT": plain, **dict(zip(PROTOCOLS, others, strict=True))}
    clients = ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in ports.items())
    module = "org.apache.kafka.common.security"
    settings = {
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "listeners": f"{clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,"
        + ",".join(f"{name}:{name}" for name in ports),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "listener.name.ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    for listener in ("sasl_ssl", "sasl_plaintext"):
        users = " ".join(f'user_{name}="{PASSWORD}"' for name in (USER, STRANGER))
        settings[f"listener.name.{listener}.plain.sasl.jaas.config"] = (
            f"{module}.plain.PlainLoginModule required {users};"
        )
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            settings[f"listener.name.{listener}.{mechanism}.sasl.jaas.config"] = (
                f"{module}.scram.ScramLoginModule required;"
            )
    try:
        with Cluster(folder / "kafka", port=plain, options=Options(settings=settings)) as cluster:
            addresses = {name: f"{LOOPBACK}:{ports[name]}" for name in PROTOCOLS}
            yield Secured(certificates, cluster.bootstrap, addresses)
    finally:
        for lease in leases:
            lease.release()
