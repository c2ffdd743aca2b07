"""TLS and SASL: the options for kafka-python, and the reason why a broker refuses a client.

kafka-python retries until its timeout and then reports only the timeout. The reasons go to its log,
and the last answer of a broker that closes a connection ("wrong password") is mostly lost. So when
a client cannot be made, this module connects once more and asks the broker itself. A certificate
that is not accepted or a user that is refused is final: `RefusedError`. A problem that may pass (no
broker listens, a connection breaks) is no refusal.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any

from kafka.cluster import collect_hosts
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from consumers.kafka.errors import AuthorizationError, KafkaError, RefusedError
from consumers.kafka.oauth_tokens import token_provider
from consumers.settings import KafkaSettings

PROBE_SECONDS = 3.0
MAX_RESPONSE_BYTES = 1 << 20
MAX_REASON_CHARACTERS = 160  # of a reason that the broker gives
TLS_ALERT = b"\x15\x03"
UNSUPPORTED_MECHANISM, ILLEGAL_SASL_STATE = 33, 34
OTHER_REMEDIES = {
    "OAUTHBEARER": "check that the token is not expired, and that the broker accepts its issuer, "
    "audience and scope",
    "GSSAPI": "check the ticket (klist), kafka.kerberos_service_name and the keytab of the broker",
    "AWS_MSK_IAM": "check the credentials and the region, and that the policy of the role allows "
    "kafka-cluster:Connect",
}
# TLS connections that broke: the broker may be starting or stopping.
TEMPORARY = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def security_options(settings: KafkaSettings) -> dict[str, Any]:
    """The options of a kafka-python client for TLS and SASL."""
    options: dict[str, Any] = {"security_protocol": settings.security_protocol}
    if settings.uses_tls:
        options["ssl_context"] = tls_context(settings)
    if settings.sasl_mechanism:
        options["sasl_mechanism"] = settings.sasl_mechanism
    match settings.sasl_mechanism:
        case "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512":
            options["sasl_plain_username"] = settings.sasl_username
            options["sasl_plain_password"] = password(settings)
        case "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = token_provider(settings)
        case "GSSAPI":
            options["sasl_kerberos_service_name"] = settings.kerberos_service_name or "kafka"
            options["sasl_kerberos_domain_name"] = settings.kerberos_domain_name
    return options


def password(settings: KafkaSettings) -> str | None:
    """The password; raises `RefusedError` if its file has become unusable since the start."""
    try:
        return settings.secret("sasl_password")
    except ValueError as error:
        raise RefusedError(f"The password cannot be used: {error}.") from None


def tls_context(settings: KafkaSettings) -> ssl.SSLContext:
    """The TLS context; raises `RefusedError` if its files have become unusable since the start."""
    try:
        return settings.tls_context()
    except ValueError as error:
        raise RefusedError(f"TLS cannot be used: {error}.") from None


def find_refusal(settings: KafkaSettings) -> RefusedError | None:
    """Why all brokers refuse this client; None if one accepts it, or if the problem may pass."""
    refused: RefusedError | None = None
    for host, port, _ in collect_hosts(settings.bootstrap, randomize=False):
        try:
            probe_broker(host, port, settings)
        except RefusedError as error:
            refused = refused or error
        except (OSError, KafkaError):
            continue
        else:
            return None
    return refused


def authorization_refusal(error: AuthorizationError) -> RefusedError:
    """The error that names a missing right and says how to grant it."""
    return RefusedError(
        f"the user lacks a right that is needed ({printable(str(error))}). Grant the user this "
        "right, for instance with kafka-acls.sh. The guide to secured brokers lists all rights "
        "that Wirerank needs."
    )


def probe_broker(host: str, port: int, settings: KafkaSettings) -> None:
    """Connect as a client would, then disconnect; raises `RefusedError` if refused."""
    where = f"{host}:{port}"
    with socket.create_connection((host, port), timeout=PROBE_SECONDS) as connection:
        try:
            if settings.uses_tls:
                context = tls_context(settings)
                with context.wrap_socket(connection, server_hostname=host) as wrapped:
                    authenticate(BrokerConnection(wrapped, where), settings)
            else:
                authenticate(BrokerConnection(connection, where), settings)
        except TEMPORARY:
            raise
        except ssl.SSLError as error:
            raise tls_refusal(where, error) from None


class BrokerConnection:
    """A blocking connection to a broker: one request, one response."""

    def __init__(self, connection: socket.socket, where: str) -> None:
        self._connection = connection
        self._protocol = KafkaProtocol(
            client_id="wirerank", receive_message_max_bytes=MAX_RESPONSE_BYTES
        )
        self._until = time.monotonic() + PROBE_SECONDS
        self.where = where

    def request(self, request: Any) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Send a request and wait for its response."""
        self._protocol.send_request(request)
        self._connection.sendall(self._protocol.send_bytes())
        while True:
            self._connection.settimeout(max(0.01, self._until - time.monotonic()))
            data = self._connection.recv(1 << 16)
            if not data:
                raise ConnectionError("the connection was closed")
            if data.startswith(TLS_ALERT):
                raise RefusedError(
                    f"the broker at {self.where} expects TLS, and this client does not use it: set "
                    "kafka.security_protocol to SSL or SASL_SSL, or kafka.bootstrap to another "
                    "port."
                )
            for _, response in self._protocol.receive_bytes(data):
                return response


