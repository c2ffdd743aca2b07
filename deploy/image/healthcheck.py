"""The health check of the image: exit code 0 if the process answers at `WIRERANK_HEALTH_URL`.

A learner answers at port 9610, tokenizer 0 at 9710, `serve` at its port, each below `/healthz`.
"""

from __future__ import annotations

import os
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

SECONDS = 4.0
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def problem(url: str) -> str | None:
    """Say what is wrong with the process that serves `url`; None if nothing is."""
    address = urllib.parse.urlsplit(url)
    if address.scheme not in {"http", "https"} or address.hostname not in LOOPBACK:
        return f"WIRERANK_HEALTH_URL is {url!r}; expected an HTTP address on loopback"
    # The process is asked on loopback, where its certificate has no name that could be compared.
    context = ssl._create_unverified_context() if address.scheme == "https" else None  # noqa: S323
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        *([urllib.request.HTTPSHandler(context=context)] if context else []),
    )
    try:
        with opener.open(url, timeout=SECONDS) as answer:
            answer.read()
    except (OSError, urllib.error.HTTPError) as error:
        return f"{url}: {error}"
    return None


if __name__ == "__main__":
    found = problem(os.environ.get("WIRERANK_HEALTH_URL", "http://127.0.0.1:9610/healthz"))
    if found is not None:
        sys.exit(found)
