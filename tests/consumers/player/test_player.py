"""Playing a source into a topic: what is written, exactly once, at which pace; and refusals."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import time
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from consumers.cli import new_app
from consumers.config import kafka_settings
from consumers.kafka.clients import new_admin, partition_of
from consumers.player.replay_progress import MOST_IN_FLIGHT
from consumers.settings import ConfigError
from pipeline.corpora import open_source
from tests.support.command_line import wirerank
from tests.support.player_topic import PlayedTopic, once_and_in_order

EVENTS = [
    b'{"id": "a", "text": "wheat"}',
    b'{"id": 7, "text": "oil",   "topics": ["crude"]}',  # spaces and all
    b"rubbish \xff",
    b'{"id": "a", "topics": ["grain"]}',
    b'{"id": "b", "text": 42}',
    b'{"id": "\\u00fc", "text": "tin", "time": "1987-02-26T15:01:01Z"}',
]


@pytest.fixture
def topic(broker: str) -> PlayedTopic:
    return PlayedTopic(broker)


def write(path: Path, events: list[bytes]) -> str:
    path.write_bytes(b"".join(event + b"\n" for event in events))
    return str(path)


def test_a_round_trip(topic: PlayedTopic, tmp_path: Path) -> None:
    """Events are unchanged, ids are keys, late labels follow their documents."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n\n".join(EVENTS))
    result = topic.play(str(path))
    assert result.exit_code == 0, result.stderr
    assert f"created {topic.name} with 4 partitions" in result.stderr
    assert "written 6, in the topic already 0" in result.stderr
    once_and_in_order(topic, EVENTS)
    by_number = topic.by_number()
    keys = [by_number[number].key for number in range(6)]
    assert keys == [b"a", b"7", None, b"a", None, "ü".encode()]
    for number, message in by_number.items():
        expected = number % 4 if message.key is None else partition_of(message.key, 4)
        assert message.partition == expected
        assert abs(message.timestamp / 1000 - time.time()) < 60  # not 1987: it would be deleted


def test_the_new_topic_keeps_everything(topic: PlayedTopic) -> None:
    assert topic.play("synthetic:10").exit_code == 0
    admin: Any = new_admin(topic.kafka)
    (described,) = admin.describe_configs(
        [ConfigResource(ConfigResourceType.TOPIC, topic.name)], config_filter="all"
    ).values()
    admin.close()
    values = {name: setting["value"] for name, setting in described[topic.name].items()}
    assert (values["retention.ms"], values["retention.bytes"]) == ("-1", "-1")


def test_keys_go_where_other_clients_send_them() -> None:
    """The values come from the tests of murmur2 in Apache Kafka."""
    hashes = {"21": -973932308, "foobar": -790332482, "abc": 479470107}
    for key, hashed in hashes.items():
        assert partition_of(key.encode(), 1000) == (hashed & 0x7FFFFFFF) % 1000


