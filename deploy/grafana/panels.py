"""The parts of a Grafana dashboard, as its JSON has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
SCHEMA = 39  # of Grafana 11; later ones read it


class Query(NamedTuple):
    """An expression, and how its series are called."""

    expr: str
    legend: str = ""


class Panel(NamedTuple):
    """A panel without its place."""

    width: int
    height: int
    content: Json


def targets(queries: Iterable[Query], **more: object) -> list[Json]:
    """Queries as panels hold them."""
    return [
        {
            "datasource": DATASOURCE,
            "refId": chr(ord("A") + number),
            "expr": query.expr,
            "legendFormat": query.legend or "__auto",
            **more,
        }
        for number, query in enumerate(queries)
    ]


def time_series(
    title: str,
    description: str,
    *queries: Query,
    unit: str = "short",
    log: bool = False,
    width: int = 12,
    height: int = 9,
) -> Panel:
    """Lines over time, on a logarithmic axis if asked for."""
    scale: Json = {"type": "log", "log": 10} if log else {"type": "linear"}
    custom = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 0,
        "showPoints": "never",
        "spanNulls": False,  # a gap is a gap
        "scaleDistribution": scale,
    }
    content = {
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": targets(queries, range=True),
        "fieldConfig": {"defaults": {"unit": unit, "custom": custom}, "overrides": []},
        "options": {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]},
            "tooltip": {"mode": "multi", "sort": "asc"},
        },
    }
    return Panel(width, height, content)


def heatmap(title: str, description: str, query: Query, width: int = 12) -> Panel:
    """A histogram over time; the query gives counts by `le`."""
    content = {
        "type": "heatmap",
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": targets([query], range=True, format="heatmap"),
        "fieldConfig": {"defaults": {}, "overrides": []},
        "options": {
            "calculate": False,
            "cellGap": 1,
            "color": {"mode": "scheme", "scheme": "Blues", "steps": 64, "exponent": 0.5},
            "yAxis": {"unit": "s", "axisPlacement": "left"},
            "tooltip": {"mode": "single", "yHistogram": False},
            "legend": {"show": True},
        },
    }
    return Panel(width, 9, content)


def stat(title: str, description: str, query: Query, unit: str, width: int = 4) -> Panel:
    """One number, large."""
    content = {
        "type": "stat",
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": targets([query], instant=True),
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "options": {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "graphMode": "none",
            "colorMode": "none",
            "textMode": "auto",
        },
    }
    return Panel(width, 4, content)


def table(
    title: str, description: str, query: Query, transformations: list[Json], width: int
) -> Panel:
    """The present values of series as rows."""
    content = {
        "type": "table",
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": targets([query], instant=True, format="table"),
        "transformations": transformations,
        "fieldConfig": {"defaults": {"decimals": 4}, "overrides": []},
        "options": {"showHeader": True, "cellHeight": "sm"},
    }
    return Panel(width, 9, content)


def chosen(name: str, label: str, query: str, *, several: bool) -> Json:
    """A menu of a label's values; several of them, and all at first, if wanted."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,  # when the range of time changes: lanes and streams come and go
        "sort": 1,
        "multi": several,
        "includeAll": several,
        "current": {"text": ["All"], "value": ["$__all"]} if several else {},
        "options": [],
    }


def listed(name: str, label: str, values: Iterable[str]) -> Json:
    """A menu of fixed values, of which the first is chosen at first."""
    options = [{"text": value, "value": value, "selected": False} for value in values]
    options[0]["selected"] = True
    return {
        "type": "custom",
        "name": name,
        "label": label,
        "query": ",".join(str(option["value"]) for option in options),
        "current": options[0],
        "options": options,
        "multi": False,
        "includeAll": False,
    }


def datasource_menu() -> Json:
    """The menu of Prometheus servers."""
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Prometheus",
        "query": "prometheus",
        "current": {},
        "options": [],
        "multi": False,
        "includeAll": False,
    }


def annotation(name: str, expr: str, title: str, color: str) -> Json:
    """Marks at the times (in milliseconds) that the values of a query name."""
    return {
        "name": name,
        "datasource": DATASOURCE,
        "enable": True,
        "hide": False,
        "iconColor": color,
        "expr": expr,
        "step": "60s",
        "titleFormat": title,
        "textFormat": "{{job}} {{instance}}",
        "tagKeys": "job",
        "useValueForTime": True,
    }


# A mark where each process started: after a crash, where it came back.
RESTARTS = annotation(
    "restarts", 'process_start_time_seconds{job=~"wirerank-.*"} * 1000', "{{job}} started", "orange"
)


def row(title: str) -> Panel:
    """A heading."""
    return Panel(COLUMNS, 1, {"type": "row", "title": title, "collapsed": False, "panels": []})


def placed(panels: Iterable[Panel]) -> list[Json]:
    """Panels from left to right and from top to bottom, numbered."""
    found: list[Json] = []
    x = y = tallest = 0
    for number, panel in enumerate(panels, start=1):
        if x + panel.width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        place = {"x": x, "y": y, "w": panel.width, "h": panel.height}
        found.append({"id": number, "gridPos": place, **panel.content})
        x, tallest = x + panel.width, max(tallest, panel.height)
    return found


def dashboard(
    uid: str, title: str, variables: list[Json], panels: Iterable[Panel], annotations: list[Json]
) -> Json:
    """A whole dashboard."""
    return {
        "uid": uid,
        "title": title,
        "tags": ["wirerank"],
        "timezone": "browser",
        "editable": False,
        "graphTooltip": 1,
        "refresh": "5s",
        "schemaVersion": SCHEMA,
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [datasource_menu(), *variables]},
        "annotations": {"list": annotations},
        "links": [
            {
                "type": "dashboards",
                "title": "Wirerank",
                "tags": ["wirerank"],
                "asDropdown": False,
                "includeVars": False,
                "keepTime": True,
                "targetBlank": False,
                "icon": "external link",
                "tooltip": "",
                "url": "",
            }
        ],
        "panels": placed(panels),
    }
