"""An S3 server behind a proxy that can fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.s3.faulty_proxy import FaultyProxy
from tests.support.s3.server import S3Server, access


@pytest.fixture
def proxy(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """A proxy before the server; this process has the rights to use it."""
    proxy = FaultyProxy(s3_server.port)
    for name, value in access(proxy.port).items():
        monkeypatch.setenv(name, value)
    yield proxy
    proxy.close()
