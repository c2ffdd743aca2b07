"""Grafana dashboards, made by code that tests hold against a real Prometheus."""
