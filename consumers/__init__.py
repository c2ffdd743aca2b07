"""The Kafka side of Wirerank: what reads from and writes to a broker lives here."""
