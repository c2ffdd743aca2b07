"""Getting in: TLS and SASL as kafka-python takes them, and why a broker refuses a client.

kafka-python tries again until time is up, and says only that: the reasons go to its log, and the
last words of a broker that closes a connection (that the password is wrong, say) are mostly lost.
So when a client could not be made, the broker is asked once more, here, and what it says is final:
a certificate that is not accepted, a user that is refused. What may pass (nobody listens, a
connection breaks off) is no refusal.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any

from kafka.cluster import collect_hosts
from kafka.errors import AuthorizationError, KafkaError
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from consumers.config import KafkaSettings

KNOCK_SECONDS = 3.0
MOST_BYTES = 1 << 20  # of an answer
MOST_LETTERS = 160  # of a reason that the other side gives
TLS_ALERT = b"\x15\x03"
UNSUPPORTED_MECHANISM, ILLEGAL_SASL_STATE = 33, 34
# TLS that broke off: the broker may be on its way down or up.
PASSING = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


class RefusedError(KafkaError):  # type: ignore[misc]
    """The broker does not let us in, or not do something; the message says what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


def security(settings: KafkaSettings) -> dict[str, Any]:
    """The options of a client that have to do with TLS and SASL."""
    options: dict[str, Any] = {"security_protocol": settings.security_protocol}
    if settings.uses_tls:
        options["ssl_context"] = context_of(settings)
    if settings.sasl_mechanism and settings.sasl_password:
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.sasl_username
        options["sasl_plain_password"] = settings.sasl_password.get_secret_value()
    return options


def context_of(settings: KafkaSettings) -> ssl.SSLContext:
    """What TLS needs, or what is wrong with it by now."""
    try:
        return settings.tls_context()
    except ValueError as error:
        raise RefusedError(f"TLS cannot be used: {error}.") from None


def refusal(settings: KafkaSettings) -> RefusedError | None:
    """Why none of the brokers lets us in; None if one does, or if that may pass."""
    found: RefusedError | None = None
    for host, port, _ in collect_hosts(settings.bootstrap, randomize=False):
        try:
            knock(host, port, settings)
        except RefusedError as error:
            found = found or error
        except (OSError, KafkaError):
            continue
        else:
            return None
    return found


def not_allowed(error: AuthorizationError) -> RefusedError:
    """What to do about a right that is missing."""
    return RefusedError(
        f"the broker does not allow what is needed ({printable(str(error))}). Grant the user the "
        "rights that docs/guide/secure-kafka.md lists, with kafka-acls.sh for instance."
    )


def knock(host: str, port: int, settings: KafkaSettings) -> None:
    """Connect as a client would, and go away again; raises `RefusedError` if that is refused."""
    where = f"{host}:{port}"
    with socket.create_connection((host, port), timeout=KNOCK_SECONDS) as connection:
        try:
            if settings.uses_tls:
                context = context_of(settings)
                with context.wrap_socket(connection, server_hostname=host) as wrapped:
                    introduce(Talk(wrapped, where), settings)
            else:
                introduce(Talk(connection, where), settings)
        except PASSING:
            raise
        except ssl.SSLError as error:
            raise tls_refusal(where, error) from None


class Talk:
    """Questions to a broker, one after another, over a connection that waits for the answers."""

    def __init__(self, connection: socket.socket, where: str) -> None:
        self._connection = connection
        self._protocol = KafkaProtocol(client_id="wirerank", receive_message_max_bytes=MOST_BYTES)
        self._until = time.monotonic() + KNOCK_SECONDS
        self.where = where

    def ask(self, request: Any) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Ask, and wait for the answer."""
        self._protocol.send_request(request)
        self._connection.sendall(self._protocol.send_bytes())
        while True:
            self._connection.settimeout(max(0.01, self._until - time.monotonic()))
            data = self._connection.recv(1 << 16)
            if not data:
                raise ConnectionError("the connection was closed")
            if data.startswith(TLS_ALERT):
                raise RefusedError(
                    f"the broker at {self.where} speaks TLS there, and this client does not: set "
                    "kafka.security_protocol to SSL or SASL_SSL, or kafka.bootstrap to another "
                    "port."
                )
            for _, answer in self._protocol.receive_bytes(data):
                return answer


def introduce(talk: Talk, settings: KafkaSettings) -> None:
    """Ask something, since some refuse a certificate only then, and authenticate, if need be."""
    talk.ask(ApiVersionsRequest(version=0))
    if not settings.sasl_mechanism:
        return
    name = settings.sasl_mechanism
    agreed = talk.ask(SaslHandshakeRequest(mechanism=name, version=1))
    if agreed.error_code == UNSUPPORTED_MECHANISM:
        raise RefusedError(
            f"the broker at {talk.where} does not take {name}, but "
            f"{printable(', '.join(agreed.mechanisms))}: set kafka.sasl_mechanism to one of these."
        )
    if agreed.error_code == ILLEGAL_SASL_STATE:
        raise RefusedError(
            f"the broker at {talk.where} takes no users and passwords at this port: set "
            "kafka.security_protocol to PLAINTEXT or SSL, or kafka.bootstrap to another port."
        )
    options = security(settings)
    mechanism = get_sasl_mechanism(name)(host=talk.where.rpartition(":")[0], **options)
    while not mechanism.is_done():
        answer = talk.ask(SaslAuthenticateRequest(auth_bytes=mechanism.auth_bytes(), version=0))
        if answer.error_code:
            raise RefusedError(user_refused(talk.where, settings, answer.error_message or ""))
        try:
            mechanism.receive(answer.auth_bytes)
        except (ValueError, KeyError) as error:
            raise RefusedError(user_refused(talk.where, settings, str(error))) from None


def user_refused(where: str, settings: KafkaSettings, reason: str) -> str:
    """What to do about a user or a password that is not taken."""
    return (
        f"the broker at {where} refuses the user {settings.sasl_username!r} with "
        f"{settings.sasl_mechanism} ({printable(reason)}): correct kafka.sasl_username and "
        "kafka.sasl_password (WIRERANK__KAFKA__SASL_PASSWORD in the environment), or have the "
        "user made for this mechanism."
    )


def tls_refusal(where: str, error: ssl.SSLError) -> RefusedError:
    """What to do about a certificate, the broker's or ours, that is not accepted."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return RefusedError(
            f"the certificate of the broker at {where} is not accepted "
            f"({printable(error.verify_message)}): set kafka.ssl_cafile to the certificate of the "
            "authority that signed it, and kafka.bootstrap to a name that is in it."
        )
    reason = printable((error.reason or str(error)).replace("_", " ").lower())
    if "alert" in reason:
        return RefusedError(
            f"the broker at {where} does not accept this client ({reason}): it may want a client "
            "certificate that it trusts. Set kafka.ssl_certfile and kafka.ssl_keyfile to one that "
            "its authority signed."
        )
    return RefusedError(
        f"the broker at {where} does not speak TLS as this client does ({reason}): check "
        "kafka.security_protocol, and that kafka.bootstrap names the right port."
    )


def printable(text: str) -> str:
    """What the other side says, as far as it can be printed, and not too long."""
    return "".join(c if c.isprintable() else "?" for c in text[:MOST_LETTERS])
