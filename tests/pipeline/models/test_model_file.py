"""The file of a model: old or new after any crash, and refused if any byte is wrong."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.errors import UsageError
from pipeline.models.model import model_of
from pipeline.models.model_file import read_model, read_whole, write_model
from pipeline.snapshots.folder import KIND, VERSION
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError, pack
from tests.support.command_line import wirerank
from tests.support.saved_runs import refused, run, write_lines

EVENTS = [b'{"id":1,"text":"wheat","topics":["grain"]}', b'{"id":2,"text":"oil"}', b"{"]
OLD = Path(__file__).parent / "data" / "format-1.model"


@pytest.fixture
def source() -> str:
    return write_lines("e.jsonl", EVENTS)


@pytest.fixture
def model(source: str) -> Path:
    run(source, "--lane", "mmp", "--save", "a.model", "--quiet")
    return Path("a.model")


def test_every_flipped_byte_is_noticed(model: Path) -> None:
    good = model.read_bytes()
    read_model(model)
    for place in range(len(good)):
        for bit in (1, 0x80):
            model.write_bytes(good[:place] + bytes([good[place] ^ bit]) + good[place + 1 :])
            with pytest.raises((DamagedError, UsageError), match=r"a\.model"):
                read_model(model)


def test_every_truncation_is_noticed(model: Path) -> None:
    good = model.read_bytes()
    for length in range(len(good)):
        model.write_bytes(good[:length])
        with pytest.raises((DamagedError, UsageError), match=r"a\.model"):
            read_model(model)
    model.write_bytes(good + b"\0")
    with pytest.raises(DamagedError, match="checksum"):
        read_model(model)


def test_messages_say_what_is_wrong(source: str, model: Path) -> None:
    good = model.read_bytes()
    model.write_bytes(good[:-8])
    assert "a.model is damaged: its checksum" in refused(source, "--resume", "a.model", code=1)
    model.write_bytes(b"")
    assert "a.model is empty" in refused(source, "--resume", "a.model", code=1)
    model.write_bytes(good[:9])
    assert "a.model is cut off" in refused(source, "--resume", "a.model", code=1)
    assert "is not a model: it begins with b'{\"id'" in refused(source, "--resume", source)
    assert "cannot be read: No such file" in refused(source, "--resume", "none.model")
    Path("folder").mkdir()
    assert "is not a file" in refused(source, "--resume", "folder")


def test_the_snapshot_of_a_worker_cannot_be_resumed(source: str, model: Path) -> None:
    snapshot = read_whole(model)
    del snapshot.content["model"]
    write_model(model, snapshot)
    message = refused(source, "--resume", "a.model")
    assert "is the snapshot of a worker" in message
    assert "wirerank rank" in message


def test_newer_formats_name_the_release_that_reads_them(source: str, model: Path) -> None:
    snapshot = read_whole(model)
    snapshot.content["model"].update(format=2, release="9.8")
    write_model(model, snapshot)
    assert "written by Wirerank 9.8" in refused(source, "--resume", "a.model", code=1)
    model.write_bytes(pack(KIND, VERSION + 1, snapshot.content, snapshot.arrays))
    assert "use Wirerank 9.8" in refused(source, "--resume", "a.model", code=1)


def test_models_of_the_first_format_are_read() -> None:
    """The file was written when the format was new. It must be readable for ever."""
    model = read_model(OLD)
    assert [lane.name for lane in model.lanes] == ["mmp", "feature-focus", "both", "prank"]
    source = write_lines("e.jsonl", [b'{"id":"n","text":"wheat oil","topics":["crude"],"rank":2}'])
    run(source, "--resume", str(OLD), "--rankings", "r.jsonl", "--report", "r.json")
    first = orjson.loads(Path("r.jsonl").read_bytes().splitlines()[0])
    assert first["round"] == 5
    assert {entry["topic"] for entry in first["ranking"]} == {"grain", "crude", "ship"}
    assert orjson.loads(Path("r.json").read_bytes())["mmp"]["rounds"] == 6


def odd_values(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield places in JSON, each with a value that is strange there."""
    values: list[Any] = [None, -1, 1.5, "x", [], {"a": []}, 2**70, True]
    for odd in values:
        if odd != value:
            yield path, odd
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from odd_values(inner, (*path, key))


