"""The commands that need Kafka: one file per command, and the options that they share."""
