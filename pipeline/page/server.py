"""Serves the live page, from a thread beside the run: on this machine, unless configured otherwise.

Nothing is loaded from the network: plotly's script comes from the installed package. Clients are
not trusted. Requests that name another host are refused, the content of documents is data and never
markup, and a client that does not send its request or does not read its answer is dropped.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import re
import secrets
import socket
import threading
from pathlib import Path
from types import TracebackType

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.access import Access, is_loopback
from pipeline.errors import UsageError
from pipeline.page.feed import PageFeed
from pipeline.page.updates import run_header, update_since

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
OPEN = Access()
STATIC = Path(__file__).parent / "static"
PATIENCE_SECONDS = 20.0  # before a client that does nothing is dropped
CONNECTIONS = 100
STYLE_ID = re.compile(rb'document\.getElementById\("([0-9a-f]{64})"\)')
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class RequireAccess:
    """Refuses requests without the token; a browser asks its user for a password and sends it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on the requests of those who know the token."""
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        # Certificates were checked when the connection was made.
        if scope["type"] == "http" and not self._access.permits(given, has_certificate=True):
            text = "This page needs its token: as the password of any user, or as a bearer token."
            challenge = {"www-authenticate": 'Basic realm="Wirerank", charset="UTF-8"'}
            await Response(text, 401, challenge)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class SecurityHeaders:
    """Adds headers that let the browser run only the page's own scripts, and cache nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to every response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY)
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        await self._app(scope, receive, send_with_headers)


def plotly_script() -> Path:
    """Return the path of the script in the plotly package."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("plotly is not installed: pip install 'wirerank[page]'")
    return Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js"


def page_html(script: Path) -> bytes:
    """Return the page, prepared for the plotly script at this path.

    The script carries a map library that adds a style element when it is loaded, unless the page
    has an element with the id of these styles. The page's policy blocks such an element, which is
    an error in the browser's console. An empty template with the id keeps the script from trying.
    """
    ids = STYLE_ID.findall(script.read_bytes())
    templates = b"\n  ".join(b'<template id="%b"></template>' % name for name in dict.fromkeys(ids))
    return (STATIC / "page.html").read_bytes().replace(b"<!-- STYLE IDS OF PLOTLY -->", templates)


def page_app(feed: PageFeed, host: str = HOST, access: Access = OPEN) -> Starlette:
    """Return the application: the page, its files, and the updates."""
    run = secrets.token_hex(8)  # a browser that showed an earlier run starts over
    script = plotly_script()
    html = page_html(script)

    async def page(request: Request) -> Response:
        return Response(html, media_type="text/html")

    async def plotly(request: Request) -> Response:
        return FileResponse(script, media_type="text/javascript")

    async def updates(request: Request) -> Response:
        since = request.query_params.get("since", "0")
        if not (since.isascii() and since.isdigit() and len(since) < 16):
            return Response("`since` must be the version that was seen last, a whole number.", 400)
        sample = feed.sample
        seen = int(since) if request.query_params.get("run") == run else 0
        if seen < sample.begun:
            seen = 0  # what the browser has is of other lanes
        if seen >= sample.version:
            return Response(status_code=204, headers={"cache-control": "no-store"})
        update = {"run": run, **update_since(sample, seen)}
        if seen == 0:
            update["heading"] = run_header(sample)
        return Response(
            orjson.dumps(update, default=tuple),
            media_type="application/json",
            headers={"cache-control": "no-store"},
        )

    async def fault(request: Request, error: Exception) -> Response:
        log.error("the page failed to answer %s", request.url.path, exc_info=error)
        return Response("The page failed. The log of the run has the details.", 500)

    return Starlette(
        exception_handlers={Exception: fault},
        routes=[
            Route("/", page),
            Route("/updates", updates),
            Route("/plotly.min.js", plotly),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(SecurityHeaders),
            # A foreign page whose host name resolves to this machine must not read documents. At
            # other addresses clients use any name, and a foreign page does not have the token.
            Middleware(
                TrustedHostMiddleware,
                allowed_hosts=[HOST, "localhost"] if is_loopback(host) else ["*"],
            ),
            Middleware(RequireAccess, access=access),
        ],
    )


class ImpatientProtocol(H11Protocol):
    """HTTP that closes a connection without a request after some time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request."""
        super().connection_made(transport)
        self._be_patient()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._patience.cancel()
        super().connection_lost(exc)

    def _be_patient(self) -> None:
        self._patience = self.loop.call_later(PATIENCE_SECONDS, self._lose_patience)

    def _lose_patience(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
        else:
            self._be_patient()


def listening_socket(port: int, host: str = HOST) -> socket.socket:
    """Return a socket; the system drops clients that do not read."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        where = "" if host == HOST else f" of {host}"
        raise UsageError(
            f"The page cannot be served at port {port}{where}: {os.strerror(error.errno or 0)}. "
            "Choose another port with --page-port, or leave the option out to get a free port."
        ) from None
    # Or the second part of an answer waits until the client has confirmed the first: 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listening.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * PATIENCE_SECONDS)
    )
    return listening


class PageServer:
    """Serves the page of a feed while the context lasts."""

    def __init__(
        self, feed: PageFeed, port: int = 0, host: str = HOST, access: Access = OPEN
    ) -> None:
        self._socket = listening_socket(port, host)
        name = f"[{host}]" if ":" in host else host
        scheme = "http" if access.tls is None else "https"
        self.address = f"{scheme}://{name}:{self._socket.getsockname()[1]}/"
        config = uvicorn.Config(
            page_app(feed, host, access), http=ImpatientProtocol, ws="none", lifespan="off",
            loop="asyncio",
            log_config=None, log_level="critical", access_log=False, server_header=False,
            proxy_headers=False, limit_concurrency=CONNECTIONS,
            timeout_keep_alive=round(PATIENCE_SECONDS), timeout_graceful_shutdown=1,
        )  # fmt: skip
        config.load()
        config.ssl = access.tls
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="page", daemon=True
        )

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        return len(self._server.server_state.connections)

    def __enter__(self) -> PageServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=5)
        self._socket.close()
