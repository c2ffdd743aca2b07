"""The chart follows from the configuration, keeps secrets secret, and refuses what cannot work."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from consumers.assignment import ShardAssignment, assigned_shard
from consumers.commands.configuration import stream_named
from consumers.config import read_config
from deploy.kubernetes import api_server, tools
from deploy.kubernetes.tools import KUBERNETES, OLDEST_HELM
from tests.conftest import REPOSITORY
from tests.support.chart_values import CONFIG, EVERYTHING, SECRETS
from tests.support.helm_chart import (
    CHART,
    Manifest,
    Pod,
    RefusedError,
    helm,
    of_kind,
    pod_of,
    pods,
    render,
)

EXAMPLE = (REPOSITORY / "consumers" / "example.toml").read_text()
# Names that Kubernetes would not take, and specs in every spelling.
ODD = """
[[streams]]
name = "a.b"
lanes = [
  {spec = " mmp:loss=1 , name = Best_One ", shards = 2},
  {spec = "mmp:loss=1", shards = 2},
  {spec = "mmp", shards = 64},
  {spec = "perceptron:name=mmp:loss=2", shards = 2},
]
[[streams]]
name = "a-b"
lanes = [{spec = "svm-map:of=[x,name]"}, {spec = "mmp:name=x"}, {spec = "mmp:name=name"}]
[[streams]]
name = "A_stream_whose_name_is_much_longer_than_what_Kubernetes_allows_for_names"
partitions = 2
lanes = [{spec = "mmp:average=true,margin=0.25,norm=l2,loss=3", shards = 5}, {spec = "frequency"}]
"""


def workers(manifests: list[Manifest]) -> list[Pod]:
    return [pod for pod in pods(manifests) if pod.container["name"] != "serve"]


def option(pod: Pod, name: str) -> str | None:
    arguments = pod.arguments()
    return arguments[arguments.index(name) + 1] if name in arguments else None


@pytest.mark.parametrize("config", [EXAMPLE, ODD], ids=["example", "odd"])
def test_the_workloads_are_those_of_the_configuration(config: str, tmp_path: Path) -> None:
    """What runs in the pods is what the workers themselves read from the configuration."""
    manifests = render(config, {}, tmp_path)
    (settings,) = of_kind(manifests, "ConfigMap")
    path = tmp_path / "wirerank.toml"
    path.write_text(settings["data"]["wirerank.toml"])
    assert tomllib.loads(path.read_text()) == tomllib.loads(config)
    started: list[tuple[str, ShardAssignment | None]] = []
    for pod in workers(manifests):
        read = read_config(path, pod.environment())
        stream = stream_named(read, option(pod, "--stream"))
        command = pod.arguments()[0]
        if command == "learn":
            shard = assigned_shard(stream, option(pod, "--lane"), option(pod, "--shard"))
            started.append((stream.name, shard))
        role, index = ("learner", 7) if command == "learn" else ("tokenizer", 99)
        (port,) = pod.container["ports"]
        assert read.metrics.port_of(2, role, f"{index}") == port["containerPort"]  # type: ignore[arg-type]
        assert read.metrics.host == "0.0.0.0"  # noqa: S104
    expected: list[tuple[str, ShardAssignment | None]] = []
    for stream in read_config(path, {}).streams:
        for lane in stream.divided_lanes:
            name = lane.parsed.name
            numbers = range(lane.shards)
            expected += [(stream.name, ShardAssignment(name, n, lane.shards)) for n in numbers]
        if stream.whole_lanes:
            expected.append((stream.name, None))
    assert sorted(map(str, started)) == sorted(map(str, expected))


def test_names_are_valid_and_differ(tmp_path: Path) -> None:
    manifests = render(ODD, EVERYTHING, tmp_path, release="a-release-with-quite-a-long-name")
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]
    assert len(set(names)) == len(names)
    for kind, name in names:
        assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", name), name
        assert len(name) <= 63, name
        # A StatefulSet adds an ordinal to the names of pods, and a digest to a label.
        assert kind != "StatefulSet" or len(name) <= 52, name
    for workload in of_kind(manifests, "Deployment", "StatefulSet"):
        for value in workload["spec"]["template"]["metadata"]["labels"].values():
            assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", value), value


def test_every_selector_finds_the_pods_of_one_workload(tmp_path: Path) -> None:
    workloads = of_kind(render(ODD, EVERYTHING, tmp_path), "Deployment", "StatefulSet")
    labels = [workload["spec"]["template"]["metadata"]["labels"] for workload in workloads]
    for number, workload in enumerate(workloads):
        selector = workload["spec"]["selector"]["matchLabels"].items()
        assert [n for n, have in enumerate(labels) if selector <= have.items()] == [number]


def test_pods_are_restricted(tmp_path: Path) -> None:
    """As the strictest of the Pod Security Standards demands, and with a read-only root."""
    for workload in of_kind(render(CONFIG, EVERYTHING, tmp_path), "Deployment", "StatefulSet"):
        pod = pod_of(workload)
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "privileged": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]
            mounts = {mount["name"] for mount in container["volumeMounts"]}
            assert mounts == {volume["name"] for volume in pod["volumes"]}


def test_probes_ask_what_workers_answer(tmp_path: Path) -> None:
    for pod in pods(render(CONFIG, EVERYTHING, tmp_path)):
        container = pod.container
        ports = {port["name"] for port in container["ports"]}
        probes = [container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")]
        assert {probe["httpGet"]["port"] for probe in probes} == ports
        assert [probe["httpGet"]["path"] for probe in probes[1:]] == ["/readyz", "/healthz"]
        startup = probes[0]["periodSeconds"] * probes[0]["failureThreshold"]
        assert startup >= (3600 if container["name"] == "learner" else 600)


def test_shards_start_together_and_keep_their_volumes(tmp_path: Path) -> None:
    for workload in of_kind(render(CONFIG, {}, tmp_path), "StatefulSet"):
        spec = workload["spec"]
        assert spec["podManagementPolicy"] == "Parallel"
        assert set(spec["persistentVolumeClaimRetentionPolicy"].values()) == {"Retain"}
        (claim,) = spec["volumeClaimTemplates"]
        folder = Pod(workload, 0).environment()["WIRERANK__SNAPSHOTS__FOLDER"]
        mounts = {
            mount["name"]: mount["mountPath"]
            for mount in Pod(workload, 0).container["volumeMounts"]
        }
        assert folder.startswith(mounts[claim["metadata"]["name"]] + "/")


def test_stopped_learners_have_no_pods(tmp_path: Path) -> None:
    manifests = render(CONFIG, {"learner": {"stopped": True}}, tmp_path)
    assert {m["spec"]["replicas"] for m in of_kind(manifests, "StatefulSet")} == {0}


def test_secrets_reach_the_workers_and_no_config_map(tmp_path: Path) -> None:
    manifests = render(CONFIG, SECRETS, tmp_path)
    assert not of_kind(manifests, "Secret")
    path = tmp_path / "wirerank.toml"
    path.write_text(CONFIG.replace("SASL_SSL", "SASL_PLAINTEXT"))
    secrets = {
        "kafka/password": "pa:ss\n",
        "registry/password": "wo=rd",
        "metrics/token": "a-token-of-the-metrics",
    }
    for number, pod in enumerate(pods(manifests)):
        folder = tmp_path / str(number)
        folder.mkdir()
        inside = pod.mount_secrets("wirerank-secrets", secrets, folder)
        found = pod.environment()
        environment = {name: value.replace(inside, str(folder)) for name, value in found.items()}
        files = {name: environment.pop(name) for name in found if "KAFKA__SSL" in name}
        mounts = [mount["mountPath"] for mount in pod.container["volumeMounts"]]
        assert len(files) == 3
        assert all(file.rpartition("/")[0] in mounts for file in files.values())
        config = read_config(path, environment)
        assert config.loose_secret_files() == []
        assert config.kafka.secret("sasl_password") == "pa:ss"
        assert config.registry.secret("password") == "wo=rd"
        assert config.metrics.access().is_protected
        assert not config.metrics.allow_without_token


def test_metrics_are_protected_by_a_token_or_by_the_network(tmp_path: Path) -> None:
    (monitor,) = of_kind(render(CONFIG, EVERYTHING, tmp_path), "PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["authorization"]["credentials"] == {"name": "metrics", "key": "token"}
    open_pods = pods(render(CONFIG, {}, tmp_path))
    allowed = {pod.environment()["WIRERANK__METRICS__ALLOW_WITHOUT_TOKEN"] for pod in open_pods}
    assert allowed == {"true"}


def test_probes_use_tls_where_workers_do(tmp_path: Path) -> None:
    secured = CONFIG.replace("[registry]", '[metrics]\ntls_certfile = "/tls/x.pem"\n[registry]')
    for config, scheme in ((CONFIG, "HTTP"), (secured, "HTTPS")):
        manifests = render(config, {"monitoring": {"podMonitor": True}}, tmp_path)
        for pod in pods(manifests):
            assert pod.container["readinessProbe"]["httpGet"]["scheme"] == scheme
        (monitor,) = of_kind(manifests, "PodMonitor")
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint["scheme"] == scheme.lower()


REFUSED: dict[str, tuple[str, Manifest, str]] = {
    "no-config": ("", {}, "config is empty"),
    "no-toml": ("streams = ", {}, "config is not valid TOML"),
    "no-stream": ("[kafka]\n", {}, "config has no stream"),
    "password": ('kafka.sasl_password = "x"\n' + ODD, {}, "[kafka] sasl_password: everybody"),
    "tls-password": ('kafka.ssl_password = "x"\n' + ODD, {}, "[kafka] ssl_password"),
    "registry": ('registry.password = "x"\n' + ODD, {}, "[registry] password"),
    "url": ('registry.url = "http://me:pw@here"\n' + ODD, {}, "a password in the address"),
    "token": ('metrics.token = "x"\n' + ODD, {}, "[metrics] token"),
    "open-metrics": (
        CONFIG, {"networkPolicy": {"enabled": False}}, "everybody in the cluster could read",
    ),
    "store": (
        'snapshots.copy_to = "s3://bucket"\n' + ODD, {}, "add it to networkPolicy.extraEgress",
    ),
    "streams": (
        ODD, {"extraEnv": [{"name": "WIRERANK__STREAMS__0__LANES__0__SHARDS", "value": "3"}]},
        "streams and shards belong in config",
    ),
    "partitions": (CONFIG, {"tokenizer": {"replicas": 9}}, "9 tokenizers, but 8 partitions"),
    "second-stream": (CONFIG, {"tokenizer": {"replicas": 5}}, "5 tokenizers, but 4 partitions"),
    "typing-error": (CONFIG, {"tokeniser": {}}, "'tokeniser' not allowed"),
    "inner": (CONFIG, {"learner": {"replicas": 2}}, "'replicas' not allowed"),
    "wrong-type": (CONFIG, {"metrics": {"port": "9610"}}, "got string, want integer"),
    "serve-nothing": (CONFIG, {"serve": {"enabled": True}}, "serve has nothing to serve"),
    "serve-openly": (
        CONFIG, {"serve": {"enabled": True, "claim": "model"}}, "every client must send a token",
    ),
    "serve-stream": (
        CONFIG, {"serve": {"enabled": True, "stream": "x"}}, "streams: newswire, Sports.de",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused(case: str, tmp_path: Path) -> None:
    config, values, message = REFUSED[case]
    with pytest.raises(RefusedError) as refused:
        render(config, values, tmp_path)
    assert message in " ".join(str(refused.value).split())


def test_an_older_kubernetes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"chart requires kubeVersion: >=1\.28"):
        render(CONFIG, {}, tmp_path, kubernetes="1.27")
    assert KUBERNETES[0] == "1.28"


def test_the_chart_is_in_order() -> None:
    """Helm's own checks, and the version of the program."""
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert about["appVersion"] == about["version"] == project["version"]
    config = f"config={REPOSITORY / 'consumers' / 'example.toml'}"
    shown = helm("lint", "--strict", str(CHART), "--kube-version", "1.31.0", "--set-file", config)
    assert "1 chart(s) linted, 0 chart(s) failed" in shown


