"""One page of all experiments that were run: what `wirerank report` writes."""
