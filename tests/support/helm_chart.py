"""The Helm chart, rendered by a real Helm and checked by the real schemas of Kubernetes."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from deploy.kubernetes import tools
from tests.conftest import REPOSITORY, missing

CHART = REPOSITORY / "deploy" / "kubernetes" / "wirerank"
NAMESPACE = "news"
Manifest = dict[str, Any]


class RefusedError(Exception):
    """Helm has refused to render the chart; the message is Helm's."""


def need_tools() -> None:
    """Skip the test if Helm or the schemas are not there."""
    try:
        tools.helm()
        tools.custom_definitions()
        for version in tools.KUBERNETES:
            tools.schema_of_kubernetes(version)
    except tools.ToolUnavailableError as error:
        missing("kubernetes-tools", str(error))


def helm(*arguments: str) -> str:
    """Run Helm, and return what it prints."""
    need_tools()
    done = subprocess.run([tools.helm(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError(done.stderr)
    return done.stdout


def render(
    config: str,
    values: Manifest,
    folder: Path,
    kubernetes: str = tools.KUBERNETES[-1],
    release: str = "wirerank",
) -> list[Manifest]:
    """Render the chart with a configuration and other values."""
    (folder / "given.toml").write_text(config)
    (folder / "values.json").write_text(json.dumps(values))  # JSON is YAML
    text = helm(
        "template", release, str(CHART), "--namespace", NAMESPACE,
        "--kube-version", f"{kubernetes}.0", "--values", str(folder / "values.json"),
        "--set-file", f"config={folder / 'given.toml'}",
    )  # fmt: skip
    return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def of_kind(manifests: list[Manifest], *kinds: str) -> list[Manifest]:
    """The manifests of some kinds."""
    return [manifest for manifest in manifests if manifest["kind"] in kinds]


def pod_of(manifest: Manifest) -> Manifest:
    """The specification of the pods of a workload."""
    pod: Manifest = manifest["spec"]["template"]["spec"]
    return pod


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod, as the kubelet would start it: variables are filled in, and secrets are files."""

    workload: Manifest
    ordinal: int

    @property
    def container(self) -> Manifest:
        """Its only container."""
        (container,) = pod_of(self.workload)["containers"]
        found: Manifest = container
        return found

    def environment(self) -> dict[str, str]:
        """The variables of the container."""
        found = {}
        for variable in self.container["env"]:
            source = variable.get("valueFrom", {})
            if "fieldRef" in source:
                path = source["fieldRef"]["fieldPath"]
                assert path == "metadata.labels['apps.kubernetes.io/pod-index']"
                found[variable["name"]] = str(self.ordinal)
            else:
                found[variable["name"]] = variable["value"]
        return found

    def mount_secrets(self, volume: str, secrets: dict[str, str], folder: Path) -> str:
        """Write the files of a volume of Secrets to a folder; returns where the pod has them."""
        (mount,) = [m for m in self.container["volumeMounts"] if m["name"] == volume]
        (found,) = [v for v in pod_of(self.workload)["volumes"] if v["name"] == volume]
        for source in found["projected"]["sources"]:
            for item in source["secret"]["items"]:
                path = folder / item["path"]
                path.write_text(secrets[f"{source['secret']['name']}/{item['key']}"])
                path.chmod(found["projected"]["defaultMode"])
        return str(mount["mountPath"])

    def arguments(self) -> list[str]:
        """The arguments of the container."""
        environment = self.environment()
        arguments = []
        for argument in self.container["args"]:
            text = str(argument)
            for name, value in environment.items():
                text = text.replace(f"$({name})", value)
            arguments.append(text)
        return arguments


def pods(manifests: list[Manifest]) -> list[Pod]:
    """All pods of the rendered workers."""
    found = []
    for workload in of_kind(manifests, "Deployment", "StatefulSet"):
        replicas = workload["spec"].get("replicas", 1)
        found += [Pod(workload, ordinal) for ordinal in range(replicas)]
    return found


@functools.cache
def definitions(version: str) -> tuple[Registry[Any], dict[tuple[str, str], str]]:
    """The schemas of a version of Kubernetes, and the address of each by apiVersion and kind."""
    content = json.loads(tools.schema_of_kubernetes(version).read_text())
    resource: Resource[Any] = Resource.from_contents(content)
    addresses = {}
    for name, schema in content["$defs"].items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            group = f"{kind['group']}/" if kind["group"] else ""
            addresses[f"{group}{kind['version']}", kind["kind"]] = f"{content['$id']}#/$defs/{name}"
    return resource @ Registry(), addresses


@functools.cache
def custom_schemas() -> dict[tuple[str, str], Manifest]:
    """The schemas of objects of other projects, made strict, by apiVersion and kind."""
    schemas = {}
    for path in tools.custom_definitions():
        spec = yaml.safe_load(path.read_text())["spec"]
        for version in spec["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"])
            # The API server knows these by itself.
            schema["properties"] |= {name: {} for name in ("apiVersion", "kind", "metadata")}
            schemas[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
    return schemas


def strict(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """A schema of a custom resource that refuses unknown fields, as the API server does."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    keeps = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not keeps:
        made["additionalProperties"] = False
    return made


def problems(manifest: Manifest, version: str) -> Iterator[str]:
    """What the schemas of a version of Kubernetes have against a manifest."""
    kind = manifest["apiVersion"], manifest["kind"]
    if kind in custom_schemas():
        validator = Draft202012Validator(custom_schemas()[kind])
    else:
        registry, addresses = definitions(version)
        if kind not in addresses:
            yield f"Kubernetes {version} knows no {' '.join(kind)}"
            return
        validator = Draft202012Validator({"$ref": addresses[kind]}, registry=registry)
    for error in validator.iter_errors(manifest):
        where = ".".join(map(str, error.absolute_path))
        yield f"{manifest['kind']} {manifest['metadata']['name']}: {where}: {error.message}"
