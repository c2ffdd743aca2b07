"""Wirerank beside the programs that a user might take instead: time, memory, and quality."""
