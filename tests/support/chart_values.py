"""A configuration and values that use everything that the chart has."""

from __future__ import annotations

from tests.support.helm_chart import Manifest

CONFIG = """
[kafka]
bootstrap = "kafka-0.kafka:9093,kafka-1.kafka:9094"
security_protocol = "SASL_SSL"
sasl_mechanism = "SCRAM-SHA-512"
sasl_username = "wirerank"
[registry]
url = "https://registry/apis/ccompat/v7"
user = "wirerank"
[[streams]]
name = "newswire"
partitions = 8
lanes = [{spec = "mmp:loss=1", shards = 3}, {spec = "perceptron"}]
[[streams]]
name = "Sports.de"
lanes = [{spec = "mmp:name=champion", shards = 2}]
"""
SECRETS: Manifest = {
    "kafka": {
        "passwordSecret": {"name": "kafka"}, "tlsSecret": "kafka-tls", "clientCertificate": True,
    },
    "registry": {"passwordSecret": {"name": "registry"}},
    "metrics": {"tokenSecret": {"name": "metrics"}},
}  # fmt: skip
PLACES: Manifest = {
    "podAnnotations": {"a": "b"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "news", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "priorityClassName": "high",
}
EVERYTHING: Manifest = {
    **SECRETS,
    "image": {"digest": "sha256:" + "0" * 64, "pullSecrets": ["pull"]},
    "tokenizer": {**PLACES, "autoscaling": {"provider": "keda"}},
    "learner": {**PLACES, "snapshots": {"claim": "shared"}},
    "serve": {**PLACES, "enabled": True, "tokenSecret": {"name": "token"}},
    "networkPolicy": {
        "kafka": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kafka"}}}],
        "kafkaPorts": [9095],
        "registry": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
        "extraEgress": [{"ports": [{"port": 443, "protocol": "TCP"}]}],
    },
    "monitoring": {
        "podMonitor": True, "rules": True, "labels": {"release": "prometheus"},
        "endpoint": {"scheme": "https", "tlsConfig": {"insecureSkipVerify": False}},
    },
    "serviceAccount": {"annotations": {"a": "b"}},
    "extraEnv": [{"name": "WIRERANK__SNAPSHOTS__KEEP", "value": "5"}],
    "extraVolumes": [{"name": "model", "persistentVolumeClaim": {"claimName": "model"}}],
    "extraVolumeMounts": [{"name": "model", "mountPath": "/model", "readOnly": True}],
}  # fmt: skip
