"""Everything that fuzzing has found stays repaired: all findings are replayed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.finding import Finding, read_finding
from tests.fuzz.known_attacks import ATTACKS, Attack
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import allowed_seconds

FOLDER = Path(__file__).parent / "findings"
FINDINGS = {path.stem: read_finding(path) for path in sorted(FOLDER.glob("*.json"))}
TRIES = 3  # the fastest counts, because other tests run at the same time


class Targets:
    """One target of each kind, made when it is first needed."""

    def __init__(self) -> None:
        self._made: dict[str, Target] = {}

    def __getitem__(self, name: str) -> Target:
        if name not in self._made:
            self._made[name] = TARGETS[name]()
            self._made[name].run(self._made[name].seeds()[0])  # compiles the kernels
        return self._made[name]

    def close(self) -> None:
        for target in reversed(self._made.values()):
            target.close()


@pytest.fixture(scope="module")
def targets() -> Iterator[Targets]:
    made = Targets()
    yield made
    made.close()


def check(target: Target, data: bytes) -> None:
    """The input is accepted or refused as documented, within its time."""
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, on numbers that are odd on purpose
        for _ in range(TRIES):
            began = time.thread_time()
            target.run(data)
            seconds.append(time.thread_time() - began)
            if seconds[-1] <= allowed_seconds(len(data) * target.passes):
                return
    pytest.fail(f"{min(seconds):.1f} s for {len(data):,} bytes")


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=FINDINGS)
def test_a_finding_stays_repaired(finding: Finding, targets: Targets) -> None:
    check(targets[finding.target], finding.data)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name.replace(" ", "-"))
def test_a_known_attack_does_no_harm(attack: Attack, targets: Targets) -> None:
    check(targets[attack.target], attack.make())
