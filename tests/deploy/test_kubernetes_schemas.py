"""The rendered chart, held against the real schemas of several versions of Kubernetes."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from deploy.kubernetes.tools import KUBERNETES
from tests.support.chart_values import CONFIG, EVERYTHING, SECRETS
from tests.support.helm_chart import Manifest, need_tools, of_kind, pod_of, problems, render

VALUES: dict[str, Manifest] = {
    "defaults": {},
    "everything": EVERYTHING,
    "own-volumes": {**SECRETS, "learner": {"snapshots": {"storageClass": "fast", "size": "1Ti"}}},
    "hpa": {"tokenizer": {"autoscaling": {"provider": "hpa", "minReplicas": 2}}},
    "nothing": {
        "networkPolicy": {"enabled": False}, "metrics": {"allowWithoutToken": True},
        "podDisruptionBudget": {"enabled": False},
        "learner": {"stopped": True}, "tokenizer": {"replicas": 0},
    },
}  # fmt: skip
KINDS = {
    "ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor",
    "PrometheusRule", "ScaledObject", "Service", "ServiceAccount", "ServiceMonitor", "StatefulSet",
}  # fmt: skip


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("values", VALUES)
def test_an_api_server_of_this_version_would_take_it(
    values: str, version: str, tmp_path: Path
) -> None:
    manifests = render(CONFIG, VALUES[values], tmp_path, version)
    assert [problem for manifest in manifests for problem in problems(manifest, version)] == []
    found = {manifest["kind"] for manifest in manifests}
    assert "StatefulSet" in found
    if values == "everything":
        assert found == KINDS
    if values == "hpa":
        assert "HorizontalPodAutoscaler" in found


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> list[Manifest]:
    return render(CONFIG, EVERYTHING, tmp_path_factory.mktemp("chart"))


def misspelt(manifest: Manifest, *path: str | int) -> Manifest:
    """A copy in which the last key of a path has another name."""
    changed = copy.deepcopy(manifest)
    *before, last = path
    place: Any = changed
    for part in before:
        place = place[part]
    assert isinstance(last, str)
    place[f"{last}x"] = place.pop(last)
    return changed


CONTAINER = ("spec", "template", "spec", "containers", 0)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("StatefulSet", ("spec", "podManagementPolicy")),
        ("StatefulSet", (*CONTAINER, "startupProbe")),
        ("StatefulSet", (*CONTAINER, "securityContext", "readOnlyRootFilesystem")),
        ("Deployment", (*CONTAINER, "resources", "limits")),
        ("PodDisruptionBudget", ("spec", "unhealthyPodEvictionPolicy")),
        ("NetworkPolicy", ("spec", "policyTypes")),
        ("PodMonitor", ("spec", "podMetricsEndpoints", 0, "relabelings", 0, "targetLabel")),
        ("ServiceMonitor", ("spec", "endpoints", 0, "authorization")),
        ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "expr")),
        ("ScaledObject", ("spec", "triggers", 0, "metadata")),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value[-1]),
)
@pytest.mark.parametrize("version", [KUBERNETES[0], KUBERNETES[-1]])
def test_a_misspelt_field_is_found(
    kind: str, path: tuple[str | int, ...], version: str, manifests: list[Manifest]
) -> None:
    manifest = of_kind(manifests, kind)[0]
    assert list(problems(manifest, version)) == []
    found = list(problems(misspelt(manifest, *path), version))
    assert any(f"'{path[-1]}x'" in problem for problem in found), found


def test_wrong_types_are_found(manifests: list[Manifest]) -> None:
    changed = copy.deepcopy(of_kind(manifests, "StatefulSet")[0])
    pod_of(changed)["terminationGracePeriodSeconds"] = "long"
    (problem,) = problems(changed, KUBERNETES[-1])
    assert "'long' is not of type" in problem


def test_kinds_that_a_version_does_not_have_are_found() -> None:
    need_tools()
    unknown = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {}}
    (problem,) = problems(unknown, KUBERNETES[0])
    assert problem == "Kubernetes 1.28 knows no policy/v1beta1 PodDisruptionBudget"
