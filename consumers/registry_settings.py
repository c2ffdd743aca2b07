"""The settings of the Schema Registry: where it is, and how to log in."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from consumers.section import SecretsSection
from consumers.tls import client_context

EXAMPLE = "http://127.0.0.1:8081"


class RegistrySettings(SecretsSection):
    """A registry with the HTTP interface of the Confluent Schema Registry."""

    url: str = ""
    user: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    ssl_cafile: Path | None = None
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None
    ssl_password: SecretStr | None = None
    ssl_password_file: Path | None = None
    timeout_seconds: Annotated[float, Field(ge=0.1, le=30)] = 10.0

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.url.lower().startswith("https:")

    def tls_context(self) -> ssl.SSLContext | None:
        """The TLS context, read again from its files, which may have been renewed."""
        if not self.uses_tls:
            return None
        password = self.secret("ssl_password")
        return client_context(self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile, password)

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        if not value:
            return value
        try:
            parts = urlsplit(value)
            port = parts.port
        except ValueError:
            raise ValueError(f"this is no address; write for instance {EXAMPLE}") from None
        if "@" in parts.netloc:
            raise ValueError(
                "an address has no user and password here; write them as user and password of "
                "[registry], or set WIRERANK__REGISTRY__PASSWORD"
            )
        if parts.scheme.lower() not in ("http", "https") or not parts.hostname or port == 0:
            raise ValueError(f"expected an address of HTTP, such as {EXAMPLE}")
        if parts.query or parts.fragment or not (value.isascii() and value.isprintable()):
            raise ValueError(f"expected an address without ?, # and blanks, such as {EXAMPLE}")
        if " " in value:
            raise ValueError(f"expected an address without blanks, such as {EXAMPLE}")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _check_access(self) -> RegistrySettings:
        given = [name for name, value in self if name != "timeout_seconds" and value is not None]
        if not self.url and given != ["url"]:
            raise ValueError(f'url must be given; write for instance url = "{EXAMPLE}"')
        has_password = bool({"password", "password_file"} & set(given))
        if (self.user is None) == has_password:
            raise ValueError("user and password belong together; write both, or neither")
        if self.user is not None and ":" in self.user:
            raise ValueError("user must not have a colon")
        named = [name for name in given if name.startswith("ssl_")]
        if named and not self.uses_tls:
            raise ValueError(f"{' and '.join(named)} given, but url does not begin with https:")
        if self.ssl_certfile is None and named not in ([], ["ssl_cafile"]):
            raise ValueError("ssl_keyfile and ssl_password have no meaning without ssl_certfile")
        self.tls_context()
        return self
