"""The settings of a server that others may reach: its address, who may ask, and its certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

from pydantic import SecretStr, model_validator

from consumers.section import SecretsSection
from pipeline.access import Access, checked_token, is_loopback, server_tls
from pipeline.errors import UsageError


class AccessSettings(SecretsSection):
    """Where a server listens, and what its clients need."""

    host: str = "127.0.0.1"
    token: SecretStr | None = None
    token_file: Path | None = None
    tls_certfile: Path | None = None
    tls_keyfile: Path | None = None
    tls_client_cafile: Path | None = None
    allow_without_token: bool = False

    @property
    def verify_mode(self) -> ssl.VerifyMode:
        """Whether a client without a certificate is turned away before it can ask."""
        return ssl.CERT_REQUIRED

    def access(self) -> Access:
        """What clients need, with the files as they are now."""
        token, tls = self.secret("token"), None
        if self.tls_certfile is not None:
            tls = server_tls(
                self.tls_certfile, self.tls_keyfile, self.tls_client_cafile, self.verify_mode
            )
        return Access(
            None if token is None else checked_token(token.encode(), "token"),
            tls,
            self.tls_client_cafile is not None,
        )

    @property
    def scheme(self) -> str:
        """The scheme of the addresses of the server."""
        return "http" if self.tls_certfile is None else "https"

    @model_validator(mode="after")
    def _check_access(self) -> AccessSettings:
        if self.tls_certfile is None and (self.tls_keyfile or self.tls_client_cafile):
            raise ValueError(
                "tls_keyfile and tls_client_cafile have no meaning without tls_certfile"
            )
        try:
            access = self.access()
        except UsageError as error:
            raise ValueError(str(error)) from None
        if not access.is_protected and not is_loopback(self.host) and not self.allow_without_token:
            raise ValueError(
                f"others can reach host = {self.host}, so a token is needed: write token_file, or "
                "tls_client_cafile for certificates of clients. If only a private network or a "
                "network policy lets clients reach it, write allow_without_token = true"
            )
        return self
