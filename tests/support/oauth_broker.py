"""A broker with OAUTHBEARER and access rights, and an endpoint that gives tokens, for tests.

The tokens are unsecured: Kafka's own validator for development takes them. Their subject is the
user, so that a test can have as many users as it likes.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote

from deploy.kafka import Cluster, Options
from deploy.kafka.ports import LOOPBACK, PortLease

SECRET = "s3cret: of % a client"  # noqa: S105
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def token(user: str, seconds: float = 3600) -> str:
    """A token that names a user."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": user, "iat": now - 60, "exp": now + seconds})
    encoded = [base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=") for p in parts]
    return b".".join([*encoded, b""]).decode()


class OAuthBroker(NamedTuple):
    """A running broker: who comes by the first address may do everything."""

    plaintext: str
    oauth: str


@contextmanager
def oauth_broker(folder: Path) -> Iterator[OAuthBroker]:
    """A broker whose users have the rights that they are granted."""
    leases = [PortLease() for _ in range(3)]
    plain, controller, oauth = [lease.port for lease in leases]
    clients = f"PLAINTEXT://{LOOPBACK}:{plain},SASL_PLAINTEXT://{LOOPBACK}:{oauth}"
    settings = {
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "listeners": f"{clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        "SASL_PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{MODULE} required "
        'unsecuredLoginStringClaim_sub="broker";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    try:
        with Cluster(folder, port=plain, options=Options(settings=settings)) as cluster:
            yield OAuthBroker(cluster.bootstrap, f"{LOOPBACK}:{oauth}")
    finally:
        for lease in leases:
            lease.release()


class TokenEndpoint(BaseHTTPRequestHandler):
    """Gives a token for the client's id to a client that knows the secret."""

    life_seconds = 3600.0
    given = 0

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        kind, _, login = self.headers.get("Authorization", "").partition(" ")
        client, _, secret = base64.b64decode(login).decode().partition(":")
        known = kind == "Basic" and unquote(secret) == SECRET
        if not known or form["grant_type"] != ["client_credentials"]:
            self._answer(401, {"error": "invalid_client"})
            return
        type(self).given += 1
        life = type(self).life_seconds
        self._answer(200, {"access_token": token(unquote(client), life), "expires_in": life})

    def _answer(self, status: int, content: dict[str, object]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def token_endpoint(life_seconds: float = 3600) -> Iterator[tuple[str, type[TokenEndpoint]]]:
    """An endpoint on the loopback; gives its address, and a class that counts tokens."""

    class Endpoint(TokenEndpoint):
        pass

    Endpoint.life_seconds = life_seconds
    server = ThreadingHTTPServer((LOOPBACK, 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}/token", Endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
