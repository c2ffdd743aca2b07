"""The learner worker: reads the log, ranks, learns, publishes and recovers."""