def test_the_same_command_goes_on(topic: PlayedTopic, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    assert topic.play(write(path, EVENTS[:4]), "--limit", "2").exit_code == 0
    result = topic.play(str(path))
    assert "in the topic already: 2 events; continuing" in result.stderr
    assert "written 2, in the topic already 2" in result.stderr
    result = topic.play(str(path))
    assert result.exit_code == 0
    assert "all events are in the topic already; --pass 2 plays it again" in result.stderr
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    assert topic.play(write(moved / "grown.jsonl", EVENTS)).exit_code == 0
    once_and_in_order(topic, EVENTS)
    assert topic.play(str(path), "--limit", "3", "--quiet").stderr == ""


def test_a_second_pass(topic: PlayedTopic, tmp_path: Path) -> None:
    path = write(tmp_path / "events.jsonl", EVENTS)
    for number in (1, 2, 2):
        assert topic.play(path, "--pass", str(number)).exit_code == 0
    values = [value for records in topic.played() for _, value in records]
    assert sorted(filter(None, values)) == sorted(2 * EVENTS)


def test_a_source_that_changed_is_refused(topic: PlayedTopic, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    topic.play(write(path, EVENTS))
    for changed, how in (
        ([EVENTS[0], b"x", *EVENTS[2:], b"more"], "differs at event 2 or before"),
        (EVENTS[:3], "has 3 events, and 6 are in the topic"),
    ):
        result = topic.play(write(path, changed))
        assert result.exit_code == 2
        assert how in result.stderr
        assert "with --pass 2" in result.stderr
    once_and_in_order(topic, EVENTS)


def test_standard_input_is_played_as_it_comes(topic: PlayedTopic) -> None:
    with topic.start("-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for number, event in enumerate(EVENTS[:3], 1):
            process.stdin.write(event + b"\n")
            process.stdin.flush()
            topic.wait_for(number, process)
        process.stdin.close()
        assert process.wait(30) == 0
    once_and_in_order(topic, EVENTS[:3])


def test_kill_at_any_moment(topic: PlayedTopic) -> None:
    """kill -9 again and again, while others write too: every event once, and in order."""
    rng = random.Random(5)
    source = "synthetic:1000000"
    foreign = 0
    for _ in range(3):
        before = topic.size()
        with topic.start(source) as process:
            topic.wait_for(before + 1, process)
            time.sleep(rng.random() / 4)
            process.kill()
            process.wait(30)
        strangers = [b"stranger"] * rng.randrange(1, 30)
        topic.write(strangers, rng.randrange(4), [("source", b"elsewhere"), ("index", b"7")])
        foreign += len(strangers)
    limit = topic.size() - foreign + MOST_IN_FLIGHT + 1000  # beyond whatever was on its way
    result = topic.play(source, "--limit", str(limit))
    assert result.exit_code == 0, result.stderr
    assert re.search(
        rf"in the topic already: [\d,]+ of {limit:,} events; continuing", result.stderr
    )
    once_and_in_order(topic, list(islice(open_source(source), limit)))
    assert topic.size() == limit + foreign


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(number: int, topic: PlayedTopic, tmp_path: Path) -> None:
    events = [
        b'{"id": 1, "text": "x", "time": "1987-02-26T15:00:00Z"}',
        b'{"id": 2, "text": "y", "time": "1987-02-26T19:00:00Z"}',
    ]
    path = write(tmp_path / "events.jsonl", events)
    with topic.start(path, "--speed", "2x") as process:
        topic.wait_for(1, process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 128 + number
    output = errors.decode()
    assert "the next event has the time 1987-02-26T19:00:00Z; it is written in 7,200 s" in output
    assert "stopped; in the topic now: 1 event. The same command continues from there." in output
    assert "Traceback" not in output
    assert topic.play(path).exit_code == 0
    once_and_in_order(topic, events)


def test_pacing(topic: PlayedTopic, tmp_path: Path) -> None:
    """No event is early; one whose time is not later than the time before is written at once."""
    clocks = ("10:00:00", "10:01:00", "10:00:30", None, "10:01:30")
    events = [
        orjson.dumps({"id": n, "text": "x", "time": clock and f"1987-02-26T{clock}Z"})
        for n, clock in enumerate(clocks)
    ]
    started = time.time()
    assert topic.play(write(tmp_path / "e.jsonl", events), "--speed", "60x").exit_code == 0
    once_and_in_order(topic, events)
    times = {number: message.timestamp for number, message in topic.by_number().items()}
    assert times[1] / 1000 - started >= 0.98  # the first one may be late itself
    assert times[4] / 1000 - started >= 1.48
    assert times[4] - max(times[1], times[2], times[3]) >= 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--kafka x:1", "--kafka needs --topic NAME"),
        ("--topic t", "--topic needs --kafka"),
        ("--speed max", "--speed needs --kafka"),
        ("--until-ranked", "--until-ranked needs --kafka"),
        ("--pass 2", "--pass needs --kafka"),
        ("--kafka x:1 --topic t --lane mmp", "--lane cannot be combined with --kafka"),
        ("--kafka x:1 --topic t --report r.json", "--report cannot be combined with --kafka"),
        ("--kafka x:1 --topic t --top 10", "--top cannot be combined with --kafka"),
        ("--kafka x:1 --topic t --speed 60", "--speed must be max, or a factor such as 60x"),
        ("--kafka x:1 --topic t --speed 0x", "--speed must be max, or a factor such as 60x"),
        ("--kafka x:1 --topic a/b", "--topic must be 1 to 249 letters"),
        ("--kafka x:1 --topic t --format rss", "--format must be one of"),
    ],
)
def test_mistakes_are_explained(arguments: str, message: str) -> None:
    result = wirerank("replay", "synthetic:5", *arguments.split(), app=new_app())
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_source_is_explained(topic: PlayedTopic) -> None:
    result = topic.play("absent.jsonl")
    assert result.exit_code == 2
    assert "absent.jsonl does not exist" in result.stderr


def test_a_damaged_source_is_played_up_to_the_damage(topic: PlayedTopic, tmp_path: Path) -> None:
    import gzip

    events = [b'{"id": %d, "text": "%d"}' % (n, hash(n * n)) for n in range(5000)]
    whole = gzip.compress(b"".join(event + b"\n" for event in events))
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(whole[:-5000])
    result = topic.play(str(path))
    assert result.exit_code == 1
    assert "damaged or cut off" in result.stderr
    assert 0 < topic.size() < 5000
    path.write_bytes(whole)
    assert topic.play(str(path)).exit_code == 0
    once_and_in_order(topic, events)


def test_the_environment_says_how_to_reach_the_broker() -> None:
    environment = {
        "WIRERANK__KAFKA__SECURITY_PROTOCOL": "SASL_SSL",
        "WIRERANK__KAFKA__SASL_MECHANISM": "PLAIN",
        "WIRERANK__KAFKA__SASL_USERNAME": "me",
        "WIRERANK__KAFKA__SASL_PASSWORD": "hunter2",
        "WIRERANK__KAFKA__BOOTSTRAP": "elsewhere:9092",
        "WIRERANK__STREAMS__0__NAME": "no matter",
    }
    kafka = kafka_settings("here:9092", environment)
    assert kafka.bootstrap == "here:9092"
    assert kafka.sasl_password is not None
    assert kafka.sasl_password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(kafka)
    del environment["WIRERANK__KAFKA__SASL_USERNAME"]
    with pytest.raises(ConfigError, match="needs sasl_mechanism, sasl_username") as error:
        kafka_settings("here:9092", environment)
    assert "hunter2" not in str(error.value)
    with pytest.raises(ConfigError, match=r"did you mean 'ssl_cafile'\?"):
        kafka_settings("here:9092", {"WIRERANK__KAFKA__SSL_CAFIL": "x"})
