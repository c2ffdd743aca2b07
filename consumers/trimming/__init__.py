"""Bounded storage: deletes the records of the log that no lane needs any more."""