def authenticate(broker: BrokerConnection, settings: KafkaSettings) -> None:
    """Send a request, because some brokers refuse a certificate only then, and log in by SASL."""
    broker.request(ApiVersionsRequest(version=0))
    if not settings.sasl_mechanism:
        return
    name = settings.sasl_mechanism
    handshake = broker.request(SaslHandshakeRequest(mechanism=name, version=1))
    if handshake.error_code == UNSUPPORTED_MECHANISM:
        raise RefusedError(
            f"the broker at {broker.where} does not support {name}: set kafka.sasl_mechanism to "
            f"one that it supports ({printable(', '.join(handshake.mechanisms))})."
        )
    if handshake.error_code == ILLEGAL_SASL_STATE:
        raise RefusedError(
            f"the broker at {broker.where} does not use SASL at this port: set "
            "kafka.security_protocol to PLAINTEXT or SSL, or kafka.bootstrap to another port."
        )
    options = security_options(settings)
    mechanism = get_sasl_mechanism(name)(host=broker.where.rpartition(":")[0], **options)
    while not mechanism.is_done():
        response = broker.request(
            SaslAuthenticateRequest(auth_bytes=mechanism.auth_bytes(), version=0)
        )
        if response.error_code:
            raise RefusedError(user_refused(broker.where, settings, response.error_message or ""))
        try:
            mechanism.receive(response.auth_bytes)
        except (ValueError, KeyError) as error:
            raise RefusedError(user_refused(broker.where, settings, str(error))) from None


def user_refused(where: str, settings: KafkaSettings, reason: str) -> str:
    """The message about a user or password that is refused, and what to do."""
    if settings.sasl_mechanism not in {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}:
        return (
            f"the broker at {where} refuses this client with {settings.sasl_mechanism} "
            f"({printable(reason)}): {OTHER_REMEDIES[settings.sasl_mechanism or '']}."
        )
    return (
        f"the broker at {where} refuses the user {settings.sasl_username!r} with "
        f"{settings.sasl_mechanism} ({printable(reason)}): correct kafka.sasl_username and "
        "kafka.sasl_password (WIRERANK__KAFKA__SASL_PASSWORD in the environment), or "
        "create the user for this mechanism."
    )


def tls_refusal(where: str, error: ssl.SSLError) -> RefusedError:
    """The error about a certificate that the client or the broker does not accept."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return RefusedError(
            f"the certificate of the broker at {where} is not accepted "
            f"({printable(error.verify_message)}): set kafka.ssl_cafile to the certificate of the "
            "authority that signed it, and kafka.bootstrap to a name that is in it."
        )
    reason = printable((error.reason or str(error)).replace("_", " ").lower())
    if "alert" in reason:
        return RefusedError(
            f"the broker at {where} does not accept this client ({reason}): it may require "
            "a client certificate that it trusts. Set kafka.ssl_certfile and kafka.ssl_keyfile to "
            "one that its authority signed."
        )
    return RefusedError(
        f"the broker at {where} and this client cannot agree on TLS ({reason}): check "
        "kafka.security_protocol, and that kafka.bootstrap names the right port."
    )


def printable(text: str) -> str:
    """A text that the broker sent, shortened, with unprintable characters replaced."""
    return "".join(c if c.isprintable() else "?" for c in text[:MAX_REASON_CHARACTERS])
