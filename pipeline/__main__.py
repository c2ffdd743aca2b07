"""`python -m pipeline` is `wirerank` without Kafka."""

from pipeline.commands.app import new_app, run_app

run_app(new_app())
