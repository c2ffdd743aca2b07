"""`python -m pipeline` is `wirerank` without Kafka."""

from pipeline.interruption import quiet_interrupts

with quiet_interrupts():
    from pipeline.commands.app import new_app, run_app

run_app(new_app())
