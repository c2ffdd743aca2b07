"""Online rankers on plain arrays: no input or output, no Kafka, no metrics."""