def test_strange_content_is_damage_and_never_a_crash(model: Path) -> None:
    snapshot = read_whole(model)
    accepted = set[str]()
    for path, odd in odd_values(snapshot.content["model"]):
        content = deepcopy(snapshot.content)
        place, keys = content, ("model", *path)
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = odd
        with suppress(DamagedError, UsageError):
            model_of(Snapshot(content, snapshot.arrays, "a.model"))
            accepted.add(".".join(path))
    free = {"release", "events.fields", "rankings", "dead_letters", "shards", "of"}
    digests = {"read.digest", "read.first_digest", "read.events"}
    assert accepted <= free | digests | {"dead_letters.not_json"}


def test_a_model_keeps_its_mode_and_is_for_the_group(model: Path) -> None:
    assert stat.S_IMODE(model.stat().st_mode) & 0o137 == 0
    model.chmod(0o600)
    write_model(model, read_whole(model))
    assert stat.S_IMODE(model.stat().st_mode) == 0o600


STEPS = ("open", "fchmod", "fsync", "replace")


@pytest.mark.parametrize("step", STEPS)
def test_an_error_at_any_step_keeps_the_old_model(
    model: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, snapshot = model.read_bytes(), read_whole(model)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(OSError, match="No space left"):
            write_model(model, snapshot)
    assert model.read_bytes() == before
    assert sorted(os.listdir()) == sorted(["a.model", "e.jsonl", "wirerank-dead-letters.jsonl"])


class DyingFile:
    """A file whose process dies at its n-th write, after half of it."""

    def __init__(self, file: Any, die: Callable[[], bool]) -> None:  # noqa: ANN401
        self._file, self._die = file, die

    def write(self, data: bytes) -> int:
        if self._die():
            self._file.write(bytes(data)[: len(data) // 2])
            self._file.flush()
            os._exit(9)
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._file, name)

    def __enter__(self) -> DyingFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def save_and_die(model: Path, snapshot: Snapshot, step: int) -> bool:
    """Save in a child that dies at the given step, as by `kill -9`; whether it got that far."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status) == 9
    steps = iter(range(10**6))

    def die() -> bool:
        return next(steps) == step

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            if die():
                os._exit(9)
            result = call(*arguments, **options)
            if die():
                os._exit(9)
            return result

        return wrapped

    try:
        fdopen = os.fdopen
        for name in ("open", "fchmod", "fsync", "replace"):
            setattr(os, name, dying(getattr(os, name)))
        os.fdopen = lambda *a, **k: DyingFile(fdopen(*a, **k), die)  # type: ignore[assignment]
        write_model(model, snapshot)
    except BaseException:
        os._exit(1)
    os._exit(0)


def test_a_death_at_any_step_leaves_the_old_model_or_the_new_one(model: Path) -> None:
    old, snapshot = model.read_bytes(), read_whole(model)
    snapshot.content["documents"] += 1
    write_model(Path("new.model"), snapshot)
    new = Path("new.model").read_bytes()
    seen, step = list[bytes](), 0
    while save_and_die(model, snapshot, step):
        seen.append(model.read_bytes())
        assert seen[-1] in (old, new)
        step += 1
    assert step > 20
    assert seen == sorted(seen, key=lambda data: data == new)
    assert {old, new} == set(seen)
    write_model(model, snapshot)  # and removes what the dead have left
    assert not [name for name in os.listdir() if name.endswith(".partial")]


def test_the_temporary_file_of_another_process_stays(model: Path) -> None:
    """Two runs that save to the same file do not take each other's file away."""
    other = Path(f".a.model.{'0' * 16}.partial")
    with other.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_model(model, read_whole(model))
        assert other.exists()
    write_model(model, read_whole(model))
    assert not other.exists()


def test_a_model_can_be_inspected(model: Path) -> None:
    shown = wirerank("inspect", str(model))
    assert shown.exit_code == 0
    assert "a replay, saved by Wirerank" in shown.output
    facts = orjson.loads(wirerank("inspect", str(model), "--json").output)
    assert facts["model"]["events_read"] == 3
    assert facts["model"]["dead_letters"] == 1
    assert facts["lanes"]["mmp"]["published"] is None
