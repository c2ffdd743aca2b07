"""What a user writes: lane specs, sources, configuration files and the environment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random

from consumers.config import kafka_settings, read_config
from consumers.settings import ConfigError
from learners.options import OptionError
from learners.specs import LEARNERS, options_of, parse_spec, resolved
from pipeline.corpora.registry import open_source, size_for, source_path
from pipeline.corpora.source import SourceError
from pipeline.errors import UsageError
from pipeline.events.event import MalformedEvent, parse_event
from tests.fuzz.mutation import blown_up, mutate_bytes, mutate_text
from tests.fuzz.target import Broken, Target, kind_of, scratch_folder
from tests.fuzz.values import CHARACTERS

EXAMPLE = Path(__file__).resolve().parents[3] / "consumers" / "example.toml"
FULL = """
[kafka]
bootstrap = "broker:9092"
security_protocol = "SASL_PLAINTEXT"
sasl_mechanism = "PLAIN"
sasl_username = "me"
sasl_password = "swordfish"
replication_factor = 3
[snapshots]
folder = "~/snapshots"
every_seconds = 1.5
keep = 2
[metrics]
host = "127.0.0.1"
port = 9610
topics = 3
[[streams]]
name = "wire"
documents = "wire.documents"
blocks = "wire.blocks"
partitions = 4
format = "ninjs"
profile = "reuters21578"
topics = ["a", "b"]
top = 5
block = 100
max_event_bytes = 5000
max_terms = 1000
lanes = [{ spec = "mmp:loss=1" }, { spec = "perceptron", publish = false, shards = 2 }]
"""
NUMBERS = (
    "0",
    "1",
    "-1",
    "1e308",
    "nan",
    "inf",
    "99999999999999999999",
    "0.5",
    "1_000",
    "\u0661",
    "true",
)


class TextInput(Target):
    """Inputs are UTF-8 text."""

    words: Sequence[str] = CHARACTERS

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        text = mutate_text(
            rng, data.decode("utf-8", "replace"), other.decode("utf-8", "replace"), self.words
        )
        return text.encode("utf-8", "replace")

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return blown_up(rng, data, self.largest).decode("utf-8", "replace").encode()

    def repair(self, data: bytes) -> bytes:
        return data.decode("utf-8", "replace").encode()


class LaneSpecs(TextInput):
    """Specs of lanes, and the learners built from them: `learners/specs.py`."""

    name = "lane-specs"
    largest = 1 << 18

    def __init__(self) -> None:
        names = sorted({option.name for learner in LEARNERS for option in options_of(learner)})
        self.words = (
            *(f"{name}=" for name in names),
            *LEARNERS,
            *NUMBERS,
            *CHARACTERS,
            "l2",
            "poly2",
        )

    def seeds(self) -> Sequence[bytes]:
        texts = [
            f"{learner}:"
            + ",".join(f"{o.name}={o.default}" for o in options_of(learner) if o.default != "")
            for learner in LEARNERS
        ]
        texts += [
            "mmp:loss=3,average=true,norm=l2,name=champion",
            "mmp:kernel=poly2,budget=9",
            "mmp:shards=3",
        ]
        texts += ["svm-map:of=[mmp,frequency],refit=6,window=12,name=stacked", *LEARNERS]
        return [text.encode() for text in texts]

    def run(self, data: bytes) -> str:
        text = data.decode("utf-8", "surrogatepass")
        try:
            spec = parse_spec(text)
            resolved([parse_spec("mmp"), parse_spec("frequency"), spec])
        except OptionError as error:
            return kind_of(error)
        if parse_spec(text) != spec:
            raise Broken("a spec means two things")
        if len(text) % 16 == 0 and spec.shards == 1:
            spec.build()
        return f"{spec.learner} {len(spec.options)}"


class SourceTexts(TextInput):
    """Sources as they are named on the command line: `pipeline/corpora/registry.py`."""

    name = "source-texts"
    largest = 1 << 16
    share = 0.2
    words = (
        "synthetic:", "letor:", "trec:", "text:", "rcv1:", "movielens:", "newsgroups:",
        "reuters21578:", ",classes=", ",topics=", ",seed=", ",drift=", ",split=", ",labels=",
        ",nth=", ",user=", ",order=", ",normalise=", ",depth=", ".jsonl", ".gz", "*", "**", "?",
        "~", *NUMBERS, *CHARACTERS,
    )  # fmt: skip

    def __init__(self) -> None:
        self._folder = scratch_folder()
        self._home = Path.cwd()
        os.chdir(self._folder.name)
        Path("events.jsonl").write_text('{"id": 1, "text": "x"}\n')
        Path("words.txt").write_text("It is a truth. Universally acknowledged.")
        Path("qrels").write_text("1 0 d1 1\n")
        Path("run").write_text("1 Q0 d1 1 0.5 tag\n")

    def seeds(self) -> Sequence[bytes]:
        texts = (
            "synthetic:3", "synthetic:4,topics=5,seed=3,drift=0.5", "synthetic:5,classes=7,seed=1",
            "events.jsonl", "text:words.txt", "text:*.txt", "trec:run,qrels",
            "trec:run,qrels,depth=2,normalise=minmax", "letor:run",
        )  # fmt: skip
        return [text.encode() for text in texts]

    def run(self, data: bytes) -> str:
        # Nothing outside of the folder is opened, and standard input is not read.
        text = data.decode("utf-8", "surrogateescape").replace("/", "_").replace("..", "_")
        if text == "-" or "~" in text:
            return "not tried"
        try:
            source_path(text)
            size_for(text)
            source = open_source(text)
            raw = list(islice(source, 3))
        except (SourceError, UsageError) as error:
            str(error).encode("utf-8", "replace")
            return kind_of(error)
        for event in raw:
            try:
                parse_event(event)
            except MalformedEvent as error:
                if text.partition(":")[0] in ("synthetic", "text"):
                    raise Broken(f"a corpus made an event that is refused: {error}") from None
        return f"{type(source).__name__} {len(raw)}"

    def close(self) -> None:
        os.chdir(self._home)
        self._folder.cleanup()


class Configuration(TextInput):
    """Configuration files and the environment: `consumers/config.py`."""

    name = "configuration"
    share = 0.1
    largest = 1 << 18

    def __init__(self) -> None:
        self._folder = scratch_folder()
        self._path = Path(self._folder.name) / "wirerank.toml"
        lines = FULL.splitlines() + EXAMPLE.read_text().splitlines()
        self.words = (
            *lines,
            *NUMBERS,
            *CHARACTERS,
            "[[streams]]\n",
            "mmp:loss=1",
            "SSL",
            "'''",
            '"""',
            "{ ",
            " }",
        )

    def seeds(self) -> Sequence[bytes]:
        environment = "\x00KAFKA__BOOTSTRAP=b:1\x00STREAMS__0__PROFILE=reuters21578"
        return [FULL.encode(), EXAMPLE.read_bytes(), (FULL + environment).encode()]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        if rng.random() < 0.2:
            return mutate_bytes(rng, data, other)
        return super().mutate(rng, data, other)

    def repair(self, data: bytes) -> bytes:
        return data

    def run(self, data: bytes) -> str:
        # The file, then settings of the environment, with zero bytes between them.
        text, *settings = data.split(b"\x00")
        self._path.write_bytes(text)
        given = (one.decode("utf-8", "surrogateescape").partition("=") for one in settings)
        environment = {f"WIRERANK__{name}": value for name, _, value in given}
        try:
            config = read_config(self._path, environment)
        except ConfigError as error:
            message = str(error)
            given_once = data.count(b"swordfish") == data.count(b'sasl_password = "swordfish"') == 1
            if given_once and "swordfish" in message:
                raise Broken("a message shows a password") from None
            return kind_of(ConfigError(message.partition(":")[2]))
        with suppress(ConfigError):
            kafka_settings("b:1", environment)
        if not config.streams:
            raise Broken("a configuration without streams is accepted")
        return f"ok {len(config.streams)} {sum(len(s.lanes) for s in config.streams)}"

    def close(self) -> None:
        self._folder.cleanup()
