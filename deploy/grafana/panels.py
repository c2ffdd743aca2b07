"""The parts of a Grafana dashboard, as JSON objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
SCHEMA = 39  # of Grafana 11; later ones read it


class Query(NamedTuple):
    """A PromQL expression, and the legend of its series."""

    expr: str
    legend: str = ""


class Panel(NamedTuple):
    """A panel before it is placed on the dashboard."""

    width: int
    height: int
    content: Json


def targets(queries: Iterable[Query], **more: object) -> list[Json]:
    """Return queries in the form that panels contain."""
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
    """Return a panel of lines over time; `log`: with a logarithmic axis."""
    scale: Json = {"type": "log", "log": 10} if log else {"type": "linear"}
    custom = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 0,
        "showPoints": "never",
        "spanNulls": False,  # show gaps
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
    """Return a panel of a histogram over time; the query must return counts by `le`."""
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
    """Return a panel of one large number."""
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
    """Return a panel of the current values of series, as rows."""
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
    """Return a menu of a label's values; `several`: a multiple choice, initially all."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,  # when the time range changes, because lanes and streams come and go
        "sort": 1,
        "multi": several,
        "includeAll": several,
        "current": {"text": ["All"], "value": ["$__all"]} if several else {},
        "options": [],
    }


def listed(name: str, label: str, values: Iterable[str]) -> Json:
    """Return a menu of fixed values; initially the first one."""
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
    """Return the menu of Prometheus servers."""
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
    """Return marks at the times that a query returns, in milliseconds."""
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


# A mark at the start of each process, so also where it came back after a crash.
RESTARTS = annotation(
    "restarts", 'process_start_time_seconds{job=~"wirerank-.*"} * 1000', "{{job}} started", "orange"
)


def row(title: str) -> Panel:
    """Return a heading."""
    return Panel(COLUMNS, 1, {"type": "row", "title": title, "collapsed": False, "panels": []})


def placed(panels: Iterable[Panel]) -> list[Json]:
    """Place panels from left to right and from top to bottom, and number them."""
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
    """Return a dashboard."""
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
