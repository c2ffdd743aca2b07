"""Requests and responses of the metrics server, as bytes.

Of HTTP only what a scrape or a probe needs: GET and HEAD, one request per connection, no body.
"""

from __future__ import annotations

import ipaddress
import re
from http import HTTPStatus
from typing import NamedTuple

MAX_REQUEST_BYTES = 16 << 10  # request line and headers
TEXT = "text/plain; charset=utf-8"

REQUEST_END = re.compile(rb"\r?\n\r?\n")
REQUEST_LINE = re.compile(r"([A-Z]{1,16}) (\S+) HTTP/1\.([0-9])", re.ASCII)
METHODS = ("GET", "HEAD")


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[str, ...] = ()  # further lines of the head


class Request(NamedTuple):
    """An HTTP request."""

    method: str
    path: str  # without the query
    hosts: tuple[str, ...]  # the values of all Host headers
    accept: str
    needs_host: bool  # HTTP/1.1 requires a Host header
    authorization: str = ""
    has_certificate: bool = False  # the client has shown one that is accepted


class BadRequest(Exception):  # noqa: N818 - the name of the HTTP status
    """A request that is refused; `answer` is the response."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.answer = Answer(status, TEXT, f"{detail}\n".encode())


def parse_request(head: bytes) -> Request:
    r"""Parse the lines of a request, or raise `BadRequest`.

    >>> parse_request(b"GET /metrics?x=1 HTTP/1.1\r\nHost: localhost:9610\r\nAccept: */*").path
    '/metrics'
    """
    first, *lines = head.decode("latin-1").replace("\r\n", "\n").split("\n")
    match = REQUEST_LINE.fullmatch(first)
    if match is None:
        raise BadRequest(400, "the request line is not one of HTTP/1.0 or HTTP/1.1")
    method, target, minor = match.groups()
    if method not in METHODS:
        raise BadRequest(501, f"only {' and '.join(METHODS)} are answered")
    values: dict[str, list[str]] = {"host": [], "accept": [], "authorization": []}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise BadRequest(400, "a header line is not `Name: value`")
        if (listed := values.get(name.lower())) is not None:
            listed.append(value.strip())
    return Request(
        method,
        target.partition("?")[0],
        tuple(values["host"]),
        ",".join(values["accept"]),
        minor != "0",
        ",".join(values["authorization"]),
    )


def check_host(request: Request, loopback: bool) -> None:
    """Raise `BadRequest` if a page of another site may have sent the request.

    A page whose host name is made to resolve to this machine (DNS rebinding) sends that name. On
    the loopback address nobody needs a name other than `localhost`. On other addresses clients use
    any name, and the network sees the metrics anyway.
    """
    if len(request.hosts) > 1 or (request.needs_host and not request.hosts):
        raise BadRequest(400, "expected one Host header")
    if loopback and request.hosts and not is_local_name(request.hosts[0]):
        raise BadRequest(421, "the Host header must be localhost or an IP address")


def is_local_name(host: str) -> bool:
    """Return whether a Host header is `localhost` or an IP address, with or without a port.

    >>> is_local_name("localhost:9610"), is_local_name("[::1]"), is_local_name("evil.example")
    (True, True, False)
    """
    match = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(:[0-9]{0,5})?", host)
    if match is None:
        return False
    name = match[1]
    if name.lower().removesuffix(".") == "localhost":
        return True
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def response_bytes(answer: Answer, method: str = "GET") -> bytes:
    """Return a response as bytes; the connection is closed after it."""
    lines = (
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Server: wirerank",
        "Connection: close",
        *answer.headers,
    )
    head = "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"
    return head if method == "HEAD" else head + answer.body
