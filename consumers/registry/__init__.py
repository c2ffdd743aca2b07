"""The client of a Schema Registry: it finds the schema of an id, and waits if it must."""
