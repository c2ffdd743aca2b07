"""The HTML page about all experiments that were run; `wirerank report` writes it."""
