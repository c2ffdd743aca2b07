"""What Prometheus is told, and how it is served."""
