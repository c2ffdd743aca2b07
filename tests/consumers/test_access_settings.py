"""The settings of access: what is refused, secrets in files, and that no secret is shown."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from consumers import kafka_settings
from consumers.config import read_config
from consumers.kafka.security import security_options
from consumers.logs import describe_settings, log_settings
from consumers.settings import Config, ConfigError

TOKEN = "a-token-for-a-test"  # noqa: S105
STREAM = '\n[[streams]]\nname = "wire"\nlanes = [{spec = "mmp:loss=1"}]\n'
SASL = 'security_protocol = "SASL_PLAINTEXT"\nsasl_mechanism = '
OAUTH = f'{SASL}"OAUTHBEARER"\n'


def configuration(folder: Path, text: str, **environment: str) -> Config:
    path = folder / "wirerank.toml"
    path.write_text(text + STREAM)
    return read_config(path, environment)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file of a secret."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text(f"{TOKEN}\n")
    (tmp_path / "secret").chmod(0o600)
    return tmp_path


@pytest.mark.parametrize("section", ["metrics", "page"])
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "somewhere"])  # noqa: S104
def test_beyond_loopback_something_must_protect(folder: Path, section: str, host: str) -> None:
    open_ = f'[{section}]\nhost = "{host}"\n'
    with pytest.raises(ConfigError, match=r"so a token is needed: .*allow_without_token = true"):
        configuration(folder, open_)
    for more in ('token_file = "secret"', "allow_without_token = true", f'token = "{TOKEN}"'):
        configuration(folder, open_ + more)
    configuration(folder, open_, **{f"WIRERANK__{section.upper()}__TOKEN": TOKEN})


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.9"])
def test_this_machine_needs_no_token(folder: Path, host: str) -> None:
    assert configuration(folder, f'[metrics]\nhost = "{host}"\n').metrics.access().token is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[metrics]\ntoken = 'short'", "16 to 1,024 printable"),
        ("[metrics]\ntoken = 'a-token-for-a-test'\ntoken_file = 'secret'", "both given"),
        ("[metrics]\ntoken_file = 'absent'", "token_file = absent cannot be read: No such file"),
        ("[metrics]\ntls_keyfile = 'key'", "no meaning without tls_certfile"),
        ("[metrics]\ntls_certfile = 'secret'", "without a password, cannot be read"),
        ("[kafka]\nsasl_password_file = 'secret'", "security_protocol is PLAINTEXT"),
        (f"[kafka]\n{SASL}'PLAIN'", "needs sasl_mechanism, sasl_username and sasl_password"),
        (f"[kafka]\n{OAUTH}", "needs oauth_token_file, or oauth_token_url with"),
        (f"[kafka]\n{OAUTH}sasl_username = 'x'\noauth_token_file = 'secret'", "sasl_username giv"),
        (f"[kafka]\n{OAUTH}oauth_token_file = 'secret'\noauth_scope = 'x'", "stands alone"),
        (f"[kafka]\n{OAUTH}oauth_token_url = 'http://login.example/token'", "begins with https:"),
        (f"[kafka]\n{OAUTH}oauth_token_url = 'https://a:b@login.example'", "without a user"),
        (f"[kafka]\n{SASL}'AWS_MSK_IAM'", r"SASL_SSL|package botocore"),
        ("[registry]\nurl = 'http://r'\npassword_file = 'secret'", "belong together"),
    ],
)
def test_what_is_refused(folder: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        configuration(folder, text)
    assert TOKEN not in str(error.value)


def test_secrets_come_from_files_and_are_read_again(folder: Path) -> None:
    text = (
        f"[kafka]\n{SASL}'PLAIN'\nsasl_username = 'u'\nsasl_password_file = 'secret'\n"
        "[registry]\nurl = 'http://r'\nuser = 'u'\npassword_file = 'secret'\n"
        "[metrics]\ntoken_file = 'secret'\n"
    )
    config = configuration(folder, text)
    assert config.kafka.secret("sasl_password") == TOKEN
    assert config.registry.secret("password") == TOKEN
    assert config.metrics.access().token == TOKEN.encode()
    (folder / "secret").write_text("a-new-token-for-a-test")
    assert config.kafka.secret("sasl_password") == "a-new-token-for-a-test"
    assert TOKEN not in "\n".join(describe_settings(config))


def test_a_secret_that_everybody_can_read_is_warned_of(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = configuration(folder, "[metrics]\ntoken_file = 'secret'\n")
    with caplog.at_level(logging.WARNING):
        log_settings(config)
        assert caplog.text == ""
        (folder / "secret").chmod(0o644)
        log_settings(config)
    assert "every user of this machine can read the secret in secret: chmod o-r it" in caplog.text


def test_the_other_mechanisms(folder: Path) -> None:
    endpoint = (
        "oauth_token_url = 'https://login.example/token'\noauth_client_id = 'wirerank'\n"
        "oauth_client_secret_file = 'secret'\n"
    )
    for more in (endpoint, "oauth_token_file = 'secret'\n"):
        kafka = configuration(folder, f"[kafka]\n{OAUTH}{more}").kafka
        assert kafka.sasl_mechanism == "OAUTHBEARER"


@pytest.mark.parametrize(
    ("mechanism", "package"), [("GSSAPI", "gssapi"), ("AWS_MSK_IAM", "botocore")]
)
def test_a_mechanism_whose_package_is_missing_names_it(
    folder: Path, mechanism: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_settings, "find_spec", lambda name: None)
    text = f"[kafka]\n{SASL}'{mechanism}'\n"
    with pytest.raises(ConfigError, match=f"not installed: pip install {package}"):
        configuration(folder, text)


def test_the_settings_of_other_mechanisms_reach_the_client(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as it can be tested without Kerberos and AWS: the packages count as installed."""
    monkeypatch.setattr(kafka_settings, "find_spec", lambda name: name)
    kerberos = f"[kafka]\n{SASL}'GSSAPI'\nkerberos_domain_name = 'broker.example'\n"
    options = security_options(configuration(folder, kerberos).kafka)
    assert options["sasl_mechanism"] == "GSSAPI"
    assert options["sasl_kerberos_service_name"] == "kafka"
    assert options["sasl_kerberos_domain_name"] == "broker.example"
    with pytest.raises(ConfigError, match="AWS_MSK_IAM needs security_protocol SASL_SSL"):
        configuration(folder, f"[kafka]\n{SASL}'AWS_MSK_IAM'\n")
    tls = "[kafka]\nsecurity_protocol = 'SASL_SSL'\nsasl_mechanism = 'AWS_MSK_IAM'\n"
    options = security_options(configuration(folder, tls).kafka)
    assert options["sasl_mechanism"] == "AWS_MSK_IAM"
    assert "sasl_plain_password" not in options
