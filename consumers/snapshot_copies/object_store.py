"""The object store that snapshots are copied to: the few operations that are needed, with timeouts.

An object appears whole or not at all: S3, Google Cloud Storage and Azure show an object only when
its upload is complete, in one request or in several. A folder (`file://`) is written to a temporary
file that is renamed.

Users and passwords come from the environment of the process, where the tools of each store look for
them. They are never part of an address here, and never logged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

MAX_OBJECTS = 100_000  # below one address
CHUNK_BYTES = 8 << 20  # of an upload in parts; also the size of a read
CONCURRENT_PARTS = 2
HOW_TO_INSTALL = "install the extra: pip install 'wirerank[object-store]'"
MAX_CHARACTERS = 300
# Set to `true`, one of these allows an address of the store without TLS.
ALLOW_HTTP = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP")


class StoreError(Exception):
    """The store does not answer, or refuses; the message has no secrets."""


class MissingClientError(StoreError):
    """The package that speaks to object stores is not installed."""


class StoredObject(NamedTuple):
    """An object below the address of a store."""

    key: str
    size: int


class ObjectStore:
    """Objects below an address such as `s3://bucket/prefix`."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            import obstore  # noqa: PLC0415 - an extra
            from obstore.store import from_url  # noqa: PLC0415
        except ImportError:
            raise MissingClientError(f"copy_to = {url!r} needs obstore; {HOW_TO_INSTALL}") from None
        self._obstore = obstore
        # Uploads are tried again by their thread, which also knows when a newer snapshot is there.
        client: ClientConfig = {
            "connect_timeout": timedelta(seconds=10),
            "timeout": timedelta(seconds=60),
            "user_agent": "wirerank",
            "allow_http": any(os.environ.get(name, "").lower() == "true" for name in ALLOW_HTTP),
        }
        retry: RetryConfig = {"max_retries": 1, "retry_timeout": timedelta(seconds=30)}
        try:
            if url.startswith("file:"):
                self._store = from_url(url, mkdir=True)
            else:
                self._store = from_url(url, client_options=client, retry_config=retry)
        except (obstore.exceptions.BaseError, ValueError, OSError) as error:
            raise StoreError(f"{url}: {without_details(error)}") from None

    def put(self, key: str, path: Path) -> None:
        """Copy a file; afterwards the object is there as a whole."""
        with self._errors(key), path.open("rb") as file:
            self._obstore.put(
                self._store, key, file, chunk_size=CHUNK_BYTES, max_concurrency=CONCURRENT_PARTS
            )

    def objects(self, prefix: str) -> list[StoredObject]:
        """The objects whose keys begin with a prefix that ends in a slash."""
        found: list[StoredObject] = []
        with self._errors(prefix):
            for page in self._obstore.list(self._store, prefix=prefix):
                found += [StoredObject(meta["path"], meta["size"]) for meta in page]
                if len(found) > MAX_OBJECTS:
                    raise StoreError(f"{self.url}/{prefix} has more than {MAX_OBJECTS:,} objects")
        return found

    def read_into(
        self, key: str, file: IO[bytes], size: int, alive: Callable[[], None] = lambda: None
    ) -> None:
        """Write the content of an object to a file, but not more than `size` bytes.

        `alive` is called for every part of the object.
        """
        with self._errors(key):
            written = 0
            for chunk in self._chunks(key):
                written += len(chunk)
                if written > size:
                    raise StoreError(f"{self.url}/{key} is longer than the {size:,} bytes listed")
                file.write(chunk)
                alive()

    def _chunks(self, key: str) -> Iterator[memoryview]:
        for chunk in self._obstore.get(self._store, key).stream(min_chunk_size=CHUNK_BYTES):
            yield memoryview(chunk)

    def delete(self, key: str) -> None:
        """Delete an object; it is no error if it is not there."""
        with self._errors(key):
            try:
                self._obstore.delete(self._store, key)
            except (FileNotFoundError, self._obstore.exceptions.NotFoundError):
                return

    def _errors(self, key: str) -> Errors:
        return Errors(f"{self.url}/{key}", self._obstore.exceptions.BaseError)


class Errors:
    """Turns the errors of a store into `StoreError`."""

    def __init__(self, what: str, kind: type[Exception]) -> None:
        self._what = what
        self._kinds = (kind, OSError, ValueError)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._kinds) and not isinstance(error, StoreError):
            raise StoreError(f"{self._what}: {without_details(error)}") from None


def without_details(error: BaseException) -> str:
    """The first line of an error, without the answer of the server, which may name keys.

    >>> without_details(ValueError("403: <Error><AWSAccessKeyId>AK</AWSAccessKeyId></Error>"))
    '403:'
    """
    lines = str(error).split("<", 1)[0].strip().splitlines() or [type(error).__name__]
    return lines[0][:MAX_CHARACTERS].strip()
