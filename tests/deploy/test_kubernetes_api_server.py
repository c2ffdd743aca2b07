"""The chart, given to a real API server: defaults, validation and admission, not schemas alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from deploy.kubernetes import tools
from deploy.kubernetes.api_server import VERSION
from tests.deploy.test_kubernetes_schemas import VALUES
from tests.support.chart_values import CONFIG, EVERYTHING
from tests.support.helm_chart import (
    CHART,
    NAMESPACE,
    Manifest,
    helm,
    need_tools,
    of_kind,
    pod_of,
    render,
)
from tests.support.kafka_stream import eventually
from tests.support.kubernetes_api import ApiServer, established, running_api_server

MINOR = VERSION.rpartition(".")[0]
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server that knows the objects of other projects, and a namespace for strict pods."""
    need_tools()
    with running_api_server(tmp_path_factory.mktemp("kubernetes")) as running:
        metadata = {"name": NAMESPACE, "labels": RESTRICTED}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        running.apply(namespace, NAMESPACE, dry_run=False)
        for path in tools.custom_definitions():
            definition = yaml.safe_load(path.read_text())
            running.apply(definition, NAMESPACE, dry_run=False)
            name = definition["metadata"]["name"]
            assert eventually(lambda: established(running, name))  # noqa: B023
        yield running


@pytest.mark.parametrize("values", VALUES)
def test_everything_is_accepted(values: str, server: ApiServer, tmp_path: Path) -> None:
    for manifest in render(CONFIG, VALUES[values], tmp_path, MINOR):
        assert server.apply(manifest, NAMESPACE) == [], manifest["metadata"]["name"]


def test_pods_meet_the_restricted_standard(server: ApiServer, tmp_path: Path) -> None:
    """Pods of a workload are admitted when they are made, so they are tried as pods here."""
    for workload in of_kind(render(CONFIG, EVERYTHING, tmp_path), "Deployment", "StatefulSet"):
        # Without controllers, nothing has made the volumes and classes that the pods name.
        spec = copy.deepcopy(pod_of(workload))
        spec.pop("priorityClassName")
        pod: Manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        assert server.apply(pod, NAMESPACE) == []
        spec["containers"][0]["securityContext"].pop("capabilities")
        with pytest.raises(AssertionError, match="violates PodSecurity"):
            server.apply(pod, NAMESPACE)


def test_what_schemas_do_not_know_is_refused(server: ApiServer, tmp_path: Path) -> None:
    """The server has rules beyond its schema: here, a selector that misses its own pods."""
    (first, *_) = of_kind(render(CONFIG, {}, tmp_path), "StatefulSet")
    changed = copy.deepcopy(first)
    changed["spec"]["selector"]["matchLabels"]["other"] = "label"
    with pytest.raises(AssertionError, match="`selector` does not match template `labels`"):
        server.apply(changed, NAMESPACE)
    misspelt = copy.deepcopy(first)
    misspelt["spec"]["replica"] = 3
    with pytest.raises(AssertionError, match="field not declared in schema"):
        server.apply(misspelt, NAMESPACE)


def test_a_release_lives_as_the_guide_says(server: ApiServer, tmp_path: Path) -> None:
    """Install, stop the learners, change the number of shards, upgrade, go back, uninstall."""
    config, values = tmp_path / "wirerank.toml", tmp_path / "values.json"
    values.write_text(json.dumps({**EVERYTHING, "serviceAccount": {}}))
    access = ["--kubeconfig", str(server.kubeconfig(tmp_path / "kubeconfig"))]
    access += ["--namespace", NAMESPACE]
    sets = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets"

    def helm_with(command: str, text: str, *options: str) -> dict[str, int]:
        """Run a command with a configuration; returns the number of pods of each StatefulSet."""
        config.write_text(text)
        given = ["--values", str(values), "--set-file", f"config={config}"]
        helm(command, "wirerank", str(CHART), *given, *options, *access)
        found = server.get(sets)["items"]
        return {item["metadata"]["name"]: item["spec"]["replicas"] for item in found}

    installed = helm_with("install", CONFIG)
    assert sorted(installed.values()) == [1, 2, 3]
    stopped = helm_with("upgrade", CONFIG, "--set", "learner.stopped=true")
    assert stopped == dict.fromkeys(installed, 0)
    divided = CONFIG.replace("shards = 3", "shards = 4")
    changed = helm_with("upgrade", divided, "--set", "image.tag=next")
    assert changed.keys() == installed.keys()
    assert sorted(changed.values()) == [1, 2, 4]
    whole = CONFIG.replace(", shards = 3", "")
    assert sorted(helm_with("upgrade", whole).values()) == [1, 2]
    helm("rollback", "wirerank", "1", *access)
    numbers = [item["spec"]["replicas"] for item in server.get(sets)["items"]]
    assert sorted(numbers) == [1, 2, 3]
    helm("uninstall", "wirerank", *access)
    assert server.get(sets)["items"] == []
