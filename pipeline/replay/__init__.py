"""Replaying a source: through the engine in this process, or into a Kafka topic."""
