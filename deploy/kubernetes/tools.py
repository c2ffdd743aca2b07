"""Helm and the schemas of Kubernetes, which are fetched once into a cache folder.

Helm renders the chart. The schemas say what an API server would accept, for several versions of
Kubernetes, and for the objects of other projects. All versions are pinned. Go checks its modules
against the public checksum database, and pip checks the hash that is written here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

HELM = "3.22.0"
OLDEST_HELM = (3, 17)  # the first with the function fromToml
# The oldest that the chart allows, the newest that is known, and some between.
KUBERNETES = ("1.28", "1.30", "1.32", "1.34", "1.37")
SCHEMAS = "kubernetes-validate==1.37.0"
SCHEMAS_HASH = "sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9"
# Where other projects have the definitions of their objects, in modules of Go.
DEFINITIONS = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
    ),
    "github.com/kedacore/keda/v2@v2.21.0": ("config/crd/bases/keda.sh_scaledobjects.yaml",),
}
HOW_TO_FETCH = "run `make kubernetes-tools` (it needs Go, PyPI and Go's module proxy)"


class ToolUnavailableError(Exception):
    """A tool is not there, or cannot be fetched; the message says what to do."""


def home() -> Path:
    """Return the cache folder: `WIRERANK_KUBERNETES_HOME`, or one in the user's cache folder."""
    if named := os.environ.get("WIRERANK_KUBERNETES_HOME"):
        return Path(named).expanduser().absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "wirerank" / "kubernetes"


def helm() -> str:
    """Return the Helm to run: the one on the path if it is new enough, else the fetched one."""
    if installed := shutil.which("helm"):
        shown = run([installed, "version", "--short"])
        version = re.search(r"v(\d+)\.(\d+)", shown)
        if version and (int(version[1]), int(version[2])) >= OLDEST_HELM:
            return installed
    fetched = helm_folder() / "helm"
    if not fetched.exists():
        oldest = ".".join(map(str, OLDEST_HELM))
        raise ToolUnavailableError(f"no Helm {oldest} or newer: {HOW_TO_FETCH}, or install Helm")
    return str(fetched)


def schema_of_kubernetes(version: str) -> Path:
    """Return the file with the strict JSON schemas of a version of Kubernetes."""
    return fetched_file(schemas_folder() / f"{version}.json")


def custom_definitions() -> list[Path]:
    """Return the definitions of the objects that the chart uses of other projects."""
    names = [Path(path).name for paths in DEFINITIONS.values() for path in paths]
    return [fetched_file(definitions_folder() / name) for name in names]


def fetched_file(path: Path) -> Path:
    """Return a file of the cache folder; raises ToolUnavailableError if it is not there."""
    if not path.exists():
        raise ToolUnavailableError(f"no {path}: {HOW_TO_FETCH}")
    return path


def helm_folder() -> Path:
    """The folder of the fetched Helm."""
    return home() / f"helm-{HELM}"


def schemas_folder() -> Path:
    """The folder of the schemas of Kubernetes."""
    return home() / f"schemas-{SCHEMAS.partition('==')[2]}-{'-'.join(KUBERNETES)}"


def definitions_folder() -> Path:
    """The folder of the definitions of other projects."""
    versions = [module.rpartition("@")[2] for module in DEFINITIONS]
    return home() / "-".join(["definitions", *versions])


def fetch() -> None:
    """Fetch what is not there yet."""
    complete(helm_folder(), build_helm)
    complete(schemas_folder(), fetch_schemas)
    complete(definitions_folder(), fetch_definitions)


def complete(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder if it does not exist; only a complete folder gets its name."""
    if folder.exists():
        return
    print(f"Fetching {folder} ...", file=sys.stderr, flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as name:
        partial = Path(name) / "complete"
        partial.mkdir()
        fill(partial)
        partial.rename(folder)


def build_helm(folder: Path) -> None:
    """Build Helm from its module; this takes some minutes."""
    command = [go(), "install", "-trimpath", "-ldflags=-s -w", f"helm.sh/helm/v3/cmd/helm@v{HELM}"]
    run(command, {"GOBIN": str(folder), "GOFLAGS": "-buildvcs=false"})


def fetch_schemas(folder: Path) -> None:
    """Fetch a package with the schemas of many versions, and keep the ones that are used."""
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "wanted.txt"
        wanted.write_text(f"{SCHEMAS} --hash={SCHEMAS_HASH}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        run([*pip, "--dest", scratch, "--requirement", str(wanted)])
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            for version in KUBERNETES:
                name = f"v{version}.0-local-strict/_definitions.json"
                content = packed.read(f"kubernetes_validate/kubernetes-json-schema/{name}")
                (folder / f"{version}.json").write_bytes(content)


def fetch_definitions(folder: Path) -> None:
    """Fetch modules of other projects, and keep their definitions."""
    for module, paths in DEFINITIONS.items():
        found = json.loads(run([go(), "mod", "download", "-json", module]))
        for path in paths:
            shutil.copyfile(Path(found["Dir"]) / path, folder / Path(path).name)


def go() -> str:
    """Return the Go to run."""
    executable = shutil.which("go")
    if executable is None:
        raise ToolUnavailableError("no go on the path: install Go 1.24 or newer")
    return executable


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Run a command, and return its output; raises ToolUnavailableError if it fails."""
    done = subprocess.run(  # noqa: S603 - commands that are written here, without a shell
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    if done.returncode:
        shown = (done.stderr or done.stdout).strip()[-2000:]
        raise ToolUnavailableError(f"`{' '.join(command)}` failed:\n{shown}")
    return done.stdout
