"""The provisioning files of Grafana."""

from __future__ import annotations

import json
from pathlib import Path

from deploy.grafana.decisions import decisions
from deploy.grafana.learning_curves import learning_curves
from deploy.grafana.operations import operations
from deploy.grafana.overview import overview
from deploy.grafana.topics_and_cost import topics_and_cost

FOLDER = Path(__file__).resolve().parent / "provisioning"
IN_CONTAINER = "/etc/grafana/provisioning"
PROMETHEUS = "http://127.0.0.1:9090"
NOTICE = "# Written by `make dashboards`; change deploy/grafana/*.py instead.\n"

DATASOURCE = """\
apiVersion: 1
datasources:
  - name: Prometheus
    uid: wirerank-prometheus
    type: prometheus
    access: proxy
    url: {url}
    isDefault: true
    editable: false
    jsonData:
      timeInterval: 1s  # the scrape interval of deploy/prometheus/prometheus.yml
"""
PROVIDER = """\
apiVersion: 1
providers:
  - name: wirerank
    folder: Wirerank
    type: file
    disableDeletion: true
    allowUiUpdates: false
    options:
      path: {path}
"""


def files(prometheus: str = PROMETHEUS, where: str = IN_CONTAINER) -> dict[str, str]:
    """Return the content of every file by its name; Grafana finds the folder at `where`."""
    provider = PROVIDER.format(path=json.dumps(f"{where}/dashboards/wirerank"))
    made = {
        "datasources/prometheus.yaml": NOTICE + DATASOURCE.format(url=json.dumps(prometheus)),
        "dashboards/wirerank.yaml": NOTICE + provider,
    }
    for name, dashboard in (
        ("decisions", decisions()),
        ("learning-curves", learning_curves()),
        ("operations", operations()),
        ("overview", overview()),
        ("topics-and-cost", topics_and_cost()),
    ):
        made[f"dashboards/wirerank/{name}.json"] = json.dumps(dashboard, indent=1) + "\n"
    return made


def write(folder: Path, contents: dict[str, str]) -> list[Path]:
    """Write the files into a folder, and return their paths."""
    written = []
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        written.append(path)
    return written
