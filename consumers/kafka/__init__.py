"""Everything that talks to Kafka; the only room that imports kafka-python."""
