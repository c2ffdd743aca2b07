"""One request to the registry: an answer of bounded size, in bounded time."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import time
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from consumers.registry_settings import RegistrySettings
from pipeline.printable import printable

MAX_ANSWER_BYTES = 4 << 20
READ_BYTES = 1 << 16
MAX_REASON_CHARACTERS = 160
ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"


class RegistryAwayError(Exception):
    """The registry gives no answer that can be used now; the message says why, and what to do."""


class Answer(NamedTuple):
    """What the registry answered."""

    status: int
    body: bytes
    location: str = ""  # where a redirection points


class RegistryConnection:
    """A connection that is opened when it is needed, and again after a failure.

    Redirections are never followed: another host must not see the password.
    """

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        parts = urlsplit(settings.url)
        self._host, self._port, self._path = parts.hostname or "", parts.port, parts.path
        self._headers = {"Accept": ACCEPT, "User-Agent": "wirerank"}
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> Answer:
        """Ask for a path below the address; raises `RegistryAwayError` if there is no answer."""
        kept = self._connection is not None
        try:
            return self._get(path)
        except RegistryAwayError:
            if not kept:
                raise
        return self._get(path)  # the registry had closed the connection meanwhile

    def _get(self, path: str) -> Answer:
        until = time.monotonic() + self._settings.timeout_seconds
        try:
            connection = self._connection or self._connect()
            self._connection = connection
            connection.request("GET", f"{self._path}{path}", headers=self._headers)
            response = connection.getresponse()
            body = read_body(response, until)
            return Answer(response.status, body, response.getheader("Location") or "")
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise RegistryAwayError(self._describe(error)) from None
        except RegistryAwayError:
            self.close()
            raise

    def _connect(self) -> http.client.HTTPConnection:
        settings, seconds = self._settings, self._settings.timeout_seconds
        password = settings.secret("password")  # read again from its file, if it has one
        if settings.user is not None and password is not None:
            login = f"{settings.user}:{password}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        context = self._settings.tls_context()
        if context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        return http.client.HTTPSConnection(self._host, self._port, timeout=seconds, context=context)

    def _describe(self, error: Exception) -> str:
        if isinstance(error, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not accepted ({shortened(error.verify_message)}); set "
                "registry.ssl_cafile to the certificate of the authority that signed it"
            )
        if isinstance(error, TimeoutError):
            return f"no answer within {self._settings.timeout_seconds:g} s"
        if isinstance(error, http.client.HTTPException):
            return f"it does not answer as an HTTP server does ({type(error).__name__})"
        return shortened(getattr(error, "strerror", None) or str(error) or type(error).__name__)

    def close(self) -> None:
        """Disconnect."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def abort(self) -> None:
        """Disconnect from another thread than the one that waits for an answer, which then ends."""
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)


def read_body(response: http.client.HTTPResponse, until: float) -> bytes:
    """Read an answer piece by piece, up to a moment and a size."""
    body = bytearray()
    while piece := response.read1(READ_BYTES):
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise RegistryAwayError(f"its answer has more than {MAX_ANSWER_BYTES:,} bytes")
        if time.monotonic() > until:
            raise TimeoutError
    response.close()  # now the connection can be used again
    return bytes(body)


def shortened(text: str) -> str:
    """A text of others in one short line."""
    return printable(text, MAX_REASON_CHARACTERS)