def test_every_value_is_in_the_schema_and_explained_once() -> None:
    """A value that the schema lacks would be refused; here the other way round."""
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(schema["properties"]) == {*values, "global"}
    for name, section in schema["properties"].items():
        if isinstance(values.get(name), dict) and "properties" in section:
            extra = set(section["properties"]) - set(values[name])
            assert not extra, (name, extra)


def test_the_values_of_the_guide_are_accepted(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs/guide/operate/kubernetes.md").read_text()
    shown = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.S)]
    values = [block for block in shown if "externalRules" not in block]
    assert len(values) == len(shown) - 1 == 2
    for block in values:
        assert len(pods(render(EXAMPLE, block, tmp_path))) > 1


def test_missing_tools_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIRERANK_KUBERNETES_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool in (tools.helm, tools.custom_definitions, api_server.api_server):
        with pytest.raises(tools.ToolUnavailableError, match="make kubernetes-tools"):
            tool()
    with pytest.raises(tools.ToolUnavailableError, match="apt install etcd-server"):
        api_server.etcd()


def test_the_guide_names_versions_as_they_are() -> None:
    text = (REPOSITORY / "docs/guide/operate/kubernetes.md").read_text()
    assert f"Helm {'.'.join(map(str, OLDEST_HELM))}" in text
    assert f"Kubernetes {KUBERNETES[0]}" in text
