"""What `wirerank check` finds out about an input, from a sample of its events."""
