"""Plays a source into a Kafka topic."""
