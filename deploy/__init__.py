"""What it takes to run Wirerank somewhere: brokers, containers, dashboards."""
