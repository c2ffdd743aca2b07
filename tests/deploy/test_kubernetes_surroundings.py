"""What the chart asks of its surroundings: autoscaling, Prometheus and the network."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support.chart_values import CONFIG, EVERYTHING
from tests.support.helm_chart import NAMESPACE, Manifest, of_kind, render
from tests.support.prometheus_server import program


def test_tokenizers_scale_up_to_the_number_of_partitions(tmp_path: Path) -> None:
    for provider, kind, most in (
        ("keda", "ScaledObject", "maxReplicaCount"),
        ("hpa", "HorizontalPodAutoscaler", "maxReplicas"),
    ):
        scaling: Manifest = {"autoscaling": {"provider": provider}}
        manifests = render(CONFIG, {"tokenizer": scaling}, tmp_path)
        scaled = of_kind(manifests, kind)
        assert [manifest["spec"][most] for manifest in scaled] == [8, 4]
        deployments = {m["metadata"]["name"]: m for m in of_kind(manifests, "Deployment")}
        for manifest in scaled:
            target = deployments.pop(manifest["spec"]["scaleTargetRef"]["name"])
            assert "replicas" not in target["spec"]
        assert deployments == {}
        raised = render(CONFIG, {"tokenizer": {**scaling, "maxReplicas": 32}}, tmp_path)
        assert {manifest["spec"][most] for manifest in of_kind(raised, kind)} == {32}


def test_the_query_for_scaling_is_valid_and_about_one_stream(tmp_path: Path) -> None:
    values = {"tokenizer": {"autoscaling": {"provider": "keda"}}}
    scaled = of_kind(render(CONFIG, values, tmp_path), "ScaledObject")
    queries = [manifest["spec"]["triggers"][0]["metadata"]["query"] for manifest in scaled]
    rules = {"groups": [{"name": "q", "rules": [{"record": "q", "expr": q} for q in queries]}]}
    check_rules(rules, tmp_path)
    for query, stream in zip(queries, ("newswire", "Sports.de"), strict=True):
        assert f'namespace="{NAMESPACE}", stream="{stream}"' in query
        metric = re.search(r"wirerank_\w+", query)
        assert metric
        assert f"`{metric[0]}`" in (REPOSITORY / "docs/reference/metrics.md").read_text()


def check_rules(rules: Manifest, folder: Path) -> None:
    path = folder / "rules.yml"
    path.write_text(yaml.safe_dump(rules))
    checked = [program("promtool"), "check", "rules", str(path)]
    done = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def rendered_rules(config: str, folder: Path, values: Manifest | None = None) -> list[Any]:
    given = {"monitoring": {"rules": True}, **(values or {})}
    (rule,) = of_kind(render(config, given, folder), "PrometheusRule")
    groups: list[Any] = rule["spec"]["groups"]
    return groups


def test_the_rules_are_those_of_prometheus(tmp_path: Path) -> None:
    """All of them, with nothing changed; one group comes on top."""
    known = []
    for path in sorted((REPOSITORY / "deploy" / "prometheus" / "rules").glob("*.yml")):
        known += yaml.safe_load(path.read_text())["groups"]
    *groups, added = rendered_rules(CONFIG, tmp_path)
    assert groups == known
    assert added["name"] == "wirerank-kubernetes"
    check_rules({"groups": [*groups, added]}, tmp_path)
    stopped = rendered_rules(CONFIG, tmp_path, {"learner": {"stopped": True}})
    assert stopped == known
    second = {"monitoring": {"rules": True, "sharedRules": False}}
    assert rendered_rules(CONFIG, tmp_path, second) == [added]


def test_learners_that_do_not_exist_are_an_alert(tmp_path: Path) -> None:
    """Six are expected: three shards, two shards, and a learner of a whole lane."""
    (tmp_path / "rules.yml").write_text(
        yaml.safe_dump({"groups": rendered_rules(CONFIG, tmp_path)[-1:]})
    )
    series = [
        {
            "series": f'up{{job="wirerank-learner", namespace="{NAMESPACE}", pod="wirerank-{n}"}}',
            "values": "1x10 _x20" if n == 0 else "0x30",
        }
        for n in range(6)
    ]
    text = "6 learners are expected, but only 5 pods exist."
    fired = {
        "exp_labels": {"severity": "page"},
        "exp_annotations": {"summary": "learners of wirerank are missing", "description": text},
    }
    alert = "WirerankLearnersMissing"
    checks = [
        {"alertname": alert, "eval_time": "10m", "exp_alerts": []},
        {"alertname": alert, "eval_time": "25m", "exp_alerts": [fired]},
    ]
    test = {"interval": "1m", "input_series": series, "alert_rule_test": checks}
    (tmp_path / "test.yml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yml"], "tests": [test]})
    )
    command = [program("promtool"), "test", "rules", str(tmp_path / "test.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_jobs_have_the_names_that_rules_know(tmp_path: Path) -> None:
    values = {"monitoring": {"podMonitor": True}}
    manifests = render(CONFIG, values, tmp_path)
    (monitor,) = of_kind(manifests, "PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (relabeling,) = endpoint["relabelings"]
    label = "app.kubernetes.io/component"
    meta = "__meta_kubernetes_pod_label_" + re.sub(r"[./]", "_", label)
    assert relabeling["sourceLabels"] == [meta]
    workloads = of_kind(manifests, "Deployment", "StatefulSet")
    labels = {w["spec"]["template"]["metadata"]["labels"][label] for w in workloads}
    jobs = {relabeling["replacement"].replace("$1", value) for value in labels}
    assert jobs == {"wirerank-learner", "wirerank-tokenizer"}
    assert endpoint["port"] == "metrics"


def test_the_network_is_closed_but_for_what_is_needed(tmp_path: Path) -> None:
    policies = {
        policy["metadata"]["name"]: policy["spec"]
        for policy in of_kind(render(CONFIG, EVERYTHING, tmp_path), "NetworkPolicy")
    }
    deny = policies["wirerank-deny"]
    assert "ingress" not in deny
    assert "egress" not in deny
    assert deny["policyTypes"] == ["Ingress", "Egress"]
    egress = policies["wirerank-workers"]["egress"]
    ports = [[port["port"] for port in rule["ports"]] for rule in egress]
    assert ports == [[53, 53], [9093, 9094, 9095], [443], [443]]
    assert egress[1]["to"] == EVERYTHING["networkPolicy"]["kafka"]
    (ingress,) = policies["wirerank-workers"]["ingress"]
    assert ingress["ports"] == [{"protocol": "TCP", "port": "metrics"}]
    assert ingress["from"]


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://registry", 80),
        ("https://registry/apis/ccompat/v7", 443),
        ("http://registry:8081", 8081),
        ("https://registry:8443/a:1/", 8443),
        ("http://[2001:db8::1]:8081/", 8081),
    ],
)
def test_the_ports_of_addresses_are_open(url: str, port: int, tmp_path: Path) -> None:
    start = f'kafka.bootstrap = "kafka"\nkafka.oauth_token_url = "{url}"\nregistry.url = "{url}"\n'
    stream = '[[streams]]\nname = "a"\nlanes = [{spec = "mmp"}]\n'
    policies = of_kind(render(start + stream, {}, tmp_path), "NetworkPolicy")
    (egress,) = [policy["spec"]["egress"] for policy in policies if "egress" in policy["spec"]]
    assert [[p["port"] for p in rule["ports"]] for rule in egress] == [
        [53, 53],
        [9092],
        [port],
        [port],
    ]
