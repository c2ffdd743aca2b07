"""The HTTP interface: which paths there are, who may ask, and what a request may cost."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson
from prometheus_client import CollectorRegistry
from starlette.types import Message, Receive, Scope, Send

from pipeline.metrics.http_messages import TEXT, is_local_name
from pipeline.metrics.server import metrics_answer
from pipeline.page.server import SECURITY
from pipeline.serving import counters as numbers
from pipeline.serving.counters import Counters
from pipeline.serving.micro_batches import MicroBatches
from pipeline.serving.model_source import CurrentModel
from pipeline.serving.openapi import openapi_document
from pipeline.serving.served_model import Reply, problem

STATIC = Path(__file__).parent / "static"
HTML, SCRIPT, STYLE = "text/html; charset=utf-8", "text/javascript", "text/css"
RANK = "/v1/rank"
OPEN_PATHS = frozenset(("/", "/serve.js", "/serve.css", "/openapi.json", "/healthz", "/readyz"))
STUCK_SECONDS = 60.0
MOST_HELD_BYTES = 64 << 20  # of requests and answers, per process
LARGE_ANSWER_BYTES = 64 << 10
DISCARDED_BYTES, DISCARDED_SECONDS = 1 << 20, 1.0


class Access(NamedTuple):
    """Who may ask, and how much."""

    token: bytes | None
    is_loopback: bool
    max_body_bytes: int
    body_seconds: float = 10.0  # until a body must be there


class ClientGoneError(Exception):
    """The client has closed the connection."""


class ServeApp:
    """An ASGI application."""

    def __init__(
        self, current: CurrentModel, access: Access, batches: MicroBatches, counters: Counters,
        process: int,
    ) -> None:  # fmt: skip
        self._current = current
        self._access = access
        self._batches = batches
        self._registry = CollectorRegistry()
        self._registry.register(counters)
        self._own = counters.of(process)
        self._held = 0
        self._own.set(numbers.WAITING, 0)
        self._own.set(numbers.HELD, 0)
        self._pages: dict[str, Callable[[], Reply]] = {
            "/v1/topics": lambda: as_json({"topics": current.model.topics()}),
            "/v1/lanes": lambda: as_json({"lanes": current.model.lanes()}),
            "/v1/model": lambda: as_json(current.model.description()),
            "/openapi.json": lambda: as_json(openapi_document(access.max_body_bytes)),
            "/healthz": self._health,
            "/readyz": self._health,
        }
        files = (("/", "serve.html", HTML), ("/serve.js", "serve.js", SCRIPT))
        for path, name, kind in (*files, ("/serve.css", "serve.css", STYLE)):
            reply = Reply(200, (STATIC / name).read_bytes(), content_type=kind)
            self._pages[path] = partial(as_it_is, reply)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        refused = self._refusal(scope, headers)
        if refused is not None:
            await self._send_last(receive, send, refused, allowed(scope["path"]))
        elif scope["path"] == RANK:
            await self._rank(receive, send)
        else:
            await self._send(send, self._page(scope["path"], headers))

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> Reply | None:
        """Return the answer to a request that is refused before its body is read."""
        path, method, access = scope["path"], scope["method"], self._access
        host = headers.get(b"host", b"").decode("latin-1")
        if access.is_loopback and host and not is_local_name(host):
            return problem(421, "wrong_host", "the Host header must be localhost or an IP address")
        if path not in self._pages and path not in (RANK, "/metrics"):
            known = ", ".join((RANK, "/metrics", *self._pages))
            return problem(404, "not_found", f"expected one of: {known}")
        expected = allowed(path)
        if method not in expected:
            detail = f"expected {' or '.join(expected)}, found {method[:20]}"
            return problem(405, "wrong_method", detail)
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy may believe one, and this server the other: where would the request end?
            detail = "expected Content-Length or Transfer-Encoding, found both"
            return problem(400, "bad_request", detail)
        if access.token is not None and path not in OPEN_PATHS:
            kind, _, given = headers.get(b"authorization", b"").partition(b" ")
            is_right = hmac.compare_digest(given.strip(), access.token)
            if kind.lower() != b"bearer" or not is_right:
                detail = "expected the header `Authorization: Bearer TOKEN` with the right token"
                return problem(401, "unauthorized", detail)
        return self._body_refusal(headers) if path == RANK else None

    def _body_refusal(self, headers: dict[bytes, bytes]) -> Reply | None:
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            # A form of a foreign page can send other types without asking first.
            found = kind.decode("latin-1")[:80] or "none"
            detail = f"the Content-Type must be application/json, found {found}"
            return problem(415, "wrong_content_type", detail)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._access.max_body_bytes:
            return self._too_large()
        return None

    def _too_large(self) -> Reply:
        most = f"{self._access.max_body_bytes:,}"
        return problem(413, "too_large", f"the body must have at most {most} bytes")

    async def _rank(self, receive: Receive, send: Send) -> None:
        body = bytearray()
        try:
            async with asyncio.timeout(self._access.body_seconds):
                refused = await self._read(receive, body)
            if refused is not None:
                await self._send_last(receive, send, refused)
                return
            started = time.perf_counter()
            self._own.set(numbers.WAITING, self._batches.waiting + 1)
            reply = await self._batches.reply(bytes(body))
            self._own.set(numbers.WAITING, self._batches.waiting)
            self._own.observe(time.perf_counter() - started)
        except TimeoutError:
            detail = f"the body did not come within {self._access.body_seconds:g} s"
            await self._send_last(receive, send, problem(408, "timeout", detail))
            return
        except ClientGoneError:
            return
        finally:
            self._hold(-len(body))
        await self._send(send, reply)

    async def _read(self, receive: Receive, body: bytearray) -> Reply | None:
        """Read the body of a request; return an answer if it is refused."""
        while True:
            message: Message = await receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            chunk: bytes = message.get("body", b"")
            if len(body) + len(chunk) > self._access.max_body_bytes:
                return self._too_large()
            if self._held + len(chunk) > MOST_HELD_BYTES:
                return busy()
            body += chunk
            self._hold(len(chunk))
            if not message.get("more_body", False):
                return None

    def _hold(self, size: int) -> None:
        self._held += size
        self._own.set(numbers.HELD, self._held)

    async def _send(self, send: Send, reply: Reply) -> None:
        """Send an answer; a large one is counted until the client has taken most of it."""
        size = len(reply.body) if len(reply.body) > LARGE_ANSWER_BYTES else 0
        if size and self._held + size > MOST_HELD_BYTES:
            reply, size = busy(), 0
        self._own.count_reply(reply.status, reply.documents, reply.refused)
        start = {
            "type": "http.response.start",
            "status": reply.status,
            "headers": answer_headers(reply),
        }
        self._hold(size)
        try:
            await send(start)
            if size:
                await send({"type": "http.response.body", "body": reply.body, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
            else:
                await send({"type": "http.response.body", "body": reply.body})
        finally:
            self._hold(-size)

    async def _send_last(
        self, receive: Receive, send: Send, reply: Reply, methods: Sequence[str] = ()
    ) -> None:
        """Refuse a request whose body is not read, and close the connection."""
        self._own.count_reply(reply.status)
        headers = [*answer_headers(reply), (b"connection", b"close")]
        if reply.status == 405:
            headers.append((b"allow", ", ".join(methods).encode()))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body, "more_body": True})
        await discard(receive)
        await send({"type": "http.response.body", "body": b""})

    def _page(self, path: str, headers: dict[bytes, bytes]) -> Reply:
        if path != "/metrics":
            return self._pages[path]()
        self.note_model()
        answer = metrics_answer(self._registry, headers.get(b"accept", b"").decode("latin-1"))
        return Reply(answer.status, answer.body, content_type=answer.content_type)

    def note_model(self) -> None:
        """Take note of the age of the model, for the metrics."""
        self._own.set(numbers.AGE, self._current.model.age_seconds)

    def _health(self) -> Reply:
        busy_for = self._batches.busy_seconds
        if busy_for > STUCK_SECONDS:
            text = f"stuck: one batch has been ranked for {busy_for:.0f} s\n"
            return Reply(503, text.encode(), content_type=TEXT)
        return Reply(200, b"ok: the model is loaded and answers\n", content_type=TEXT)


def allowed(path: str) -> tuple[str, ...]:
    """Return the methods of a path."""
    return ("POST",) if path == RANK else ("GET", "HEAD")


def as_it_is(reply: Reply) -> Reply:
    """Return an answer that is always the same."""
    return reply


def as_json(value: object) -> Reply:
    """Return a value as an answer."""
    return Reply(200, orjson.dumps(value, default=str))


def busy() -> Reply:
    """Return the answer when there is no memory for more requests or answers."""
    detail = f"requests and answers take more than {MOST_HELD_BYTES:,} bytes; try again later"
    return problem(503, "overloaded", detail)


def answer_headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer."""
    headers = [
        (b"content-type", reply.content_type.encode()),
        (b"content-length", b"%d" % len(reply.body)),
        (b"cache-control", b"no-store"),
    ]
    if reply.content_type == HTML:
        headers += [(name.encode(), value.encode()) for name, value in SECURITY.items()]
    else:
        headers.append((b"x-content-type-options", b"nosniff"))
    if reply.status in (429, 503):
        headers.append((b"retry-after", b"1"))
    if reply.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return headers


async def discard(receive: Receive) -> None:
    """Read some of what a refused client still sends.

    Closing a connection with unread bytes would also discard the answer on its way.
    """
    size = 0
    try:
        async with asyncio.timeout(DISCARDED_SECONDS):
            while size < DISCARDED_BYTES:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                size += len(message.get("body", b""))
    except TimeoutError:
        return
