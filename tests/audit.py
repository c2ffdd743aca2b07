"""`make audit`: are the dependencies what the locks say, may they be used, and are they known bad?

The first part needs no network: every locked version has hashes, the locks agree with each other
and with pyproject.toml, every installed package is a locked one, and its licence is in a list. The
second part asks a service for known vulnerabilities. The exit code is 1 for a problem, and 3 if the
service cannot be asked, so that silence is never taken for safety.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

import orjson
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parent.parent
LOCKS = {
    name: REPOSITORY / "locks" / f"{name}.txt"
    for name in ("experiments", "dev", "bench", "deploy", "audit")
}
EXTRAS = {
    "experiments": ("experiments", "page"),
    "dev": ("experiments", "page", "object-store", "dev"),
    "deploy": ("page", "object-store"),
}
PROBLEM, NOT_ASKED = 1, 3
NOT_LOCKED = {"pip", "wirerank"}  # what installs, and what is installed from here
LICENCES = {
    "0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0",
    "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib", "LLVM-exception",
}  # fmt: skip
# Allowed for these only: a library that is loaded, not changed.
MORE_LICENCES = {"crc32c": {"LGPL-2.1-or-later"}}
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
SPELLINGS = {"Apache 2.0": "Apache-2.0"}  # of packages that state no SPDX expression
PINNED = re.compile(
    r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?: ; [^\\\n]*)?( ?(?:\\\n +--hash=sha256:[0-9a-f]{64} ?)*)"
)


@dataclass(frozen=True, slots=True)
class Locked:
    """A package in a lock."""

    name: str
    version: str
    hashes: int


def read_lock(text: str) -> list[Locked]:
    """Return the packages of a lock; ValueError for anything that is not a pinned package."""
    packages = []
    for entry in re.split(r"\n(?=[^ #\n])", text.strip()):
        match = PINNED.match(entry)
        if match is None or match.end() != len(entry.rstrip()):
            raise ValueError(f"expected name==version and its hashes, found {entry[:60]!r}")
        name = canonicalize_name(match[1])
        packages.append(Locked(name, match[2], match[3].count("--hash")))
    return packages


def lock_problems(locks: Mapping[str, list[Locked]]) -> Iterator[str]:
    """Yield what is wrong with the locks, by themselves and compared with each other."""
    versions: dict[str, str] = {}
    for name, packages in locks.items():
        for package in packages:
            if not package.hashes:
                yield f"{name}: {package.name} has no hash; run `make lock`"
            known = versions.setdefault(package.name, package.version)
            if known != package.version:
                yield f"{name}: {package.name} is {package.version}, in another lock {known}"


def project_problems(locks: Mapping[str, list[Locked]]) -> Iterator[str]:
    """Yield the dependencies in pyproject.toml that a lock lacks, or has in another version."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for name, extras in EXTRAS.items():
        wanted = list(project["dependencies"])
        for extra in extras:
            wanted += project["optional-dependencies"][extra]
        versions = {package.name: package.version for package in locks[name]}
        for text in wanted:
            need = Requirement(text)
            version = versions.get(canonicalize_name(need.name))
            if version is None or not need.specifier.contains(version):
                yield f"{name}: pyproject.toml wants {text}, locked is {version}; run `make lock`"


def installed_problems(
    locks: Mapping[str, list[Locked]], installed: Mapping[str, Distribution]
) -> Iterator[str]:
    """Yield installed packages that are not locked, or whose licence is not in the list."""
    versions = {p.name: p.version for packages in locks.values() for p in packages}
    for name, package in installed.items():
        if name not in NOT_LOCKED and versions.get(name) != package.version:
            yield f"{name} {package.version} is installed, the locks have {versions.get(name)}"
        licence = licence_of(package)
        words = set(re.findall(r"[\w.-]+", licence)) - {"AND", "OR", "WITH"}
        if not words or not words <= LICENCES | MORE_LICENCES.get(name, set()):
            yield f"{name}: its licence {licence[:60]!r} is not in the list of {__name__}"


def licence_of(package: Distribution) -> str:
    """Return the licence of a package as it says itself, as an SPDX expression if it is one."""
    about = package.metadata
    for expression in about.get_all("License-Expression") or []:
        return str(expression)
    stated = str(next(iter(about.get_all("License") or [""]))).strip()
    if stated in LICENCES | {"LGPL-2.1-or-later"}:
        return stated
    for classifier in about.get_all("Classifier") or []:
        last = classifier.rpartition(" :: ")[2]
        if classifier.startswith("License") and last in CLASSIFIERS:
            return CLASSIFIERS[last]
    return SPELLINGS.get(stated, stated)


def offline_problems() -> list[str]:
    """Return everything that is wrong and can be told without a network."""
    try:
        locks = {name: read_lock(path.read_text()) for name, path in LOCKS.items()}
    except ValueError as error:
        return [str(error)]
    found = {str(canonicalize_name(d.metadata["Name"])): d for d in distributions()}
    return [*lock_problems(locks), *project_problems(locks), *installed_problems(locks, found)]


def vulnerabilities(answer: bytes) -> tuple[list[str], list[str]]:
    """Return the known vulnerabilities in pip-audit's answer, and the packages it cannot judge."""
    known, unknown = [], []
    for package in orjson.loads(answer)["dependencies"]:
        if "skip_reason" in package:
            unknown.append(package["name"])
        for found in package.get("vulns", ()):
            fixed = ", ".join(found["fix_versions"]) or "no version yet"
            known.append(f"{package['name']} {package['version']}: {found['id']}, fixed in {fixed}")
    return known, unknown


def ask_service() -> tuple[list[str], str]:
    """Return the known vulnerabilities, and why not everything could be asked (empty: it could)."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    command += ["--disable-pip", "--require-hashes"]
    for path in LOCKS.values():
        command += ["--requirement", str(path)]
    done = subprocess.run(command, capture_output=True, check=False)
    try:
        known, unknown = vulnerabilities(done.stdout)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no answer"]
        return [], lines[-1][:300]
    why = f"it knows nothing about {len(unknown)} packages, such as {unknown[0]}" if unknown else ""
    return known, why


def main() -> int:
    """Print every problem; returns the exit code."""
    problems = offline_problems()
    for problem in problems:
        print(problem)
    if not problems:
        print("locks, installed versions and licences: no problem")
    known, why = ask_service()
    for vulnerability in known:
        print(vulnerability)
    if why:
        print(f"known vulnerabilities were NOT checked: the service cannot be asked ({why})")
    elif not known:
        print("known vulnerabilities: none")
    if problems or known:
        return PROBLEM
    return NOT_ASKED if why else 0


if __name__ == "__main__":
    sys.exit(main())
