"""A real API server of Kubernetes for tests, built from its Go module: `--api-server`.

The build takes about ten minutes of four cores, and 3 GB of disk while it runs. So it is not a part
of the other tools. The module refers to some fifty others by folders that only its repository has;
their published versions replace those folders. The server needs etcd (Debian: etcd-server).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

from deploy.kubernetes.tools import HOW_TO_FETCH, ToolUnavailableError, go, home, run

VERSION = "1.33.13"
STAMP = "k8s.io/component-base/version"


def api_server() -> str:
    """Return the API server to run: the one on the path, else the one that was built."""
    built = folder() / "kube-apiserver"
    found = shutil.which("kube-apiserver") or (str(built) if built.exists() else None)
    if found is None:
        how = HOW_TO_FETCH.replace("-tools`", "-tools API_SERVER=1`")
        raise ToolUnavailableError(f"no kube-apiserver: {how}")
    return found


def etcd() -> str:
    """Return the etcd to run: the one on the path, or of the folder of the API server."""
    found = shutil.which("etcd", path=f"{os.environ.get('PATH', '')}{os.pathsep}{folder()}")
    if found is None:
        raise ToolUnavailableError(
            "no etcd: install it (Debian and Ubuntu: apt install etcd-server)"
        )
    return found


def folder() -> Path:
    """The folder of the API server that was built."""
    return home() / f"api-server-{VERSION}"


def build_api_server(into: Path) -> None:
    """Build the API server into a folder."""
    module = json.loads(run([go(), "mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}"]))
    source = into.parent / "source"
    shutil.copytree(module["Dir"], source, ignore=shutil.ignore_patterns("test", "CHANGELOG"))
    for path in (source, *source.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)  # a folder of modules is read-only
    for name in ("go.work", "go.work.sum"):
        (source / name).unlink(missing_ok=True)
    shutil.rmtree(source / "vendor", ignore_errors=True)
    text = (source / "go.mod").read_text()
    published = f"v0.{VERSION.partition('.')[2]}"
    replaced = re.sub(r"=> \./staging/src/(\S+)", rf"=> \1 {published}", text)
    (source / "go.mod").write_text(replaced)
    major, minor, _ = VERSION.split(".")
    stamps = {"gitVersion": f"v{VERSION}", "gitMajor": major, "gitMinor": minor}
    linked = " ".join(["-s -w", *(f"-X {STAMP}.{name}={value}" for name, value in stamps.items())])
    command = [go(), "build", "-C", str(source), f"-ldflags={linked}", "-o", str(into)]
    run([*command, "./cmd/kube-apiserver"], {"GOFLAGS": "-buildvcs=false -mod=mod"})
