"""Configuration: what is accepted, what the environment changes, what is refused and how."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from consumers.cli import new_app
from consumers.config import kafka_settings, read_config
from consumers.logs import describe_settings
from consumers.section import Section
from consumers.settings import Config, ConfigError, KafkaSettings
from consumers.stream_settings import LaneSettings, StreamSettings
from tests.conftest import REPOSITORY

EXAMPLE = REPOSITORY / "consumers" / "example.toml"
SMALL = """
[[streams]]
name = "wire"
lanes = [{spec = "mmp:loss=1"}, {spec = "perceptron", publish = false}]
"""


def read(text: str, tmp_path: Path, **environment: str) -> Config:
    path = tmp_path / "wirerank.toml"
    path.write_text(text)
    return read_config(path, environment)


def test_the_example_is_valid_and_shows_the_defaults(tmp_path: Path) -> None:
    """Settings that the example comments out show their defaults."""
    config = read_config(EXAMPLE, {})
    text = EXAMPLE.read_text()
    for section in (config.snapshots, config.metrics, config.audit, config.streams[0]):
        for name, field in type(section).model_fields.items():
            shown_as = (f"{name} = ", f"# {name}.", f"[streams.{name}]")
            assert any(words in text for words in shown_as), name
            shown = f"# {name} = {field.default}"
            if isinstance(field.default, int | float) and not isinstance(field.default, bool):
                assert shown in text, shown
    for name in (*type(config.kafka).model_fields, *type(config.registry).model_fields):
        assert name in text, name


def test_topics_are_called_after_the_stream(tmp_path: Path) -> None:
    stream = read(SMALL, tmp_path).streams[0]
    topics = (*stream.documents, stream.blocks, stream.rankings, stream.dead_letters)
    assert topics == ("wire.documents", "wire.blocks", "wire.rankings", "wire.dead-letters")
    assert [lane.publish for lane in stream.lanes] == [True, False]
    assert stream.lanes[0].parsed.learner == "mmp"


def test_a_field_mapping_is_checked_at_the_start(tmp_path: Path) -> None:
    stream = '[[streams]]\nname = "wire"\nlanes = [{spec = "mmp"}]\n'
    config = read(
        stream + '[streams.fields]\nid = "@key"\n',
        tmp_path,
        WIRERANK__STREAMS__0__FIELDS__TOPICS="tags[].slug",
    )
    assert config.streams[0].fields == {"id": "@key", "topics": "tags[].slug"}
    mapping = config.streams[0].mapping
    assert mapping is not None
    assert mapping.sources["topics"][0].path.text == "tags[].slug"
    assert 'fields = {id = "@key", topics = "tags[].slug"}' in "\n".join(describe_settings(config))
    for fields, said in (
        ('titel = "x"', "streams.0: fields.titel: there is no such field; did you mean 'title'?"),
        ('text = "$.body"', "streams.0: fields.text: '$.body' is JSONPath; write 'body'."),
        ("id = []", "an event needs an id"),
    ):
        with pytest.raises(ConfigError) as refused:
            read(f"{stream}[streams.fields]\n{fields}\n", tmp_path)
        assert said in str(refused.value)
    with pytest.raises(ConfigError, match="leave out `fields`"):
        read(f'{stream}format = "ninjs"\n[streams.fields]\nid = "a"\n', tmp_path)


def test_the_environment_wins(tmp_path: Path) -> None:
    config = read(
        SMALL,
        tmp_path,
        WIRERANK__KAFKA__BOOTSTRAP="broker:9092",
        WIRERANK__STREAMS__0__TOP="3",
        WIRERANK__STREAMS__0__TOPICS='["a", "b"]',
        WIRERANK__STREAMS__0__LANES__1__PUBLISH="true",
        WIRERANK_SOMETHING="else",
    )
    assert config.kafka.bootstrap == "broker:9092"
    assert config.streams[0].top == 3
    assert config.streams[0].topics == ("a", "b")
    assert config.streams[0].lanes[1].publish


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("[kafka]\nbootstraps = 'x'\n", "kafka.bootstraps: there is no such setting; did you mean"),
        ("[kafak]\n", "kafak: there is no such setting; did you mean 'kafka'?"),
        ("[snapshots]\nkeep = 0\n", "snapshots.keep: Input should be greater than or equal to 1"),
        ("[kafka]\nsecurity_protocol = 'SASL_SSL'\n", "needs sasl_mechanism, sasl_username"),
        (
            "[kafka]\nsecurity_protocol = 'SASL_PLAINTEXT'\nsasl_mechanism = 'PLAIN'\n"
            "sasl_username = 'me'\nsasl_password = ''\n",
            "needs sasl_mechanism, sasl_username and sasl_password",
        ),
        ("[kafka]\nsasl_username = 'me'\n", "write SASL_SSL or SASL_PLAINTEXT"),
        (
            "[kafka]\nssl_cafile = 'ca.pem'\n",
            "ssl_cafile given, but security_protocol is PLAINTEXT",
        ),
        ("[kafka]\nsecurity_protocol = 'SSL'\nssl_keyfile = 'k'\n", "meaning without ssl_certfile"),
        (
            "[kafka]\nsecurity_protocol = 'SSL'\nssl_cafile = 'absent.pem'\n",
            "ssl_cafile = absent.pem cannot be read: No such file",
        ),
        ("[kafka\n", "is not valid TOML"),
    ],
)
def test_mistakes_are_explained(change: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        read(change + SMALL, tmp_path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mmp:loss=1", "mmp:loss=7", "must be one of 1, 2, 3. Got '7'"),
        ("mmp:loss=1", "perceptron", "two lanes are called 'perceptron'"),
        ('name = "wire"', 'nam = "wire"', "streams.0.name: must be given"),
        ('name = "wire"', 'name = "wire"\nprofil = "x"', "did you mean 'profile'?"),
        (
            'name = "wire"',
            'name = "wire"\nprofile = "news:letters=9"',
            "streams.0.profile: 'letters' of profile news must be auto, none, a length",
        ),
        (
            'name = "wire"',
            'name = "wire"\nblocks = "wire.documents"',
            "must be different Kafka topics",
        ),
        ('name = "wire"', 'name = "a b"', "streams.0.name"),
        ("publish", "publsh", "streams.0.lanes.1.publsh: there is no such setting; did you mean"),
        ("lanes = ", "lanes = [] #", "streams.0.lanes"),
        ("publish = false", "shards = 0", "streams.0.lanes.1.shards"),
        ('"perceptron"', '"feature-focus", shards = 2', "feature-focus cannot be divided"),
        ('"mmp:loss=1"', '"mmp:shards=2", shards = 2', "write one of the two"),
        ('"perceptron"', '"prank:ranks=5", shards = 2', "this learner learns ranks"),
        ('"perceptron"', '"prank:ranks=5,shards=2"', "this learner learns ranks"),
        ('"perceptron"', '"prank:ranks=1"', "ranks"),
        (
            '{spec = "mmp:loss=1"}',
            '{spec = "widrow-hoff:ranks=4"}, {spec = "prank"}',
            "Lane widrow-hoff:ranks=4 has 4 ranks and lane prank has 5. A document has one rank",
        ),
        (
            '{spec = "mmp:loss=1"}, {spec = "perceptron", publish = false}',
            '{spec = "mmp:loss=1", shards = 60}, {spec = "perceptron", shards = 60}',
            "can have 123 learners, counting lanes and shards, but has only 100 metrics ports",
        ),
    ],
)
def test_mistakes_in_a_stream_are_explained(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as error:
        read(SMALL.replace(old, new), tmp_path)
    assert message in str(error.value)
    assert not re.search(r"[^.]\.\.$", str(error.value), re.M)
    if "[]" not in new:
        assert "at least 1 item" not in str(error.value)


def test_topic_lanes_and_ordinal_lanes_go_together(tmp_path: Path) -> None:
    ordinal = "prank:ranks=9", "widrow-hoff:ranks=9,rate=0.1", "prank:ranks=9,kernel=poly2"
    lanes = "".join(f'{{spec = "{lane}"}}, ' for lane in ordinal)
    stream = read(SMALL.replace("lanes = [", f"lanes = [{lanes}"), tmp_path).streams[0]
    kinds = [lane.parsed.is_ordinal for lane in stream.lanes]
    assert kinds == [True, True, True, False, False]
    other = f'{SMALL}\n[[streams]]\nname = "stars"\nlanes = [{{spec = "prank:ranks=4"}}]\n'
    assert len(read(other, tmp_path).streams) == 2  # a stream has its own ranks


def test_two_streams_share_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two streams have the name 'wire'"):
        read(SMALL + SMALL, tmp_path)
    other = SMALL.replace('"wire"', '"other"\nrankings = "wire.rankings"')
    with pytest.raises(ConfigError, match=r"both use the Kafka topic 'wire\.rankings'"):
        read(SMALL + other, tmp_path)
    assert len(read(SMALL + SMALL.replace('"wire"', '"other"'), tmp_path).streams) == 2


def test_every_worker_has_a_port_of_its_own(tmp_path: Path) -> None:
    config = read(SMALL + SMALL.replace('"wire"', '"other"'), tmp_path)
    workers: list[tuple[Literal["learner", "tokenizer"], int]] = [("learner", 1)]
    workers.append(("tokenizer", 64))
    ports = [
        config.metrics.port_of(stream, role, str(instance))
        for stream in range(len(config.streams))
        for role, instances in workers
        for instance in range(instances)
    ]
    assert len(set(ports)) == len(ports) == 2 * 65
    assert config.metrics.port_of(0, "learner", "0") == config.metrics.port == 9610
    assert config.metrics.port_of(0, "tokenizer", "tokenizer-3") == 9713
    assert config.metrics.port_of(1, "tokenizer", "host") == 9910
    with pytest.raises(ConfigError, match="number the instances from 0"):
        config.metrics.port_of(0, "tokenizer", "100")
    free = read("[metrics]\nport = 0\n" + SMALL, tmp_path)
    assert free.metrics.port_of(0, "tokenizer", "7") == 0


def test_topics_are_shown_up_to_a_number_that_has_a_limit(tmp_path: Path) -> None:
    assert read(SMALL, tmp_path).metrics.topics == 0
    assert read("[metrics]\ntopics = 1000\n" + SMALL, tmp_path).metrics.topics == 1000
    with pytest.raises(ConfigError, match="less than or equal to 1000"):
        read("[metrics]\ntopics = 1001\n" + SMALL, tmp_path)


def test_workers_with_an_address_each_can_have_the_same_port(tmp_path: Path) -> None:
    """In a container the port is known before the worker is: to probes, and to Prometheus."""
    config = read("[metrics]\nport = 65500\nsame_port = true\n" + SMALL, tmp_path)
    assert config.metrics.port_of(0, "learner", "3") == 65500
    assert config.metrics.port_of(1, "tokenizer", "wirerank-5d4f7-x2k499") == 65500


def test_run_has_one_address_for_all_workers(tmp_path: Path) -> None:
    path = tmp_path / "wirerank.toml"
    path.write_text("[metrics]\nsame_port = true\n" + SMALL)
    result = CliRunner().invoke(new_app(), ["run", str(path)])
    assert result.exit_code == 2
    assert "leave it out, or set metrics.port = 0" in " ".join(result.stderr.split())


def test_ports_past_the_last_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="write a lower port, or 0"):
        read("[metrics]\nport = 65500\n" + SMALL, tmp_path)


def test_a_missing_file_points_to_the_example(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="`wirerank config --example` prints a file to start from"
    ):
        read_config(tmp_path / "absent.toml", {})


@pytest.mark.parametrize(
    "name", ["WIRERANK__STREAMS__5__TOP", "WIRERANK__STREAMS", "WIRERANK__X__Y"]
)
def test_environment_that_leads_nowhere_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read(SMALL, tmp_path, **{name: "3"})


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    sasl = (
        "[kafka]\nsecurity_protocol = 'SASL_SSL'\nsasl_mechanism = 'PLAIN'\nsasl_username = 'me'\n"
    )
    config = read(sasl + SMALL, tmp_path, WIRERANK__KAFKA__SASL_PASSWORD="hunter2")
    assert config.kafka.sasl_password is not None
    assert config.kafka.sasl_password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(config)
    assert "hunter2" not in config.model_dump_json()
    with pytest.raises(ConfigError) as error:
        read(f"{sasl}sasl_password = ['hunter2']\n{SMALL}", tmp_path)
    assert "kafka.sasl_password: Input should be a valid string" in str(error.value)
    assert "hunter2" not in str(error.value)
    with pytest.raises(ValidationError) as unexplained:
        KafkaSettings.model_validate({"sasl_password": "hunter2"})
    assert "hunter2" not in str(unexplained.value)


@pytest.mark.parametrize("password", ["12345", "true", "7 # seven", "'quoted'", "[1]"])
def test_a_password_in_the_environment_is_taken_to_the_letter(
    password: str, tmp_path: Path
) -> None:
    sasl = "[kafka]\nsecurity_protocol = 'SASL_PLAINTEXT'\nsasl_mechanism = 'PLAIN'\n"
    given = {"WIRERANK__KAFKA__SASL_PASSWORD": password, "WIRERANK__KAFKA__SASL_USERNAME": "007"}
    for kafka in (
        read(sasl + SMALL, tmp_path, **given).kafka,
        kafka_settings(
            "127.0.0.1:9092",
            {
                **given,
                "WIRERANK__KAFKA__SECURITY_PROTOCOL": "SASL_PLAINTEXT",
                "WIRERANK__KAFKA__SASL_MECHANISM": "PLAIN",
            },
        ),
    ):
        assert kafka.sasl_password is not None
        assert kafka.sasl_password.get_secret_value() == password
        assert kafka.sasl_username == "007"


def test_settings_cannot_be_changed_later(tmp_path: Path) -> None:
    for section in (read(SMALL, tmp_path), read(SMALL, tmp_path).streams[0]):
        assert isinstance(section, Section)
        assert section.model_config["frozen"]
    assert issubclass(StreamSettings, Section)
    assert issubclass(LaneSettings, Section)


def test_deep_nesting_is_explained(tmp_path: Path) -> None:
    """In the file and in the environment, where a value that is no TOML is a string."""
    path = tmp_path / "deep.toml"
    path.write_text("topics = " + "[" * 5000)
    with pytest.raises(ConfigError, match="nested too deep"):
        read_config(path, {})
    path.write_text("")
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap"):
        read_config(path, {"WIRERANK__KAFKA__BOOTSTRAP__X": "[" * 5000})


DIGITS = "9" * 5000  # more than `int` takes


def test_numbers_of_thousands_of_digits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"not valid TOML: Exceeds the limit"):
        read(f"[metrics]\nport = {DIGITS}\n{SMALL}", tmp_path)
    with pytest.raises(ConfigError, match=r"metrics\.port"):
        read(SMALL, tmp_path, WIRERANK__METRICS__PORT=DIGITS)


@pytest.mark.parametrize(
    "setting",
    ["top", "max_terms", "min_df", "max_topics", "max_pending", "max_pending_bytes"],
)
def test_numbers_that_arrays_cannot_have_are_refused(setting: str, tmp_path: Path) -> None:
    """They passed the check, and a worker failed later."""
    with pytest.raises(ConfigError, match=rf"streams\.0\.{setting}: Input should be less"):
        read(SMALL, tmp_path, **{f"WIRERANK__STREAMS__0__{setting.upper()}": "9" * 20})


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e-300", "0", "1e300"])
def test_snapshots_have_a_possible_interval(seconds: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"snapshots\.every_seconds: Input should be"):
        read(f"[snapshots]\nevery_seconds = {seconds}\n{SMALL}", tmp_path)


def test_a_device_is_no_configuration() -> None:
    """Its content would have filled the memory."""
    with pytest.raises(ConfigError, match="/dev/zero has more than 1,048,576 bytes"):
        read_config(Path("/dev/zero"), {})


def test_paths_with_a_null_byte_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"snapshots\.folder: .*null byte"):
        read(f'[snapshots]\nfolder = "a\\u0000b"\n{SMALL}', tmp_path)
    with pytest.raises(ConfigError, match=r"ssl_cafile = .*null byte"):
        read(f'[kafka]\nsecurity_protocol = "SSL"\nssl_cafile = "a\\u0000b"\n{SMALL}', tmp_path)


def test_a_password_that_is_not_text_is_refused_and_not_shown(tmp_path: Path) -> None:
    """Encoding it would be an error later, and such an error holds the whole password."""
    with pytest.raises(ConfigError, match="SASL_PASSWORD is not valid UTF-8") as error:
        read(SMALL, tmp_path, WIRERANK__KAFKA__SASL_PASSWORD="sword\udcfffish")
    assert "sword" not in str(error.value)


@pytest.mark.parametrize("format_", ["avro", "json-schema"])
def test_a_stream_with_schemas_needs_a_registry(format_: str, tmp_path: Path) -> None:
    text = SMALL + f'format = "{format_}"\nlabels = "labels"\n'
    with pytest.raises(
        ConfigError, match=r'write its address: \[registry\] url = "http://127'
    ) as e:
        read(text, tmp_path)
    assert f"stream wire reads {format_}" in str(e.value)
    config = read(
        text,
        tmp_path,
        WIRERANK__REGISTRY__URL="http://registry:8081/",
        WIRERANK__REGISTRY__USER="007",
        WIRERANK__REGISTRY__PASSWORD="# swordfish",
    )
    assert config.registry.url == "http://registry:8081"
    assert config.registry.user == "007"
    assert config.registry.password is not None
    assert config.registry.password.get_secret_value() == "# swordfish"
    assert config.streams[0].label_format == format_
    lines = "\n".join(describe_settings(config))
    assert 'registry: url = "http://registry:8081", user = "007", password = "****' in lines
    assert "swordfish" not in lines


def test_labels_with_schemas_need_a_registry(tmp_path: Path) -> None:
    text = SMALL + 'label_format = "avro"\n'
    assert not read(text, tmp_path).streams[0].needs_registry  # there is no topic of labels
    with pytest.raises(ConfigError, match="write its address"):
        read(text + 'labels = "labels"\n', tmp_path)
    assert read(SMALL, tmp_path).streams[0].label_format == "wirerank"


def test_protobuf_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Protobuf is not supported; have the producer write"):
        read(SMALL + 'format = "protobuf"\n', tmp_path)
