"""Tokens for SASL OAUTHBEARER: from a file that another program renews, or from a token endpoint.

kafka-python asks for a token whenever it connects. A token from a file is read at that moment. A
token from an endpoint (the client-credentials grant of OAuth 2.0) is kept until most of its life is
over, and shared by all clients of the process. The endpoint has a time limit, because heartbeats
wait meanwhile. Redirections are not followed: another host must not see the secret.
"""

from __future__ import annotations

import base64
import functools
import http.client
import json
import ssl
import threading
import time
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from kafka.net.sasl.oauth import AbstractTokenProvider

from consumers.kafka.errors import KafkaError, RefusedError
from consumers.settings import KafkaSettings
from consumers.task import within
from consumers.tls import client_context
from pipeline.access import read_secret

ENDPOINT_SECONDS = 5.0
MAX_ANSWER_BYTES = 1 << 16
USED_SHARE = 0.8  # of the life of a token
DEFAULT_LIFE_SECONDS = 60.0  # of a token whose endpoint does not say it


class TokenEndpointError(KafkaError):  # type: ignore[misc]
    """The token endpoint gives no token now; it may do so later."""


class FileTokens(AbstractTokenProvider):  # type: ignore[misc]
    """The token in a file, read at every login."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings

    def token(self) -> str:
        """The token."""
        path = self._settings.oauth_token_file
        if path is None:
            raise RefusedError("kafka.oauth_token_file is not given")
        try:
            return read_secret(path).strip()
        except ValueError as error:
            raise RefusedError(f"kafka.oauth_token_file = {error}.") from None


class EndpointTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Tokens of an endpoint, each kept until most of its life is over."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._token, self._until = "", 0.0

    def token(self) -> str:
        """The token."""
        with self._lock:
            if time.monotonic() >= self._until:
                asked = time.monotonic()
                try:
                    token, seconds = within(
                        ENDPOINT_SECONDS,
                        "the token endpoint",
                        lambda: request_token(self._settings),
                    )
                except TimeoutError:
                    raise TokenEndpointError(
                        f"the token endpoint gives no answer within {ENDPOINT_SECONDS:g} s"
                    ) from None
                self._token, self._until = token, asked + USED_SHARE * seconds
            return self._token


@functools.lru_cache(maxsize=16)
def token_provider(settings: KafkaSettings) -> AbstractTokenProvider:
    """What gives the tokens for these settings; the same one for all clients of a process."""
    is_file = settings.oauth_token_file is not None
    return FileTokens(settings) if is_file else EndpointTokens(settings)


def request_token(settings: KafkaSettings) -> tuple[str, float]:
    """Ask the endpoint for a token; returns it, and how many seconds it is valid."""
    parts = urlsplit(settings.oauth_token_url or "")
    try:
        secret = settings.secret("oauth_client_secret") or ""
    except ValueError as error:
        raise RefusedError(f"kafka.{error}.") from None
    # RFC 6749, section 2.3.1: the parts of the login are encoded like those of a form.
    login = f"{quote(settings.oauth_client_id or '', safe='')}:{quote(secret, safe='')}"
    asked = {"grant_type": "client_credentials"}
    if settings.oauth_scope:
        asked["scope"] = settings.oauth_scope
    connection = connected(parts.hostname or "", parts.port, parts.scheme == "https", settings)
    try:
        connection.request(
            "POST",
            parts.path + (f"?{parts.query}" if parts.query else "") or "/",
            urlencode(asked),
            {
                "Content-Type": "application/x-www-form-urlencoded",
                "Accept": "application/json",
                "Authorization": f"Basic {base64.b64encode(login.encode()).decode()}",
            },
        )
        response = connection.getresponse()
        body = response.read(MAX_ANSWER_BYTES)
    except ssl.SSLCertVerificationError as error:
        raise RefusedError(
            f"the certificate of the token endpoint at {parts.netloc} is not accepted "
            f"({error.verify_message}): set kafka.oauth_cafile to the certificate of the authority "
            "that signed it."
        ) from None
    except (OSError, http.client.HTTPException) as error:
        raise TokenEndpointError(f"the token endpoint at {parts.netloc}: {error}") from None
    finally:
        connection.close()
    if response.status in {400, 401, 403}:
        raise RefusedError(
            f"the token endpoint at {parts.netloc} refuses the client with status "
            f"{response.status}: correct kafka.oauth_client_id, kafka.oauth_client_secret and "
            "kafka.oauth_scope."
        )
    if response.status != http.HTTPStatus.OK:
        raise TokenEndpointError(
            f"the token endpoint at {parts.netloc} answers with status {response.status}"
        )
    return parsed_answer(body, parts.netloc)


def connected(
    host: str, port: int | None, uses_tls: bool, settings: KafkaSettings
) -> http.client.HTTPConnection:
    """A connection to the endpoint."""
    if not uses_tls:
        return http.client.HTTPConnection(host, port, timeout=ENDPOINT_SECONDS)
    context = client_context(settings.oauth_cafile, None, None, None)
    return http.client.HTTPSConnection(host, port, timeout=ENDPOINT_SECONDS, context=context)


def parsed_answer(body: bytes, where: str) -> tuple[str, float]:
    """The token in the answer of an endpoint, and its life in seconds.

    >>> parsed_answer(b'{"access_token": "abc", "expires_in": 300}', "login")
    ('abc', 300.0)
    """
    try:
        answer: Any = json.loads(body)
        token, seconds = answer["access_token"], answer.get("expires_in", DEFAULT_LIFE_SECONDS)
        if isinstance(token, str) and token.isascii() and token.isprintable() and token:
            return token, max(float(seconds), 0.0)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise TokenEndpointError(f"the token endpoint at {where} answers without an access_token")
