"""The settings of the broker: where it is, TLS, and how a worker proves who it is (SASL)."""

from __future__ import annotations

import ssl
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from consumers.section import SecretsSection
from consumers.tls import client_context

# What each mechanism needs, by the beginning of the names of settings, and the package it uses.
PASSWORD, OAUTH, KERBEROS = ("sasl_username", "sasl_password"), "oauth_", "kerberos_"
PACKAGES = {"GSSAPI": "gssapi", "AWS_MSK_IAM": "botocore"}
LOOPBACK_HOSTS = {"127.0.0.1", "localhost", "::1"}


class KafkaSettings(SecretsSection):
    """How to reach the broker, and how many replicas new topics get."""

    bootstrap: str = "127.0.0.1:9092"
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ssl_cafile: Path | None = None
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None
    ssl_password: SecretStr | None = None
    ssl_password_file: Path | None = None
    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"]
        | None
    ) = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    sasl_password_file: Path | None = None
    oauth_token_file: Path | None = None
    oauth_token_url: str | None = None
    oauth_client_id: str | None = None
    oauth_client_secret: SecretStr | None = None
    oauth_client_secret_file: Path | None = None
    oauth_scope: str | None = None
    oauth_cafile: Path | None = None
    kerberos_service_name: str | None = None
    kerberos_domain_name: str | None = None
    replication_factor: Annotated[int, Field(ge=1, le=10)] = 1

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.security_protocol in {"SSL", "SASL_SSL"}

    def tls_context(self) -> ssl.SSLContext:
        """The TLS context, read again from its files, which may have been renewed."""
        password = self.secret("ssl_password")
        return client_context(self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile, password)

    def _given(self, *beginnings: str) -> list[str]:
        """The settings that are given, of those whose names begin so."""
        names = [name for name in type(self).model_fields if name.startswith(beginnings)]
        return [name for name in names if getattr(self, name) is not None]

    @field_validator("oauth_token_url")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        if value is None:
            return value
        try:
            parts = urlsplit(value)
        except ValueError:
            raise ValueError("this is no address; write for instance https://login/token") from None
        is_local = parts.hostname in LOOPBACK_HOSTS
        if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
            raise ValueError("expected an address that begins with https:, which keeps the secret")
        if "@" in parts.netloc or not parts.hostname or not value.isascii() or " " in value:
            raise ValueError(
                "expected an address without a user; write oauth_client_id and oauth_client_secret"
            )
        return value

    @model_validator(mode="after")
    def _check_tls(self) -> KafkaSettings:
        named = self._given("ssl_")
        if named and not self.uses_tls:
            raise ValueError(
                f"{' and '.join(named)} given, but security_protocol is {self.security_protocol}; "
                "write SSL or SASL_SSL"
            )
        if self.ssl_certfile is None and self._given("ssl_keyfile", "ssl_password"):
            raise ValueError("ssl_keyfile and ssl_password have no meaning without ssl_certfile")
        if self.uses_tls:
            self.tls_context()
        return self

    @model_validator(mode="after")
    def _check_sasl(self) -> KafkaSettings:
        uses_sasl = self.security_protocol.startswith("SASL")
        given = self._given("sasl_", OAUTH, KERBEROS)
        if given and not uses_sasl:
            raise ValueError(
                "sasl settings are given, but security_protocol is "
                f"{self.security_protocol}; write SASL_SSL or SASL_PLAINTEXT"
            )
        if not uses_sasl:
            return self
        if self.sasl_mechanism in {"OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"}:
            self._check_other_mechanism()
        elif not (self.sasl_mechanism and self.sasl_username and self._has_password()):
            raise ValueError(
                f"security_protocol {self.security_protocol} needs sasl_mechanism, sasl_username "
                "and sasl_password"
            )
        elif self._given(OAUTH, KERBEROS):
            named = " and ".join(self._given(OAUTH, KERBEROS))
            raise ValueError(f"{named} given, but sasl_mechanism is {self.sasl_mechanism}")
        return self

    def _has_password(self) -> bool:
        """Whether there is a password, or a file of one; an empty password is none."""
        is_empty = self.sasl_password is not None and not self.sasl_password.get_secret_value()
        return bool(self._given("sasl_password")) and not is_empty

    def _check_other_mechanism(self) -> None:
        mechanism = self.sasl_mechanism or ""
        allowed = {"OAUTHBEARER": (OAUTH,), "GSSAPI": (KERBEROS,)}.get(mechanism, ())
        foreign = set(self._given(*PASSWORD, OAUTH, KERBEROS)) - set(self._given(*allowed, "-"))
        if foreign:
            named = " and ".join(sorted(foreign))
            raise ValueError(f"{named} given, but sasl_mechanism is {mechanism}")
        if mechanism == "OAUTHBEARER":
            self._check_oauth()
        package = PACKAGES.get(mechanism)
        if package is not None and find_spec(package) is None:
            raise ValueError(
                f"sasl_mechanism {mechanism} needs the Python package {package}, which is not "
                f"installed: pip install {package}"
            )
        if mechanism == "AWS_MSK_IAM" and self.security_protocol != "SASL_SSL":
            raise ValueError("sasl_mechanism AWS_MSK_IAM needs security_protocol SASL_SSL")

    def _check_oauth(self) -> None:
        endpoint = (self.oauth_token_url, self.oauth_client_id)
        has_secret = bool(self._given("oauth_client_secret"))
        named = self._given("oauth_")
        if self.oauth_token_file is not None and named != ["oauth_token_file"]:
            raise ValueError("oauth_token_file stands alone: leave out the other oauth_ settings")
        if self.oauth_token_file is None and not (all(endpoint) and has_secret):
            raise ValueError(
                "sasl_mechanism OAUTHBEARER needs oauth_token_file, or oauth_token_url with "
                "oauth_client_id and oauth_client_secret (better: oauth_client_secret_file)"
            )
        if self.oauth_cafile is not None:
            client_context(self.oauth_cafile, None, None, None)
